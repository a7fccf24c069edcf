"""A project of its own with Spark started, for measurements."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from tranche import service
from tranche.ports import Engine, StateStore


@dataclass(frozen=True)
class Opened:
    folder: Path
    spark: SparkSession
    engine: Engine
    store: StateStore

    def script(self, name: str, text: str) -> None:
        (self.folder / "pipelines" / f"{name}.sql").write_text(text)


@contextmanager
def opened(files: Mapping[str, str] | None = None) -> Iterator[Opened]:
    """A folder with these files in it, which is removed in the end."""
    folder = Path(tempfile.mkdtemp(prefix="tranche-bench-"))
    (folder / "pipelines").mkdir()
    for name, text in (files or {}).items():
        (folder / name).write_text(text)
    try:
        project = service.open_project(folder)
        with (
            service.open_state(project, create=True) as store,
            service.open_engine(project) as engine,
        ):
            engine.start()
            spark = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
            spark.sql("CREATE NAMESPACE IF NOT EXISTS main.default")
            yield Opened(folder, spark, engine, store)
    finally:
        _end_java()
        shutil.rmtree(folder, ignore_errors=True)


def _end_java() -> None:
    """What a Java process has loaded, it keeps, and the next part may need other jars."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)
    SparkContext._gateway = SparkContext._jvm = None
