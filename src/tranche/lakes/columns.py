"""Which columns a table can take, and has to be given."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StructField,
    StructType,
    TimestampType,
)

from tranche.errors import ColumnsRejected
from tranche.lakes.table import TableFacts
from tranche.lakes.target import Target
from tranche.model.columns import ColumnChange, Columns, column_change
from tranche.model.strategy import HISTORY_COLUMNS, PARTITION_COLUMN
from tranche.script.binding import quoted_name

_INTEGERS: tuple[type[DataType], ...] = (ByteType, ShortType, IntegerType, LongType)
_HISTORY = dict(
    zip(HISTORY_COLUMNS, (TimestampType(), TimestampType(), BooleanType()), strict=True)
)
_DIGITS = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}


def check_columns(rows: DataFrame, managed: Sequence[str] = (PARTITION_COLUMN,)) -> None:
    """Rejects what no table could hold, before anything is written."""
    names = [name.lower() for name in rows.columns]
    if not names:
        raise ColumnsRejected("the SELECT has no columns", "select at least one")
    reserved = [name for name in managed if name in names]
    if reserved:
        raise ColumnsRejected(
            f"the SELECT projects {', '.join(reserved)}, which Tranche manages",
            "leave it out; SELECT * EXCEPT (…) helps when it comes from a star",
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ColumnsRejected(
            f"the SELECT has two columns called {', '.join(twice)}", "give one another name"
        )
    untyped = [field.name for field in rows.schema.fields if isinstance(field.dataType, NullType)]
    if untyped:
        raise ColumnsRejected(
            f"the SELECT gives NULL without a type for {', '.join(untyped)}",
            f"cast it, as in CAST(NULL AS STRING) AS {untyped[0]}",
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """Rows with the columns that the table will have, and what the table must change for them."""

    rows: DataFrame
    added: tuple[StructField, ...] = ()
    widened: tuple[StructField, ...] = ()
    rebuild: bool = False
    """Whether the table is made anew with the columns of the rows."""
    warnings: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        return bool(self.added or self.widened or self.rebuild)


def fit(
    target: Target,
    rows: DataFrame,
    existing: StructType,
    managed: Sequence[str] = (PARTITION_COLUMN,),
) -> Fit:
    """The rows as an existing table takes them, by name, under the policy for changed columns."""
    have = {field.name.lower(): field for field in existing.fields}
    if (PARTITION_COLUMN in have) != target.sliced:
        raise _other_unit(target)
    for name in managed:
        have.pop(name, None)
    given = [field for field in rows.schema.fields if field.name != PARTITION_COLUMN]
    give = {field.name.lower(): field for field in given}
    change = column_change(captured(existing, managed), captured(rows.schema, managed))
    warnings: list[str] = []
    if target.rebuilds and change and target.policy != "ignore":
        if target.policy == "fail":
            raise _rejected(target, change)
        if target.policy == "warn":
            warnings.append(f"{target.table}: the SELECT {change}")
        return Fit(rows, rebuild=True, warnings=tuple(warnings))
    if change.added or change.dropped:
        if target.policy == "fail":
            raise _rejected(target, change)
        if target.policy != "ignore":
            warnings.append(_kept(target, change))
    syncs = target.policy == "sync"
    unfit = {
        name: field
        for name, field in have.items()
        if name in give and not widens(give[name].dataType, field.dataType)
    }
    widened = {
        name: StructField(field.name, give[name].dataType, field.nullable)
        for name, field in unfit.items()
        if syncs and promotes(field.dataType, give[name].dataType)
    }
    _check_types(target, {n: f for n, f in unfit.items() if n not in widened}, give)
    added = [give[name] for name in give if name not in have] if syncs else []
    wanted = [widened.get(name, field) for name, field in have.items()] + added
    return Fit(
        selected(rows, wanted),
        tuple(added),
        tuple(widened.values()),
        warnings=tuple(warnings),
    )


def columns_to_be(
    fitted: Fit, facts: TableFacts | None, managed: Collection[str] = ()
) -> StructType:
    """The columns that the table has once the rows are in it."""
    if facts is None or fitted.rebuild:
        more = [StructField(name, type_) for name, type_ in _HISTORY.items() if name in managed]
        return StructType([*fitted.rows.schema.fields, *more])
    fields = {field.name: field for field in facts.columns.fields}
    fields.update({field.name: field for field in (*fitted.widened, *fitted.added)})
    return StructType(list(fields.values()))


def captured(columns: StructType, managed: Sequence[str] = (PARTITION_COLUMN,)) -> Columns:
    """What is recorded of a table's columns."""
    return tuple(
        (field.name, field.dataType.simpleString())
        for field in columns.fields
        if field.name.lower() not in managed
    )


def promotes(held: DataType, wanted: DataType) -> bool:
    """Whether Iceberg can change a column's type in place, without touching its files."""
    match held, wanted:
        case (IntegerType(), LongType()) | (FloatType(), DoubleType()):
            return True
        case DecimalType(), DecimalType():
            return held.scale == wanted.scale and held.precision <= wanted.precision
        case _:
            return False


def selected(rows: DataFrame, wanted: Sequence[StructField]) -> DataFrame:
    """The rows with these columns; most have them already. Their key stays, if they have one."""
    key = [field for field in rows.schema.fields if field.name == PARTITION_COLUMN]
    have = [(f.name, f.dataType) for f in rows.schema]
    if have == [(f.name, f.dataType) for f in (*wanted, *key)]:
        return rows
    give = {field.name.lower(): field for field in rows.schema.fields}
    columns = [_column(field, give.get(field.name.lower())) for field in wanted]
    return rows.select(*columns, *(F.col(field.name) for field in key))


def _column(wanted: StructField, given: StructField | None) -> Column:
    if given is None:
        return F.lit(None).cast(wanted.dataType).alias(wanted.name)
    column = F.col(quoted_name(given.name))
    if given.dataType != wanted.dataType:
        column = column.cast(wanted.dataType)
    return column.alias(wanted.name)


def _other_unit(target: Target) -> ColumnsRejected:
    if target.sliced:
        return ColumnsRejected(
            f"{target.table} was written without partitions",
            "drop it and run again, or write to another table",
        )
    return ColumnsRejected(
        f"{target.table} was written with partitions, and the script has none",
        "keep its partitioned line, drop the table, or write to another one",
    )


def _rejected(target: Target, change: ColumnChange) -> ColumnsRejected:
    changes = []
    if change.added:
        changes.append(f"adds {', '.join(change.added)}")
    if change.dropped:
        changes.append(f"lacks {', '.join(change.dropped)}")
    what = " and ".join(changes) or str(change)
    return ColumnsRejected(
        f"the SELECT {what}, compared with {target.table}",
        "select the table's columns, choose another on_schema_change, or drop the table and run"
        " its partitions again",
    )


def _kept(target: Target, change: ColumnChange) -> str:
    pieces = []
    if change.added:
        how = "are added to the table" if target.policy == "sync" else "are left out"
        pieces.append(f"{', '.join(change.added)} {how}")
    if change.dropped:
        pieces.append(f"{', '.join(change.dropped)} stay and are NULL in this slice")
    return f"{target.table}: the SELECT has other columns: {'; '.join(pieces)}"


def _check_types(
    target: Target, unfit: dict[str, StructField], give: dict[str, StructField]
) -> None:
    if unfit:
        found = "; ".join(
            f"{field.name} as {give[name].dataType.simpleString()}, the table has"
            f" {field.dataType.simpleString()}"
            for name, field in unfit.items()
        )
        raise ColumnsRejected(
            f"the SELECT gives {found}",
            f"cast in the SELECT, or drop {target.table} and run its partitions again",
        )


def widens(given: DataType, wanted: DataType) -> bool:
    """Whether one type takes the values of the other, as Spark's own upcasts see it."""
    if given.simpleString() == wanted.simpleString():
        return True
    kind = type(given)
    if kind in _INTEGERS and type(wanted) in _INTEGERS:
        return _INTEGERS.index(kind) < _INTEGERS.index(type(wanted))
    if isinstance(wanted, DoubleType):
        # A day of whole numbers in JSON must fit a column of numbers.
        return kind in _INTEGERS or isinstance(given, FloatType)
    if isinstance(wanted, DecimalType):
        whole = wanted.precision - wanted.scale
        if isinstance(given, DecimalType):
            return given.scale <= wanted.scale and given.precision - given.scale <= whole
        return kind in _DIGITS and _DIGITS[kind] <= whole
    return False
