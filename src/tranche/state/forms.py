"""Parts of the ledger as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from tranche.model.columns import Columns
from tranche.model.data_test import DataTestResult
from tranche.model.digest import ColumnDigests
from tranche.model.rows import Rows
from tranche.model.run import Input, Materialization

_MOMENTS = ("ordinal", "started_at", "finished_at")
_DECIMAL = "decimal"
_OBJECT = "object"


def inputs_json(inputs: Sequence[Input]) -> list[dict[str, Any]]:
    return [{f.name: getattr(given, f.name) for f in fields(given)} for given in inputs]


def inputs_of(found: Sequence[dict[str, Any]]) -> tuple[Input, ...]:
    return tuple(Input(**given) for given in found)


def column_digests_json(digests: ColumnDigests) -> dict[str, list[str]] | None:
    return {set_: list(each) for set_, each in digests.items()} or None


def column_digests_of(found: Mapping[str, Sequence[str]] | None) -> ColumnDigests:
    return {set_: tuple(each) for set_, each in (found or {}).items()}


def tests_json(tests: Sequence[DataTestResult]) -> list[dict[str, Any]]:
    """Without samples, which have a place of their own."""
    return [
        {"test": result.test, "severity": result.severity, "violations": result.violations}
        for result in tests
    ]


def tests_of(found: Sequence[dict[str, Any]]) -> tuple[DataTestResult, ...]:
    return tuple(DataTestResult(**result) for result in found)


def violated(
    tests: Sequence[DataTestResult], samples: dict[int, Rows]
) -> tuple[DataTestResult, ...]:
    """The tests that something violated, each with the sample of its position."""
    return tuple(
        replace(result, sample=samples.get(position))
        for position, result in enumerate(tests)
        if result.violations
    )


def entry_json(entry: Materialization) -> dict[str, Any]:
    found = {field.name: getattr(entry, field.name) for field in fields(entry)}
    for name in _MOMENTS:
        found[name] = None if found[name] is None else found[name].isoformat()
    return found | {
        "column_digests": column_digests_json(entry.column_digests),
        "inputs": inputs_json(entry.inputs),
        "tests": tests_json(entry.tests),
    }


def entry_of(found: dict[str, Any]) -> Materialization:
    values = dict(found)
    for name in _MOMENTS:
        values[name] = None if values[name] is None else datetime.fromisoformat(values[name])
    # What an earlier version has staged says nothing of columns.
    values["column_digests"] = column_digests_of(values.get("column_digests"))
    values["inputs"] = inputs_of(values["inputs"])
    values["tests"] = tests_of(values["tests"])
    return Materialization(**values)


def columns_of(found: Sequence[Sequence[str]]) -> Columns:
    return tuple((name, type_) for name, type_ in found)


def sample_json(rows: Rows) -> dict[str, Any]:
    r"""The rows of a sample, whose values `checks.plain_value` made plain.

    JSON has numbers and no decimals: 1.10 would come back as 1.1. So a decimal is an object of
    one text, and an object that happens to look like that is put into another.

    >>> sample_json(Rows((("price", "decimal(9,2)"),), ((Decimal("1.10"),),)))["values"]
    [[{'decimal': '1.10'}]]
    """
    return {
        "columns": [list(column) for column in rows.columns],
        "values": [[_packed(value) for value in row] for row in rows.values],
        "more": rows.more,
    }


def sample_of(found: dict[str, Any]) -> Rows:
    values = tuple(tuple(_unpacked(value) for value in row) for row in found["values"])
    return Rows(columns_of(found["columns"]), values, found["more"])


def _packed(value: Any) -> Any:
    if isinstance(value, Decimal):
        return {_DECIMAL: str(value)}
    if isinstance(value, list):
        return [_packed(part) for part in value]
    if isinstance(value, dict):
        packed = {name: _packed(part) for name, part in value.items()}
        return {_OBJECT: packed} if value.keys() in ({_DECIMAL}, {_OBJECT}) else packed
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_DECIMAL}:
        return Decimal(value[_DECIMAL])
    inside = value[_OBJECT] if value.keys() == {_OBJECT} else value
    return {name: _unpacked(part) for name, part in inside.items()}
