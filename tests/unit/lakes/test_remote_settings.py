"""What a server of Spark Connect must have, and what its sessions set by themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors.exceptions.connect import AnalysisException

from tranche.errors import EngineUnavailable
from tranche.lakes.catalogs import lake_conf
from tranche.lakes.jars import DELTA, ICEBERG, SQLITE, excluded
from tranche.lakes.remote_settings import EXTENSIONS, agreed, check_lake, unfit
from tranche.model.project import Settings
from tranche.projects.config import parse_settings

ROOT = Path("/projects/shop")
PLACE = "spark.example.com:15002"


@dataclass
class Server:
    """A session on a server: its settings, and what it says when a catalog is opened."""

    started_with: dict[str, str] = field(default_factory=dict)
    fixed: tuple[str, ...] = ("spark.driver.memory", "spark.sql.warehouse.dir")
    refusal: str | None = None
    set_there: dict[str, str] = field(default_factory=dict)

    @property
    def conf(self) -> Server:
        return self

    def get(self, name: str, default: str | None = None) -> str | None:
        return {**self.started_with, **self.set_there}.get(name, default)

    def set(self, name: str, value: str) -> None:
        if name in self.fixed:
            raise AnalysisException("no", errorClass="CANNOT_MODIFY_CONFIG")
        self.set_there[name] = value

    def sql(self, _: str) -> Server:
        if self.refusal is not None:
            raise AnalysisException(self.refusal)
        return self

    @property
    def read(self) -> Server:
        return self

    def text(self, _: str) -> Server:
        return self.sql("")

    def collect(self) -> list[Any]:
        return []


def settings(text: str = "", environ: dict[str, str] | None = None) -> Settings:
    return parse_settings(text, ROOT, None, environ or {})


def test_sessions_set_what_is_not_fixed() -> None:
    chosen = {"spark.driver.memory": "4g", "spark.sql.shuffle.partitions": "2"}
    server = Server({EXTENSIONS: "a.B,c.D", "spark.sql.warehouse.dir": "/w"})
    required = {EXTENSIONS: "c.D", "spark.x": "1", "spark.sql.warehouse.dir": "/w"}
    expected = {"spark.sql.shuffle.partitions": "2", "spark.x": "1"}
    assert agreed(server, required, chosen) == (expected, {})
    assert server.set_there == expected


def test_settings_of_hadoop_are_called_otherwise_in_sessions() -> None:
    server = Server({EXTENSIONS: ""})
    required = {"spark.hadoop.fs.s3.impl": "x.Y"}
    assert agreed(server, required, {}) == ({"fs.s3.impl": "x.Y"}, {})
    assert server.set_there == {"fs.s3.impl": "x.Y"}


def test_what_the_server_lacks_is_told() -> None:
    server = Server({EXTENSIONS: "a.B"})
    required = {EXTENSIONS: "a.B,c.D", "spark.sql.warehouse.dir": "/w"}
    assert agreed(server, required, {})[1] == required


def test_the_lines_that_the_server_needs() -> None:
    project = settings()
    error = unfit(project, {EXTENSIONS: lake_conf(project)[EXTENSIONS]}, PLACE)
    assert str(error) == (
        f"the Spark at {PLACE} was not started with what this project needs; whoever starts it sets"
        f"\n  spark.jars.packages {ICEBERG},{SQLITE}"
        f"\n  spark.sql.extensions {lake_conf(project)[EXTENSIONS]}"
    )


def test_delta_brings_much_that_spark_has() -> None:
    project = settings('[lakes.main]\nformat = "delta"\n')
    text = str(unfit(project, {EXTENSIONS: lake_conf(project)[EXTENSIONS]}, PLACE))
    assert f"\n  spark.jars.packages {DELTA}\n  spark.jars.excludes {excluded([])[0]}," in text


def test_a_lake_of_plain_files_needs_nothing() -> None:
    required = lake_conf(settings('[lakes.main]\nformat = "parquet"\n'))
    assert agreed(Server({EXTENSIONS: "a.B"}), required, {})[1] == {}


def test_secrets_are_not_among_them() -> None:
    project = settings("[spark.conf]\nspark.my.token = '${TOKEN}'", {"TOKEN": "hunter2"})
    assert "hunter2" not in str(unfit(project, {"spark.my.token": "hunter2"}, PLACE))


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (
            "Cannot find catalog plugin class for catalog 'main'",
            "was not started with what this project needs; whoever starts it sets",
        ),
        (
            "path to '/projects/shop/.tranche/warehouse/main/catalog.db' does not exist",
            "cannot open the lake 'main': path to '/projects/shop/.tranche/warehouse/main/catalog.db'"
            " does not exist; its catalog is a file in /projects/shop/.tranche/warehouse/main, which"
            " that machine must have too; or give lakes.main a catalog that both can reach",
        ),
    ],
)
def test_a_lake_that_cannot_be_opened(refusal: str, expected: str) -> None:
    project = settings()
    required = lake_conf(project)
    with pytest.raises(EngineUnavailable) as caught:
        check_lake(Server(refusal=refusal), project.lakes["main"], project, required, PLACE)
    assert str(caught.value).startswith(f"the Spark at {PLACE} {expected}")


def test_a_lake_with_a_catalog_of_its_own() -> None:
    project = settings('[lakes.main]\nwarehouse = "w"\ncatalog = { type = "rest", uri = "u" }\n')
    with pytest.raises(EngineUnavailable, match=r"see the settings of lakes\.main"):
        check_lake(Server(refusal="401"), project.lakes["main"], project, lake_conf(project), PLACE)
    check_lake(Server(), project.lakes["main"], project, lake_conf(project), PLACE)


def test_a_server_without_the_jars_for_a_bucket() -> None:
    project = settings('[lakes.main]\nformat = "ducklake"\ndata = "s3://lake/x"\n')
    lake, required = project.lakes["main"], lake_conf(project)
    missing = Server(refusal="java.lang.ClassNotFoundException: Class …S3AFileSystem not found")
    with pytest.raises(EngineUnavailable, match=r"org\.apache\.hadoop:hadoop-aws"):
        check_lake(missing, lake, project, required, PLACE)
    check_lake(Server(refusal="[PATH_NOT_FOUND]"), lake, project, required, PLACE)
