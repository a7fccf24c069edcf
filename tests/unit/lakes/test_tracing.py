"""What names and paths in plans stand for, and what becomes of a plan that cannot be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tranche.lakes.tracing import Known, traced
from tranche.model.plan import Request, Step
from tranche.model.project import Project
from tranche.planning.plan import build_plan
from tranche.projects.config import parse_settings
from tranche.script.lakes import Lakes
from tranche.script.python import read_python_script
from tranche.testing import MemoryStore

from ..run.test_runner import START

TOML = """\
[lakes.main]
[lakes.delta]
format = "delta"
[lakes.files]
format = "parquet"
warehouse = "s3a://bucket/lake"
"""
CODE = """\
# pipeline
# partitioned daily
# reads file:data/{partition}/orders.csv
# reads s3:///raw/{partition}.json
# materialize lake://main/x
def main(spark):
    return spark.range(1)
"""


@pytest.fixture
def known(tmp_path: Path) -> Known:
    settings = parse_settings(TOML, tmp_path, None, {})
    read = read_python_script("x", "pipelines/x.py", CODE, Lakes(frozenset(settings.lakes), "main"))
    assert read.script is not None, read.faults
    project = Project(settings=settings, scripts=(read.script,))
    request = Request(target="x", fire_time=START, partition="2026-05-16")
    (step,) = build_plan(project, request, MemoryStore()).steps
    assert isinstance(step, Step)
    return Known(settings, step)


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("file:{root}/data/2026-05-16/orders.csv", "file:data/{{partition}}/orders.csv"),
        ("file:{root}/.tranche/storage/raw/2026-05-16.json", "s3:///raw/{{partition}}.json"),
        # Another key's files are others.
        ("file:{root}/data/2026-05-17/orders.csv", "file:data/2026-05-17/orders.csv"),
        ("file:///{root}/data/in.csv/", "file:data/in.csv"),
        ("file:{root}/.tranche/storage/a/b", "s3:///a/b"),
        ("file:/elsewhere/a.csv", "file:///elsewhere/a.csv"),
        ("{root}/.tranche/warehouse/delta/raw/orders", "lake://delta/raw.orders"),
        ("s3a://bucket/lake/default/orders", "lake://files/orders"),
        ("s3a://bucket/lake/_tranche/default/orders", "s3a://bucket/lake/_tranche/default/orders"),
        ("s3a://other/a.csv", "s3a://other/a.csv"),
        ("odd:a", None),
    ],
)
def test_paths(known: Known, path: str, address: str | None, tmp_path: Path) -> None:
    found = known.files(path.format(root=tmp_path))
    assert (None if found is None else str(found)) == (address and address.format())


@pytest.mark.parametrize(
    ("name", "address"),
    [
        (("main", "default", "orders"), "lake://main/orders"),
        (("main", "raw", "orders"), "lake://main/raw.orders"),
        (("main", "default", "orders", "snapshots"), None),
        (("spark_catalog", "default", "orders"), None),
        (("other", "default", "orders"), None),
    ],
)
def test_names(known: Known, name: tuple[str, ...], address: str | None) -> None:
    found = known.table(name)
    assert (None if found is None else str(found)) == address


def test_a_table_of_delta_is_named_by_its_folder(known: Known, tmp_path: Path) -> None:
    path = f"{tmp_path}/.tranche/warehouse/delta/default/d"
    assert str(known.table(("spark_catalog", "delta", path))) == "lake://delta/d"


class Broken:
    """A frame of which Spark tells nothing."""

    columns = ("a", "b")

    def __init__(self, error: Exception) -> None:
        self.error = error

    def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802
        raise self.error


def test_a_plan_that_cannot_be_had_fails_nothing(known: Known) -> None:
    for error in (PySparkException("no such thing"), AttributeError("explain"), RecursionError()):
        broken: Any = Broken(error)
        found = traced(broken, broken, ["a"], known.assets)
        assert [column.column for column in found.columns] == ["a"]
        assert [unknown.what for unknown in found.unknown] == ["Spark tells no plan of the frame"]


def test_who_stops_a_run_stops_it_here_too(known: Known) -> None:
    stopped = PySparkException("Job 7 cancelled as part of cancellation of all jobs")
    broken: Any = Broken(stopped)
    with pytest.raises(PySparkException):
        traced(broken, broken, ["a"], known.assets)
