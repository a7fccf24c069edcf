"""Rows as a place takes them that has rows already."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from tranche.errors import ColumnsRejected
from tranche.lakes.columns import Fit, promotes, selected, widens


def fitted(rows: DataFrame, known: StructType, where: str) -> Fit:
    """Rows by the names of columns: what is new comes to the others, what they lack is NULL."""
    have = {field.name.lower(): field for field in known.fields}
    give = {field.name.lower(): field for field in rows.schema.fields}
    others = [
        (have[name], field)
        for name, field in give.items()
        if name in have and not widens(field.dataType, have[name].dataType)
    ]
    unfit = [(held, field) for held, field in others if not promotes(held.dataType, field.dataType)]
    if unfit:
        found = "; ".join(
            f"{held.name} as {_name(field)}, not {_name(held)}" for held, field in unfit
        )
        raise ColumnsRejected(
            f"the rows have {found}, which it is in {where}",
            f"cast it, or remove {where} and run its keys again",
        )
    widened = {held.name: StructField(held.name, field.dataType) for held, field in others}
    added = [StructField(f.name, f.dataType) for name, f in give.items() if name not in have]
    wanted = [widened.get(field.name, field) for field in known.fields] + added
    return Fit(selected(rows, wanted), tuple(added), tuple(widened.values()))


def check_divided(known: Sequence[str] | None, by: Sequence[str], where: str) -> None:
    """What is there must be divided as the rows are: others would not lie where they are sought."""
    if known is None or list(known) == list(by):
        return
    raise ColumnsRejected(
        f"{where} is divided by {', '.join(known) or 'nothing'}, and the task divides its rows by"
        f" {', '.join(by) or 'nothing'}",
        f"set partition_by back, or remove {where} and run its keys again",
    )


def _name(field: StructField) -> str:
    return field.dataType.simpleString()
