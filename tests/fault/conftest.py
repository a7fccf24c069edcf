"""A project whose runs are killed, and one Spark that looks at what they left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tranche import service
from tranche.model.plan import Request
from tranche.model.project import Project
from tranche.ports import Engine, StateStore
from tranche.run.news import News
from tranche.run.reconcile import Recovered
from tranche.run.runner import RunResult

_CHILD = """\
import importlib, os, signal, sys
where, point = sys.argv[1], sys.argv[2]
module, _, name = point.rpartition(":")
owner = importlib.import_module(module)
*path, last = name.split(".")
for part in path:
    owner = getattr(owner, part)
def die(*_args, **_options):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(owner, last, die)
sys.argv = ["tranche", *sys.argv[3:], "--project", where]
from tranche.cli import main
main()
"""
CONF = """\
[spark]
master = "local[2]"
[spark.conf]
# Short lives: what counts is how fast the JVM starts.
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1 -Xss4m"
"spark.sql.shuffle.partitions" = 2
"""


class Noted:
    """Keeps what was recovered."""

    def __init__(self) -> None:
        self.runs: list[Recovered] = []

    def __call__(self, news: News) -> None:
        if isinstance(news, Recovered):
            self.runs.append(news)


@dataclass
class Shop:
    """Runs commands that die, and others that find out what happened."""

    folder: Path
    engine: Engine
    noted: Noted = field(default_factory=Noted)

    @property
    def project(self) -> Project:
        return service.open_project(self.folder)

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def killed(self, point: str, *command: str) -> None:
        """Runs a command in a process of its own, which is killed at a point of the code."""
        die_at(self.folder, point, *command)

    def run(self, target: str, **request: Any) -> RunResult:
        project = self.project
        asked = Request(
            **{"target": target, "fire_time": datetime.now(UTC), "only": True, **request}
        )
        with self.state() as store:
            plan = service.plan(project, asked, store)
            return service.run(plan, self.engine, store, tell=self.noted, patience=60)

    def state(self) -> Any:
        return service.open_state(self.project, create=True)

    def sql(self, text: str) -> list[dict[str, Any]]:
        statement = service.resolve_sql(self.project, text)
        return self.engine.query(statement, limit=10_000).records()


def die_at(folder: Path, point: str, *command: str) -> None:
    """Runs a command on a project in a process that is killed at a point of the code."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(folder), point, *command],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
    )
    assert done.returncode == -signal.SIGKILL, (done.stdout, done.stderr)


def only_run(store: StateStore) -> Any:
    (run,) = store.runs(limit=5)
    return run


@pytest.fixture(scope="session")
def spark_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Engine]]:
    folder = tmp_path_factory.mktemp("fault")
    (folder / "tranche.toml").write_text(CONF)
    (folder / "pipelines").mkdir()
    project = service.open_project(folder)
    with service.open_engine(project) as engine:
        engine.start()
        made = service.resolve_sql(project, "CREATE NAMESPACE IF NOT EXISTS main.default")
        engine.query(made, limit=1)
        yield folder, engine


@pytest.fixture
def shop(spark_shop: tuple[Path, Engine]) -> Shop:
    folder, engine = spark_shop
    return Shop(folder, engine)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/fault" in str(item.path):
            item.add_marker(pytest.mark.fault)
