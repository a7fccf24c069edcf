"""Runs into a DuckLake that are killed: all of a commit or nothing, and no files of nobody's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tranche import service
from tranche.lakes.ducklake.catalog import META, catalog_of
from tranche.ports import Engine

from .conftest import CONF, Shop

DAY, NEXT = "2026-05-15", "2026-05-16"
STRATEGIES = {"replace": "", "tested": "", "merge": " key=id", "append": " append"}
SCRIPT = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/{name}{strategy}
{tests}
SELECT id, 'v{version}' AS name FROM VALUES {rows} AS v(id)
"""
LAKES = """\
[lakes.main]
format = "ducklake"
[lakes.ice]
format = "iceberg"
"""
"""All suites share a process, and its Spark has the jars of the first one: Iceberg's are for others."""
POINTS = {
    "before publishing": ("tranche.lakes.execution:Execution.publish", False),
    "in the transaction": ("tranche.lakes.ducklake.commits:sign", False),
    "right after the commit": ("tranche.lakes.ducklake.staging:Staging.clear", True),
    "before the ledger": ("tranche.run.attempts:Attempts.succeeded", True),
}


@pytest.fixture(scope="module")
def duck_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Engine]]:
    folder = tmp_path_factory.mktemp("fault_ducklake")
    (folder / "tranche.toml").write_text(f"{CONF}{LAKES}")
    (folder / "pipelines").mkdir()
    with service.open_engine(service.open_project(folder)) as engine:
        engine.start()
        yield folder, engine


@pytest.fixture
def shop(duck_shop: tuple[Path, Engine]) -> Shop:
    return Shop(*duck_shop)


def script(name: str, strategy: str, version: int, rows: str) -> str:
    tests = "-- data_test unique id" if strategy == "tested" else "-- Nothing is tested."
    return SCRIPT.format(
        name=name, strategy=STRATEGIES[strategy], tests=tests, version=version, rows=rows
    )


def seen(shop: Shop, name: str) -> list[tuple[int, str]]:
    return sorted((row["id"], row["name"]) for row in shop.sql(f"SELECT * FROM {name}"))


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_killed(shop: Shop, strategy: str, point: str) -> None:
    name = "_".join(f"{strategy} {point}".split())
    place, published = POINTS[point]
    path = f"pipelines/{name}.sql"
    shop.write(path, script(name, strategy, 0, "(7), (8)"))
    assert shop.run(name, partition="2026-05-01").status == "succeeded"
    before = seen(shop, name)
    shop.write(path, script(name, strategy, 1, "(1), (2)"))
    shop.killed(place, "run", name, "--partition", DAY, "--only")
    after = seen(shop, name)
    assert after == sorted([*before, *([(1, "v1"), (2, "v1")] if published else [])])

    # Any other run finds out what happened to it.
    shop.write(path, script(name, strategy, 2, "(5)"))
    assert shop.run(name, partition=NEXT).status == "succeeded"
    (recovered,) = shop.noted.runs
    assert recovered.status == ("succeeded" if published else "failed")
    with shop.state() as store:
        state = store.partition(f"lake://main/{name}", DAY)
        assert state is not None and state.status == recovered.status
    lake = shop.project.settings.lakes["main"]
    known = {
        f"{lake.warehouse}/main/{name}/{path}"
        for (path,) in catalog_of(lake).rows(
            f"SELECT f.path FROM {META}.ducklake_data_file f"
            f" JOIN {META}.ducklake_table t USING (table_id) WHERE t.table_name = ?",
            (name,),
        )
    }
    there = {str(each) for each in Path(lake.warehouse, "main", name).rglob("*.parquet")}
    assert there == known
    left = Path(lake.warehouse, "_tranche", "main", name)
    assert list(left.rglob("*.parquet")) == []
