"""The tables: as migrated, as declared, and as asked."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, event

from tranche.model.mapped_keys import Unlisted
from tranche.model.pending import Decisions, Pending, Released
from tranche.model.run import Attempt, PartitionState, Run, StepRecord
from tranche.ports import PartitionReader, StoryReader
from tranche.state import pending_keys
from tranche.state.connections import recorded_version
from tranche.state.schema import HEAD, VERSION_TABLE
from tranche.state.sql_store import SqlStore
from tranche.state.sqlite_partitions import SqlitePartitions
from tranche.state.sqlite_story import SqliteStory
from tranche.state.tables import metadata
from tranche.state.upgrade import migrations

NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state.db"
    address: str = request.getfixturevalue("postgres")
    return address


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    engine = create_engine(url)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def opened(url: str) -> None:
    store = SqlStore(url)
    store.open()
    store.close()


def test_the_head_is_alembics() -> None:
    assert ScriptDirectory.from_config(migrations()).get_current_head() == HEAD


def test_the_migrations_make_the_tables(url: str) -> None:
    opened(url)
    with connected(url) as connection:
        options = {"version_table": VERSION_TABLE, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
        assert recorded_version(connection) == HEAD


def test_the_migrations_can_be_undone(url: str) -> None:
    from alembic import command

    opened(url)
    with connected(url) as connection:
        command.downgrade(migrations(connection), "base")
    opened(url)


def test_slices_of_before_are_not_provisional(url: str) -> None:
    from alembic import command

    opened(url)
    with connected(url) as connection:
        command.downgrade(migrations(connection), "0003")
        connection.exec_driver_sql(
            "INSERT INTO partitions (asset, partition, partition_hash, partition_head, status, run,"
            " at) VALUES ('a', '', '', '', 'succeeded', 'r', '2026-05-16T12:00:00.000000+00:00')"
        )
    store = SqlStore(url)
    store.open()
    (state,) = store.partitions("a", limit=2)
    store.close()
    assert state.provisional is False


def test_names_and_keys_sort_by_code_point_on_postgresql(postgres: str) -> None:
    opened(postgres)
    with psycopg.connect(postgres.replace("+psycopg", "")) as connection:
        found = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = 'public' AND collation_name = 'C'"
        ).fetchall()
    keyed = {
        (table, column)
        for table in ("materializations", "partitions", "claims")
        for column in ("asset", "partition", "partition_hash")
    }
    named = {("schemas", "asset"), ("runs", "id"), ("attempts", "id"), ("staged", "attempt")}
    assert {*keyed, *named, ("partitions", "partition_head")} <= set(found)


def test_sqlite_writes_ahead_and_checks_foreign_keys(tmp_path: Path) -> None:
    opened(f"sqlite:///{tmp_path}/state.db")
    file = sqlite3.connect(tmp_path / "state.db")
    assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    file.close()
    store = SqlStore(f"sqlite:///{tmp_path}/state.db", timeout=3)
    with store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 3000
    store.close()


@pytest.mark.parametrize("statistics", [False, True])
def test_every_question_is_answered_from_an_index(tmp_path: Path, statistics: bool) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/state.db")
    store.open()
    _add_a_run(tmp_path / "state.db")
    if statistics:
        _add_statistics(tmp_path / "state.db")
    asked = _every_question(store)
    assert len(asked) == 23
    changes = _every_change(store)
    assert len(changes) == 13
    asked += changes
    store.close()
    reader = SqlitePartitions(tmp_path / "state.db", timeout=1)
    statements: list[str] = []
    reader._connection.set_trace_callback(statements.append)
    _every_question_about_keys(reader)
    reader.close()
    assert len(statements) == 10
    story = SqliteStory(tmp_path / "state.db", timeout=1)
    story._connection.set_trace_callback(statements.append)
    _every_question_about_a_key(story)
    story.close()
    assert len(statements) == 18
    asked += ((statement, ()) for statement in statements)

    file = sqlite3.connect(tmp_path / "state.db")
    for statement, parameters in asked:
        plan = [row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
        for step in plan:
            # In order from its beginning, or the few that have not ended.
            first_page = step in (
                "SCAN runs USING INDEX ix_runs_started_at_id",
                "SCAN runs USING INDEX ix_runs_running",
            )
            # The rows of one beginning, which are few.
            last_term = step in (
                "USE TEMP B-TREE FOR LAST TERM OF ORDER BY",
                "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY",
            )
            # The claims on a key are two at most, and few events are rejected.
            few = "FROM claims" in statement or "FROM rejections" in statement
            ordered = last_term or (few and step == "USE TEMP B-TREE FOR ORDER BY")
            assert step.startswith("SEARCH") or first_page or ordered, (statement, plan)
        if "partition_head" in statement:
            entered = re.search(r"ix_partitions_order \(asset=\? AND \(?ordinal", plan[0])
            assert entered, (statement, plan)
    file.close()


def test_so_are_those_of_a_scheduler(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/state.db")
    store.open()
    key = Pending(consumer="c", partition="k", since=NOON, fire_time=NOON, status="ready")
    with store.turn() as turn:
        turn.news(limit=1)
        turn.apply(Decisions(pending=(key,)), NOON)
    with _listening(store) as asked:
        with store.turn() as turn:
            turn.news(limit=9)
            turn.due(NOON, limit=9)
            turn.pending([("c", "k"), ("c", None)])
            late = Released("c", Unlisted(since=NOON, until=NOON))
            turn.apply(Decisions(dropped=(("c", "x"),), released=(late,)), NOON)
        store.events(limit=9)
        store.events("a", limit=9)
        store.provisional("a", limit=9)
        store.all_pending(limit=9)
        store.all_pending("c", limit=9, after=key.place)
        store.claim("c", server="s", run="r", limit=9)
        store.retract("e", at=NOON)
        with store._writing() as connection:
            pending_keys.settle(connection, "r", NOON, [("c", "k")])
    store.close()
    assert len(asked) > 15
    file = sqlite3.connect(tmp_path / "state.db")
    for statement, parameters in asked:
        if "FROM turns" in statement:
            # One row for each schedule, all of which are asked for.
            continue
        plan = [row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
        # A page in order from its beginning is no search, and reads no more than the page.
        assert all(
            step.startswith(("SEARCH", "SCAN events", "SCAN pending USING INDEX", "CORRELATED"))
            or "ORDER BY" in step
            for step in plan
        ), (statement, plan)
    file.close()


def test_pages_are_read_in_the_order_of_an_index_on_postgresql(postgres: str) -> None:
    store = SqlStore(postgres)
    store.open()
    with store._writer.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for asset, ordinal in [
            ("a", "NULL"),
            ("b", "'2026-01-01'::timestamptz + n * interval '1h'"),
        ]:
            connection.exec_driver_sql(
                "INSERT INTO partitions"
                " (asset, partition, partition_hash, partition_head, ordinal, status, run, at)"
                f" SELECT '{asset}', n, md5(n::text), n, {ordinal}, 'failed', 'r', now()"
                " FROM generate_series(1, 20000) n"
            )
        connection.exec_driver_sql("VACUUM ANALYZE partitions")
    pages = []
    for asset in ("a", "b"):
        pages += [ask for ask in _every_question(store, asset) if "ORDER BY partitions" in ask[0]]
    with store._engine.connect() as connection:
        for statement, parameters in pages:
            explained = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)
            plan = "\n".join(row[0] for row in explained)
            assert "Index Scan using ix_partitions_order" in plan, (statement, plan)
            assert "->  Sort" not in plan, (statement, plan)
    store.close()


def test_attempts_and_columns_are_found_by_an_index_on_postgresql(postgres: str) -> None:
    store = SqlStore(postgres)
    store.open()
    many = "FROM generate_series(1, 20000) n"
    with store._writer.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in (
            "INSERT INTO runs (id, target, status, fire_time, started_at, arguments)"
            f" SELECT 'r' || n, 't', 'failed', now(), now(), '{{}}' {many}",
            "INSERT INTO steps (run, position, script, status)"
            f" SELECT 'r' || n, 0, 's', 'failed' {many}",
            "INSERT INTO attempts (id, run, position, number, status, started_at)"
            f" SELECT 'a' || n, 'r' || n, 0, 1, 'failed', now() {many}",
            "INSERT INTO claims (asset, partition, partition_hash, run, attempt, at)"
            f" SELECT 'a' || mod(n, 100), n, md5(n::text), 'r' || n, 'a' || n, now() {many}",
            "INSERT INTO schemas (asset, version, columns, run, at)"
            f" SELECT 'a' || mod(n, 100), n, '[]', 'r', now() {many}",
            f"INSERT INTO staged (attempt, materializations) SELECT 'a' || n, '[]' {many}",
            "VACUUM ANALYZE",
        ):
            connection.exec_driver_sql(statement)
    asked = [ask for ask in _every_question(store, "a1") if "partitions" not in ask[0]]
    asked += _every_change(store)
    tables = {"runs", "claims", "schemas", "staged", "attempts", "steps"}
    with store._engine.connect() as connection:
        for statement, parameters in asked:
            explained = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)
            plan = "\n".join(row[0] for row in explained)
            assert not any(f"Seq Scan on {table}" in plan for table in tables), (statement, plan)
            if "status = 'running'" in statement:
                assert "ix_runs_running" in plan, (statement, plan)
    store.close()


def _every_question(store: SqlStore, asset: str = "a") -> list[tuple[str, Any]]:
    """The statements of every method that reads, with their parameters."""
    with _listening(store) as asked:
        _ask_every_question(store, asset)
    return asked


def _every_change(store: SqlStore) -> list[tuple[str, Any]]:
    """What methods that write look for, with their parameters."""
    run = Run(id="new", target="t", status="running", fire_time=NOON, started_at=NOON)
    step = StepRecord(
        run="new",
        position=0,
        script="s",
        asset="a1",
        partition=None,
        ordinal=None,
        strategy=None,
        status="succeeded",
        finished_at=NOON,
    )
    attempt = Attempt(id="new", run="new", position=0, number=1, status="running", started_at=NOON)
    with _listening(store) as asked:
        store.begin_run(run, [step])
        store.adopt("new")
        store.begin_attempt(attempt, asset="a1", keys=["k1", "k2"])
        store.begin_attempt(replace(attempt, id="newer", number=2), asset="a1", keys=[None])
        store.finish_step(step, attempt=attempt, columns=(("a", "int"),))
        store.finish_run("new", "failed", at=NOON)
    return asked


@contextmanager
def _listening(store: SqlStore) -> Iterator[list[tuple[str, Any]]]:
    asked: list[tuple[str, Any]] = []

    def listen(_c: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        ours = "pg_" not in statement and statement != "SELECT 1"
        if ours and statement.startswith(("SELECT", "UPDATE", "DELETE")):
            asked.append((statement, parameters))

    event.listen(store._engine, "before_cursor_execute", listen)
    yield asked
    event.remove(store._engine, "before_cursor_execute", listen)


def _ask_every_question(store: SqlStore, asset: str) -> None:
    store.run("r")
    store.runs(limit=10)
    store.runs(limit=10, before="r")
    store.steps("r")
    store.attempts("r")
    _every_question_about_keys(store, asset)
    store.materialization("m")
    store.materializations(asset, "k", limit=10)
    store.violations("m")
    store.schemas(asset, limit=10)
    store.staged("a")
    store.abandoned()


def _every_question_about_keys(reader: PartitionReader, asset: str = "a") -> None:
    def state(ordinal: datetime | None) -> PartitionState:
        return PartitionState(
            asset=asset, partition="k", ordinal=ordinal, status="failed", run="r", at=NOON
        )

    reader.partition(asset, "k")
    reader.partitions(asset, limit=10)
    reader.partitions(asset, start=NOON, limit=10)
    reader.partitions(asset, end=NOON, limit=10)
    reader.partitions(asset, start=NOON, end=NOON, limit=10, after=state(NOON))
    reader.partitions(asset, limit=10, after=state(NOON))
    reader.partitions(asset, limit=10, after=state(None))
    reader.outcomes([asset, "b"])


def _every_question_about_a_key(reader: StoryReader) -> None:
    reader.run("r")
    reader.entries(["m"])
    reader.materializations("a", "k", limit=10)
    reader.backfill("b")
    reader.claims("a", limit=2, keys=["k", None])
    reader.pending([("c", "k")])
    reader.rejected("c", limit=3)
    reader.abandoned()


def _add_a_run(path: Path) -> None:
    file = sqlite3.connect(path)
    file.execute(
        "INSERT INTO runs (id, target, status, fire_time, started_at, arguments)"
        " VALUES ('r', 't', 'failed', '2026-05-16T12:00:00.000000+00:00',"
        " '2026-05-16T12:00:00.000000+00:00', '{}')"
    )
    file.execute(
        "INSERT INTO materializations (id, once, asset, partition, partition_hash, status, run,"
        " attempt, fingerprint, started_at, finished_at, inputs, tests)"
        " VALUES ('m', 'o', 'other', '', '', 'failed', 'r', 'a', 'f',"
        " '2026-05-16T12:00:00.000000+00:00', '2026-05-16T12:00:00.000000+00:00', '[]',"
        """ '[{"test": "t", "severity": "error", "violations": 1}]')"""
    )
    file.commit()
    file.close()


def _add_statistics(path: Path) -> None:
    """What ANALYZE would say of a million keys in ten assets."""
    file = sqlite3.connect(path)
    file.execute("ANALYZE")
    file.execute("DELETE FROM sqlite_stat1")
    file.execute(
        "INSERT INTO sqlite_stat1 VALUES"
        " ('runs', 'ix_runs_started_at_id', '100000 1 1'),"
        " ('runs', 'ix_runs_running', '3 1 1'),"
        " ('runs', 'sqlite_autoindex_runs_1', '100000 1'),"
        " ('materializations', 'ix_materializations_key', '3000000 300000 3 1 1'),"
        " ('materializations', 'sqlite_autoindex_materializations_1', '3000000 1'),"
        " ('materializations', 'sqlite_autoindex_materializations_2', '3000000 1'),"
        " ('claims', 'sqlite_autoindex_claims_1', '10000 1000 1'),"
        " ('claims', 'ix_claims_attempt', '10000 500'),"
        " ('schemas', 'sqlite_autoindex_schemas_1', '1000 10 1'),"
        " ('partitions', 'ix_partitions_order', '1000000 100000 2 1'),"
        " ('partitions', 'ix_partitions_status', '1000000 100000 50000'),"
        " ('partitions', 'sqlite_autoindex_partitions_1', '1000000 100000 1')"
    )
    file.commit()
    file.close()


OPEN_AND_WRITE = """
import pathlib, sys, time
from datetime import UTC, datetime
import alembic.command
from tranche.model.run import Run
from tranche.state.sql_store import SqlStore
url, name, folder = sys.argv[1:]
at = datetime.now(UTC)
pathlib.Path(folder, name).touch()
while not pathlib.Path(folder, "go").exists():
    time.sleep(0.001)
store = SqlStore(url)
store.begin_run(Run(id=name, target="t", status="running", fire_time=at, started_at=at), [])
store.close()
"""


def test_processes_that_open_a_fresh_database_at_once_all_succeed(url: str, tmp_path: Path) -> None:
    names = ["one", "two", "three"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_AND_WRITE, url, name, str(tmp_path)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    until = time.monotonic() + 30
    while not all((tmp_path / name).exists() for name in names) and time.monotonic() < until:
        time.sleep(0.01)
    (tmp_path / "go").touch()
    errors = [process.communicate(timeout=30)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], errors
    store = SqlStore(url)
    assert {run.id for run in store.runs(limit=10)} == set(names)
    store.close()


def test_opening_what_is_up_to_date_imports_no_alembic(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/state.db"
    opened(url)
    code = """
import json, sys
from tranche.state.sql_store import SqlStore
before = [name for name in ("alembic", "psycopg", "pyspark", "filelock") if name in sys.modules]
SqlStore(sys.argv[1]).runs(limit=1)
SqlStore(sys.argv[1]).abandoned()
after = [name for name in ("alembic", "psycopg", "pyspark", "filelock") if name in sys.modules]
print(json.dumps([before, after]))
"""
    done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, check=True)
    assert json.loads(done.stdout) == [[], []]


def test_the_memory_store_needs_the_standard_library_only() -> None:
    code = "import sys, tranche.state.memory; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"
