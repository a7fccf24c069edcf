"""Lakes and tasks of all formats on a server of Spark Connect, and on a cluster of two workers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ..elsewhere import connect_server, two_workers
from ..stores import Store, store
from .conftest import Shell

pytestmark = [pytest.mark.spark, pytest.mark.slow]

BUCKET = "acme-lake"
LAKES = """\
[lakes.main]
[lakes.delta]
format = "delta"
[lakes.parquet]
format = "parquet"
[lakes.duck]
format = "ducklake"
[lakes.far]
format = "ducklake"
"""
DAILY = '-- pipeline\n-- partitioned daily start="2026-05-01"\n'
RAW = f"""{DAILY}-- materialize lake://delta/raw
-- data_test not_null id
SELECT CAST(day('{{partition}}') AS INT) AS id, '{{partition}}' AS name
"""
SELECT = "SELECT id, name FROM delta.raw WHERE name = '{partition}'\n"
SCRIPTS = {
    "raw.sql": RAW,
    "merged.sql": f"{DAILY}-- on lake://delta/raw\n-- materialize lake://delta/merged key=id\n{SELECT}",
    "kept.sql": f"{DAILY}-- on lake://delta/raw\n-- materialize lake://parquet/kept append\n{SELECT}",
    "versions.sql": f"{DAILY}-- on lake://delta/raw\n"
    "-- materialize lake://delta/versions key=id history at=partition\n"
    "SELECT 1 AS id, name FROM delta.raw WHERE name = '{partition}'\n",
    "slices.sql": f"{DAILY}-- on lake://delta/raw\n-- materialize lake://duck/slices\n"
    f"-- layout bucket(2, id)\n-- data_test unique id\n{SELECT}",
    "pairs.sql": f"{DAILY}-- on lake://duck/slices\n-- materialize lake://duck/pairs key=id\n"
    "SELECT id, name FROM duck.slices WHERE name = '{partition}'\n",
    "changes.sql": f"{DAILY}-- on lake://duck/pairs\n"
    "-- materialize lake://duck/changes key=id history at=partition\n"
    "SELECT 1 AS id, name FROM duck.pairs WHERE name = '{partition}'\n",
    "far_pairs.sql": f"{DAILY}-- on lake://duck/slices\n-- materialize lake://far/pairs key=id\n"
    "-- data_test not_null id\nSELECT id, name FROM duck.slices WHERE name = '{partition}'\n",
    "far_slices.sql": f"{DAILY}-- on lake://far/pairs\n-- materialize lake://far/slices\n"
    "SELECT id, name FROM far.pairs WHERE name = '{partition}'\n",
}
JOB = """\
from tranche import CsvIO, Daily, DeltaIO, JsonIO, Merge, ParquetIO, job, task


@job(partitioning=Daily(start="2026-05-01"))
def sales():
    @task(io=DeltaIO("data"), partition_by="region")
    def one(spark, partition):
        return spark.createDataFrame([("eu", 1), (None, 2)], "region string, n int")

    @task(io=ParquetIO("data"), partition_by="region")
    def two(one):
        return one

    @task(io=CsvIO("data"), partition_by="partition_key")
    def three(two, partition):
        return two

    @task(io=JsonIO("data"), partition_by="partition_key")
    def four(three, partition):
        return three

    @task(io=DeltaIO("data"))
    def five(four):
        return Merge(four.select("region", "n"), on="target.region <=> source.region")

    @task(writes="lake://parquet/six")
    def six(five):
        return five

    @task(writes="lake://duck/seven")
    def seven(six):
        return six

    seven(six(five(four(three(two(one()))))))
"""
PROGRAM = """
import json
import tranche

found = {}
for name in ("main", "delta", "parquet", "duck", "far"):
    with tranche.lake(name) as lake:
        spark = lake.spark
        first = spark.createDataFrame([(1, "a"), (2, "b")], "id int, v string")
        first.createOrReplaceTempView("mine")
        lake.upsert("given", spark.table("mine"), key="id", tests=["unique id"])
        spark.createDataFrame([(9, "x")], "id int, v string").createOrReplaceTempView("mine")
        lake.upsert("given", lake.read("given").selectExpr("id + 1 AS id", "upper(v) AS v"), key="id")
        lake.append("given", spark.table("mine"))
        found[name] = sorted(map(tuple, lake.read("given").collect()))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def objects() -> Iterator[Store]:
    with store(BUCKET) as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, objects: Store) -> Iterator[str]:
    lakes = LAKES + objects.lake(BUCKET, "any")
    with connect_server(tmp_path_factory.mktemp("server"), lakes) as url:
        yield url


@pytest.fixture(params=["connect", "cluster"])
def shop(shell: Shell, request: pytest.FixtureRequest, objects: Store) -> Iterator[Shell]:
    lakes = LAKES + objects.lake(BUCKET, shell.folder.parent.name)
    shell.env |= {"TRANCHE_SPARK_MASTER": "", "TRANCHE_SPARK_REMOTE": ""}
    if request.param == "connect":
        shell.env["TRANCHE_SPARK_REMOTE"] = request.getfixturevalue("server")
        yield _filled(shell, lakes)
        return
    with two_workers() as master:
        shell.env["TRANCHE_SPARK_MASTER"] = master
        yield _filled(shell, lakes)
        shell.close()


def _filled(shell: Shell, lakes: str) -> Shell:
    shell.quick(lakes)
    for name, text in SCRIPTS.items():
        shell.write(f"pipelines/{name}", text)
    shell.write("pipelines/sales.py", JOB)
    return shell


def test_frames_of_a_program(shop: Shell) -> None:
    program = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=shop.folder,
        env=shop.environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert program.returncode == 0, program.stderr
    rows = [[1, "a"], [2, "A"], [3, "B"], [9, "x"]]
    lakes = ("main", "delta", "parquet", "duck", "far")
    assert json.loads(program.stdout) == dict.fromkeys(lakes, rows)


def test_scripts_of_all_strategies(shop: Shell) -> None:
    shop.warm()
    for _ in range(2):
        done = shop.json("run", "raw", "--partition", "2026-05-10")
        assert {step["status"] for step in done["steps"]} == {"succeeded"}
    filled = shop.json("backfill", "raw", "--start", "2026-05-01", "--end", "2026-05-03")
    assert {each["status"] for each in filled["partitions"]} == {"succeeded"}
    assert shop.json("sql", "SELECT count(*) AS n FROM delta.merged") == [{"n": 4}]
    assert shop.json("sql", "SELECT count(*) AS n FROM parquet.kept") == [{"n": 5}]
    assert shop.json("sql", "SELECT name FROM delta.versions_current") == [{"name": "2026-05-10"}]
    assert shop.json("sql", "SELECT count(*) AS n FROM duck.pairs") == [{"n": 4}]
    assert shop.json("sql", "SELECT name FROM duck.changes_current") == [{"name": "2026-05-10"}]
    assert shop.json("sql", "SELECT count(*) AS n FROM far.pairs") == [{"n": 4}]
    assert shop.json("sql", "SELECT count(*) AS n FROM far.slices") == [{"n": 4}]
    lakes = ("parquet", "main", "duck", "far")
    for lake in lakes:
        shop.json("copy", "lake://delta/raw", f"lake://{lake}/copied")
    all_ = " UNION ALL ".join(f"SELECT id FROM {lake}.copied" for lake in lakes)
    assert shop.json("sql", f"SELECT count(*) AS n FROM ({all_})") == [{"n": 16}]


def test_tasks_of_all_formats(shop: Shell) -> None:
    shop.warm()
    for _ in range(2):
        done = shop.json("run", "sales", "--partition", "2026-05-10")
        assert {step["status"] for step in done["steps"]} == {"succeeded"}
    for table in ("parquet.six", "duck.seven"):
        assert shop.json("sql", f"SELECT region, n FROM {table} ORDER BY n") == [
            {"region": "eu", "n": 1},
            {"region": None, "n": 2},
        ]
