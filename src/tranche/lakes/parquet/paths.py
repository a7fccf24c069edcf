"""Names of folders that tell the values of columns, as Spark gives them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, StringType, TimestampType

from tranche.errors import ColumnsRejected, KeyRejected
from tranche.model.partitioning_text import shown
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.binding import quoted_name

_ESCAPED = frozenset("\"#%'*/:=?\\\x7f{[]^") | frozenset(map(chr, range(1, 32)))
_LONGEST = 255
"""How many bytes the name of a folder can have."""
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""What stands in the name of a folder for NULL, as Hive and Spark have it."""
UNNAMED = (BinaryType, TimestampType)
"""What reads otherwise from the name of a folder than it was, or than in another time zone."""


def key_folder(key: str) -> str:
    """
    >>> key_folder("2026-05-16T09")
    '_tranche_partition=2026-05-16T09'
    >>> key_folder("a/b:c")
    '_tranche_partition=a%2Fb%3Ac'
    """
    check_key(key)
    name = f"{PARTITION_COLUMN}={escaped_name(key)}"
    if len(name.encode()) > _LONGEST:
        raise KeyRejected(
            f"the key {shown(key)} is too long for a folder of a Parquet table",
            "use shorter keys, or a lake of iceberg, delta or ducklake",
        )
    return name


def check_key(key: str) -> None:
    """A key must not be taken for none, as Parquet and Delta would."""
    if key == NULL_FOLDER:
        raise KeyRejected(
            f"the key {shown(key)} means NULL as the name of a folder",
            "use another key, or a lake of iceberg",
        )


def nameable(
    rows: DataFrame, by: Sequence[str], unfit: Collection[type[DataType]] = ()
) -> DataFrame:
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
            # A value, not a condition, which Spark would ask of rows that are left out as well.
            bad = column.isin("", NULL_FOLDER)
            rows = rows.withColumn(name, F.when(bad, F.raise_error(said)).otherwise(column))
    return rows


def escaped_name(text: str) -> str:
    """What stands in the name of a folder for a text."""
    return "".join(f"%{ord(sign):02X}" if sign in _ESCAPED else sign for sign in text)
