"""Rows as a place takes them that has rows already."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType

from tranche.errors import ColumnsRejected
from tranche.lakes.columns import Fit, promotes, selected, widens
from tranche.script.binding import quoted_name

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows that have no value, as Hive and Spark name it."""


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


def nameable(rows: DataFrame, by: Sequence[str], unfit: Collection[type[DataType]]) -> DataFrame:
    """Rows whose parts can be told by the names of folders.

    An empty text has no such name: Spark gives it that of NULL, whose rows it would replace.
    """
    types = {field.name: field.dataType for field in rows.schema.fields}
    wrong = [name for name in by if isinstance(types[name], tuple(unfit))]
    if wrong:
        raise ColumnsRejected(
            f"values of {', '.join(wrong)} cannot be names of folders, being of the type"
            f" {types[wrong[0]].simpleString()}",
            "divide by texts, dates or numbers that you make of them",
        )
    for name in by:
        if isinstance(types[name], StringType):
            column = F.col(quoted_name(name))
            said = F.concat(
                F.lit(f"a row has {name} = '"),
                column,
                F.lit("', which would be taken for NULL as the name of a folder"),
            )
            bad = column.isin("", NULL_FOLDER)
            sound = F.when(bad, F.raise_error(said).cast("boolean")).otherwise(F.lit(True))
            rows = rows.where(sound)
    return rows


def _name(field: StructField) -> str:
    return field.dataType.simpleString()
