"""Layouts of Iceberg tables: read from them, and given to them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import partitioning
from pyspark.sql.types import StructType

from tranche.errors import CommitLost, SourceMissing
from tranche.lakes.failures import comes_from_spark, explained
from tranche.lakes.iceberg.metadata import KEY_PATHS, PROPERTIES, layout_names, table_facts
from tranche.lakes.layout_fields import (
    SLICE,
    Change,
    Creation,
    Field,
    creation,
    difference,
    fitted_layout,
    free_name,
    is_anothers,
    is_split,
    read_fields,
    still_fitting,
    with_slice,
    written_field,
)
from tranche.lakes.table import TableFacts
from tranche.model.asset import LakeTable
from tranche.model.layout import SetLayout, Transform, canonical
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.binding import quoted, quoted_name

LAYOUT = "tranche.layout"
"""The property of a table whose layout comes from a line of a script, with its canonical text."""

_TRIES = 8


def current_fields(session: SparkSession, table: LakeTable) -> tuple[Field, ...]:
    return read_fields(session.sql(f"DESCRIBE TABLE {quoted(table)}").collect())


def partition_columns(transforms: Iterable[Transform]) -> list[Column]:
    """The fields as a DataFrame's writer takes them."""
    return [_partition_column(transform) for transform in transforms]


def recreation(
    session: SparkSession,
    table: LakeTable,
    wanted: Sequence[Transform] | None,
    facts: TableFacts,
    columns: StructType,
) -> Creation:
    """The layout for a table that is made anew with other columns."""
    current = current_fields(session, table)
    if wanted is None and LAYOUT not in facts.properties:
        wanted = still_fitting(current, columns)
    return creation(wanted or (), columns.names, current, facts.fields)


def lay_out(
    session: SparkSession,
    table: LakeTable,
    wanted: Sequence[Transform] | None,
    facts: TableFacts,
) -> bool:
    """Gives a table its layout, if it has another, and says whether it splits slices then.

    Where no line asks for one, a layout that came from a line goes with it, and any other stays.
    """
    stated = facts.properties.get(LAYOUT)
    unasked = wanted is None and stated is None
    # Most tables never had a layout.
    if unasked and facts.fields <= {PARTITION_COLUMN}:
        return False
    current = current_fields(session, table)
    if unasked:
        return is_split(current)
    fields = with_slice(wanted or (), sliced=facts.sliced)
    text = None if wanted is None else canonical(wanted)
    if text == stated and not difference(current, fields):
        return is_split(current)
    if stated is None:
        # First, so that it can be undone even if this ends half way.
        _set_property(session, table, str(text))
    current = evolve(session, table, fields)
    if text is None:
        forget(session, table)
    elif stated not in (None, text):
        _set_property(session, table, text)
    return is_split(current)


def set_layout(session: SparkSession, asked: SetLayout) -> None:
    """What somebody asks for by hand; it then does not come from a line any more."""
    table = asked.table
    facts = table_facts(session, table)
    if facts is None:
        raise SourceMissing(f"{table} does not exist", "make it first, or correct its name")
    wanted = fitted_layout(asked.transforms, facts.columns)
    evolve(session, table, with_slice(wanted, sliced=facts.sliced))
    if LAYOUT in facts.properties:
        forget(session, table)


def evolve(
    session: SparkSession, table: LakeTable, wanted: Sequence[Transform]
) -> tuple[Field, ...]:
    """Makes the fields of a table these; others may be doing the same.

    This changes metadata only: files that are there stay as they are, and new ones are split by
    the fields that the table has then.
    """
    for number in range(_TRIES):
        current = current_fields(session, table)
        change = difference(current, wanted)
        if not change:
            return current
        try:
            _apply(session, table, change)
        except Exception as error:
            if number == _TRIES - 1 or not _raced(session, table, error, current):
                raise
            time.sleep(0.05 * 2**number)
    return current_fields(session, table)


def forget(session: SparkSession, table: LakeTable) -> None:
    session.sql(f"ALTER TABLE {quoted(table)} UNSET TBLPROPERTIES IF EXISTS ('{LAYOUT}')")


def _apply(session: SparkSession, table: LakeTable, change: Change) -> None:
    """Drops and adds fields; `ALTER TABLE` takes a name, so what is added gets a free one."""
    name = quoted(table)
    for field in change.drops:
        session.sql(f"ALTER TABLE {name} DROP PARTITION FIELD {field.text}")
    if not change.adds:
        return
    _keep_out_of_paths(session, table)
    columns = set(session.table(name).columns)
    used = set(layout_names(session, table))
    for transform in change.adds:
        free = PARTITION_COLUMN
        if transform != SLICE:
            others = {other for other in columns if is_anothers(other, transform, columns)}
            free = free_name(transform, used | others)
        used.add(free)
        session.sql(
            f"ALTER TABLE {name} ADD PARTITION FIELD {written_field(transform)} AS {quoted_name(free)}"
        )


def _keep_out_of_paths(session: SparkSession, table: LakeTable) -> None:
    """Values of columns may be longer than a folder's name can be, as keys of time are not."""
    facts = table_facts(session, table)
    if facts is not None and facts.properties.items() >= KEY_PATHS.items():
        hashed = ", ".join(f"'{name}' = '{PROPERTIES[name]}'" for name in KEY_PATHS)
        session.sql(f"ALTER TABLE {quoted(table)} SET TBLPROPERTIES ({hashed})")


def _raced(
    session: SparkSession, table: LakeTable, error: Exception, before: Sequence[Field]
) -> bool:
    """Whether somebody else was faster: committed something, or changed the layout."""
    if not comes_from_spark(error):
        return False
    return isinstance(explained(error), CommitLost) or current_fields(session, table) != before


def _partition_column(transform: Transform) -> Column:
    column = F.col(quoted_name(transform.column))
    match transform.name:
        case "identity":
            return column
        case "bucket":
            assert transform.buckets is not None
            return partitioning.bucket(transform.buckets, column)
        case "year":
            return partitioning.years(column)
        case "month":
            return partitioning.months(column)
        case "day":
            return partitioning.days(column)
        case "hour":
            return partitioning.hours(column)


def _set_property(session: SparkSession, table: LakeTable, text: str) -> None:
    value = text.replace("\\", "\\\\").replace("'", "\\'")
    session.sql(f"ALTER TABLE {quoted(table)} SET TBLPROPERTIES ('{LAYOUT}' = '{value}')")
