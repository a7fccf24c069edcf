"""Rows in memory that somebody wants to look at, as Spark would give them."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from tranche.errors import FilterRejected
from tranche.model.wanted import Kind, RowFilter, RowOrder, Wanted, find_column, value_of
from tranche.testing.kept import Record

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def wanted_records(records: Sequence[Record], wanted: Wanted) -> tuple[Record, ...]:
    """Those that pass all filters, sorted."""
    found = list(records)
    columns = tuple(records[0]) if records else ()
    if not columns:
        return ()
    for given in wanted.filters:
        column = find_column(given.column, columns)
        passes = _passes(given, _kind([record[column] for record in records]))
        found = [record for record in found if passes(record[column])]
    for order in reversed(wanted.order):
        found = _sorted(found, find_column(order.column, columns), order)
    return tuple(found)


def _kind(values: Sequence[Any]) -> Kind:
    match next((value for value in values if value is not None), None):
        case bool():
            return "boolean"
        case int() | float() | Decimal():
            return "number"
        case datetime():
            return "time"
        case date():
            return "date"
        case bytes() | bytearray():
            return "bytes"
        case None | str():
            return "text"
        case _:
            return "nested"


def _passes(given: RowFilter, kind: Kind) -> Callable[[Any], bool]:
    if given.comparison == "is null":
        return lambda value: value is None
    if given.comparison == "is not null":
        return lambda value: value is not None
    wanted = value_of(given, kind)
    if given.comparison == "contains":
        part = wanted.removeprefix("0x").lower() if kind == "bytes" else wanted.lower()
        return lambda value: value is not None and part in _text(value).lower()
    compared = _COMPARED[given.comparison]
    return lambda value: value is not None and compared(_alike(value), _alike(wanted))


def _alike(value: Any) -> Any:
    """Times without an offset are in UTC."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value


def _text(value: Any) -> str:
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, default=str)
    return str(value)


def _sorted(records: Sequence[Record], column: str, order: RowOrder) -> list[Record]:
    there = [record for record in records if record[column] is not None]
    if any(isinstance(record[column], dict) for record in there):
        raise FilterRejected(f"{column} is a map, which has no order", "sort by another column")
    there.sort(key=lambda record: _alike(record[column]), reverse=order.descending)
    return [*there, *(record for record in records if record[column] is None)]
