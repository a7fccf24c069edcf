"""One Spark for all tests of this folder; each test has a schema of its own."""

from __future__ import annotations

import itertools
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from tranche.lakes.ducklake.catalog import catalog_of
from tranche.lakes.engine import SparkEngine
from tranche.lakes.sessions import TIDYING
from tranche.model.asset import LakeTable
from tranche.model.layout import SetLayout
from tranche.model.plan import Plan, Request
from tranche.model.project import Project
from tranche.model.run import Attempt
from tranche.model.statement import Statement
from tranche.planning.plan import build_plan
from tranche.ports import Staged, Work, Written
from tranche.projects.config import parse_settings
from tranche.run.attempts import StepResult
from tranche.run.runner import run_plan
from tranche.script.adhoc import resolved_statement
from tranche.script.names import Lakes
from tranche.script.sql import read_sql_script
from tranche.script.violations import read_violation_query
from tranche.testing import MemoryStore

from ..stores import Store, store

BUCKET = "acme-lake"
CONF = """\
[spark]
master = "local[2]"
[spark.conf]
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m"
"spark.sql.shuffle.partitions" = 2
"""
_FORMATS = """\
[lakes.main]
[lakes.delta]
format = "delta"
[lakes.parquet]
format = "parquet"
[lakes.ducklake]
format = "ducklake"
"""
_NUMBERS = itertools.count()
NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)


def free(engine: SparkEngine) -> list[SparkSession]:
    """The sessions that nobody has, once all that were given back are tidied."""
    for _ in range(300):
        if not any(thread.name == TIDYING for thread in threading.enumerate()):
            return list(engine._spark._sessions._free)
        time.sleep(0.1)
    raise AssertionError("a session is tidied for ever")


def typed(text: str, *lakes: str) -> Statement | SetLayout:
    """A statement as somebody types it."""
    return resolved_statement(text, Lakes(frozenset(lakes or ("main",)), "main"))


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="session")
def engines(root: Path) -> Iterator[Callable[[str], SparkEngine]]:
    """The engine with some settings; a process can have one Spark at a time."""
    open_: dict[str, SparkEngine] = {}

    def opened(settings: str) -> SparkEngine:
        if settings not in open_:
            for other in open_.values():
                other.close()
                _end_java()
            open_.clear()
            open_[settings] = SparkEngine(parse_settings(settings, root, None, os.environ))
            open_[settings].start()
        return open_[settings]

    yield opened
    for engine in open_.values():
        engine.close()


def _end_java() -> None:
    """What a Java process has loaded, it keeps."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)
    SparkContext._gateway = SparkContext._jvm = None


@pytest.fixture(scope="session")
def objects(request: pytest.FixtureRequest) -> Iterator[Store | None]:
    """The store of objects that DuckLake has its files in, if that is what is asked for."""
    if request.config.getoption("--files") == "folder":
        yield None
        return
    with store(BUCKET) as found:
        yield found


@pytest.fixture(scope="module")
def engine(
    engines: Callable[[str], SparkEngine], objects: Store | None, request: pytest.FixtureRequest
) -> SparkEngine:
    """Tests of a module with `LAKES` have lakes of all formats, which changes what Spark loads."""
    if not hasattr(request.module, "LAKES"):
        return engines(CONF)
    where = "" if objects is None else objects.lake(BUCKET, "data ü")
    return engines(CONF + _FORMATS + where)


@dataclass
class Bench:
    """Runs scripts by their text, in a schema of its own."""

    engine: SparkEngine
    root: Path
    schema: str
    tests: dict[str, str] = field(default_factory=dict)
    """Data tests by script: the text of each by its name."""
    lake: str = "main"
    is_read: bool = True
    """Whether it is as if other scripts read what is made: otherwise nobody asks whether it has
    changed."""

    def plan(self, text: str, **request: Any) -> Plan:
        settings = self.engine._settings
        lakes = Lakes(frozenset(settings.lakes), settings.default_lake)
        read = read_sql_script(
            "script", "pipelines/script.sql", self.named(text), lakes, settings.dialect
        )
        assert read.script is not None, read.faults
        queries = [
            read_violation_query(name, f"tests/{name}.sql", self.named(test), read.script, lakes)
            for name, test in self.tests.items()
        ]
        assert all(query.query for query in queries), queries
        script = replace(
            read.script, violation_queries=tuple(q.query for q in queries if q.query is not None)
        )
        project = Project(settings=settings, scripts=(script,))
        asked = Request(**{"target": "script", "fire_time": NOON, **request})
        plan = build_plan(project, asked, MemoryStore())
        steps = (replace(step, is_read=self.is_read) for step in plan.steps)
        return replace(plan, steps=tuple(steps))

    def run(self, text: str, attempt: str | None = None, **request: Any) -> Written:
        return self.tried(text, attempt, **request)[1]

    def tried(
        self, text: str, attempt: str | None = None, *, run: str | None = None, **request: Any
    ) -> tuple[Staged, Written]:
        """Stages and publishes as a runner would, whatever the data tests say."""
        with self.engine.attempt(self.work(text, attempt, run=run, **request)) as trial:
            staged = trial.stage()
            return staged, trial.publish()

    def ran(
        self, text: str, store: MemoryStore | None = None, **request: Any
    ) -> tuple[StepResult, MemoryStore]:
        """Runs as a runner does: a failing data test publishes nothing."""
        state = store or MemoryStore()
        result = run_plan(self.plan(text, **request), self.engine, state, lambda: datetime.now(UTC))
        (step,) = result.steps
        return step, state

    def tables(self) -> list[str]:
        """All that this test's schema holds."""
        if self.lake == "main":
            found = self.sql(f"SHOW TABLES IN main.`{self.schema}`")
            return sorted(row["tableName"] for row in found)
        if self.lake == "ducklake":
            found = catalog_of(self.engine._settings.lakes[self.lake]).rows(
                "SELECT table_name FROM duckdb_tables() WHERE schema_name = ?", (self.schema,)
            )
            return sorted(str(name) for (name,) in found)
        folder = Path(self.engine._settings.lakes[self.lake].warehouse) / self.schema
        made = "*/_delta_log/*.json" if self.lake == "delta" else "*/*"
        return sorted({path.relative_to(folder).parts[0] for path in folder.glob(made)})

    def commits(self, table: str) -> int:
        """How often what readers see of a table has changed."""
        address = LakeTable(self.lake, table, self.schema)
        return len(self.engine.snapshots(address, limit=10_000).snapshots)

    def work(
        self, text: str, attempt: str | None = None, *, run: str | None = None, **request: Any
    ) -> Work:
        (step,) = self.plan(text, **request).steps
        assert step.verdict == "run", step.reason
        name = attempt or f"a{next(_NUMBERS)}"
        return Work(
            step=step,
            attempt=Attempt(
                id=name,
                run=run or f"run-{name}",
                position=0,
                number=1,
                status="running",
                started_at=NOON,
            ),
            fire_time=request.get("fire_time", NOON),
        )

    def sql(self, text: str) -> list[dict[str, Any]]:
        lakes = self.engine._settings.lakes
        return self.engine.query(typed(self.named(text), *lakes), limit=10_000).records()

    def named(self, text: str) -> str:
        """`@t` stands for this test's schema and table."""
        address = rf"lake://{self.lake}/{self.schema}.\1"
        return re.sub(r"lake://main/@(\w+)", address, text).replace(
            "@", f"{self.lake}.{self.schema}."
        )

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def bench(engine: SparkEngine, root: Path, request: pytest.FixtureRequest) -> Bench:
    name = re.sub(r"\W", "_", request.node.name)[:60]
    schema = f"s{abs(hash(request.node.nodeid)) % 10**8}_{name}"
    bench = Bench(engine, root, schema)
    bench.sql(f"CREATE NAMESPACE IF NOT EXISTS main.{schema}")
    return bench


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/spark" in str(item.path):
            item.add_marker(pytest.mark.spark)
