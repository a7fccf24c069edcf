"""Queries that DuckDB answers itself, and Spark through Tranche's translation."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
)

from tranche.model.statement import FileHole, TableHole
from tranche.script.binding import Values, bind
from tranche.script.lakes import Lakes
from tranche.script.read import ScriptRead
from tranche.script.sql import read_sql_script

CASES = Path(__file__).parent.parent / "cases" / "duckdb"
TABLES = ("v", "orders", "customers", "monthly", "lists")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT")
_SPARK = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "binary": "BLOB",
}


@dataclass(frozen=True)
class Answer:
    """The rows of one engine, with the names and types of their columns."""

    names: list[str]
    types: list[str]
    rows: list[tuple[Any, ...]]


def expressions() -> list[tuple[str, str]]:
    """All expressions over the table `v`, each with its file."""
    return [
        (path.stem, line)
        for path in sorted((CASES / "expressions").glob("*.sql"))
        for line in path.read_text().splitlines()
        if line and not line.startswith("--")
    ]


def queries() -> list[tuple[str, str]]:
    """All queries, each with its file."""
    return [
        (path.stem, text.strip())
        for path in sorted((CASES / "queries").glob("*.sql"))
        for text in re.split(r";\n(?:\n|$)", path.read_text())
        if text.strip()
    ]


def refusals(name: str = "refused.sql") -> list[tuple[str, str]]:
    """What is refused, with the sentence."""
    found = []
    for block in (CASES / name).read_text().split("\n\n"):
        remark, _, query = block.strip().partition("\n")
        found.append((query.removesuffix(";"), remark.removeprefix("-- ")))
    return found


def read(query: str) -> ScriptRead:
    """A script in DuckDB's SQL of which the query is all."""
    text = f"-- pipeline\n-- dialect duckdb\n{query}"
    return read_sql_script("s", "s.sql", text, Lakes(frozenset({"main"}), "main"))


def said(query: str) -> str:
    """The query as Spark gets it; tables are views here."""
    found = read(query)
    assert found.script is not None, (query, [str(fault) for fault in found.faults])
    assert found.script.query is not None

    def table(hole: TableHole) -> str:
        return hole.table.table if hole.alias is None else f"{hole.table.table} AS {hole.alias}"

    def files(hole: FileHole) -> str:
        raise AssertionError(hole)

    bound = bind(found.script.query, Values(None, {}, {}), table=table, files=files)
    assert not bound.parameters
    return bound.text


class Corpus:
    """The same tables in both engines."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.duck = duckdb.connect()
        self.duck.execute("SET TimeZone = 'UTC'")
        self.duck.execute((CASES / "tables.sql").read_text())
        for table in TABLES:
            file = folder / f"{table}.parquet"
            self.duck.execute(f"COPY {table} TO '{file}' (FORMAT parquet)")
            spark.read.parquet(str(file)).createOrReplaceTempView(table)

    def in_zone(self, zone: str) -> None:
        self.duck.execute(f"SET TimeZone = '{zone}'")
        self.spark.conf.set("spark.sql.session.timeZone", zone)

    def by_duckdb(self, query: str) -> Answer:
        found = self.duck.execute(query)
        description = found.description or []
        rows = [tuple(map(_plain, row)) for row in found.fetchall()]
        return Answer(
            [c[0] for c in description], [_duck_type(str(c[1])) for c in description], rows
        )

    def by_spark(self, query: str) -> Answer:
        frame = self.spark.sql(said(query))
        fields = frame.schema.fields
        rows = [
            tuple(
                _of_spark(value, field.dataType) for value, field in zip(row, fields, strict=True)
            )
            for row in frame.collect()
        ]
        return Answer(
            [field.name for field in fields], [_spark_type(f.dataType) for f in fields], rows
        )


def _plain(value: Any) -> Any:
    """A value of DuckDB's Python client, with times as those of UTC."""
    match value:
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC)
        case float():
            # Zero is zero.
            return value + 0.0
        case dict():
            return {key: _plain(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case bytearray():
            return bytes(value)
        case _:
            return value


def _of_spark(value: Any, type_: DataType) -> Any:
    if value is None:
        return None
    if type_.simpleString() == "timestamp":
        return value.astimezone(UTC)
    if isinstance(type_, ArrayType):
        return [_of_spark(inner, type_.elementType) for inner in value]
    if isinstance(type_, MapType):
        return {key: _of_spark(value[key], type_.valueType) for key in sorted(value)}
    if isinstance(value, Row) and isinstance(type_, StructType):
        fields = sorted(type_.fields, key=lambda field: field.name)
        return {f.name: _of_spark(value[f.name], f.dataType) for f in fields}
    if isinstance(value, float):
        return value + 0.0
    return bytes(value) if isinstance(value, bytearray) else value


def _duck_type(text: str) -> str:
    """A type without what only says how wide it is."""
    text = re.sub(r"DECIMAL\(\d+,(\d+)\)", r"DECIMAL(\1)", text)
    for whole in _WHOLE:
        text = re.sub(rf"\b{whole}\b", "WHOLE", text)
    return text.replace('"NULL"', "WHOLE")


def _spark_type(type_: DataType) -> str:
    match type_:
        case DecimalType():
            return f"DECIMAL({type_.scale})"
        case ArrayType():
            return f"{_spark_type(type_.elementType)}[]"
        case MapType():
            return f"MAP({_spark_type(type_.keyType)}, {_spark_type(type_.valueType)})"
        case StructType():
            fields = (f"{field.name} {_spark_type(field.dataType)}" for field in type_.fields)
            return f"STRUCT({', '.join(fields)})"
        case _:
            return _duck_type(_SPARK[type_.simpleString()])


def same(one: Any, other: Any) -> bool:
    """Whether values are equal; what is no number is equal to itself."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def sorted_rows(answer: Answer) -> list[tuple[Any, ...]]:
    """The rows with their columns by name, in an order that says nothing."""
    order = sorted(range(len(answer.names)), key=lambda n: answer.names[n].lower())
    return sorted((tuple(row[n] for n in order) for row in answer.rows), key=repr)


def differences(query: str, duck: Answer, spark: Answer) -> Iterator[str]:
    """What is not the same in two answers."""
    names = sorted(map(str.lower, duck.names)), sorted(map(str.lower, spark.names))
    if names[0] != names[1]:
        yield f"{query}\n  names: {duck.names} {spark.names}"
        return
    types = [dict(zip(map(str.lower, a.names), a.types, strict=True)) for a in (duck, spark)]
    if types[0] != types[1]:
        yield f"{query}\n  types: {duck.types} {spark.types}"
    rows = sorted_rows(duck), sorted_rows(spark)
    if not same(rows[0], rows[1]):
        yield f"{query}\n  duckdb: {rows[0]}\n  spark:  {rows[1]}"


def batches(items: Sequence[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def together(items: Sequence[str]) -> str:
    """Many expressions in one query."""
    columns = ", ".join(f"({item}) AS c{number}" for number, item in enumerate(items))
    return f"SELECT id, {columns} FROM v ORDER BY id"
