"""Steps that are Python: what they read, what becomes of what they return, and what they leave."""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tranche.lakes.engine import SparkEngine
from tranche.model.backfill import BackfillRequest
from tranche.model.lineage import TracedLineage, Unknown
from tranche.model.plan import Request
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.backfill import plan_backfill
from tranche.planning.plan import build_plan
from tranche.run.attempts import StepResult
from tranche.run.runner import RunResult, run_plan
from tranche.script.lakes import Lakes
from tranche.script.python import read_python_script
from tranche.script.ranges.ranged import only_key_by_key
from tranche.script.sql import read_sql_script
from tranche.testing import MemoryStore

from .conftest import NOON, Bench, free, typed

DAYS = ("2026-05-15", "2026-05-16", "2026-05-17")
HEAD = "# pipeline\n# partitioned daily\n"
_NUMBERS = itertools.count()


@dataclass
class Scripts:
    """Scripts of both languages in a folder of their own, run as a runner runs them."""

    bench: Bench
    scripts: dict[str, Script] = field(default_factory=dict)
    store: MemoryStore = field(default_factory=MemoryStore)
    folder: str = field(default_factory=lambda: f"pipelines/python{next(_NUMBERS)}")

    def add(self, name: str, text: str) -> None:
        text = self.bench.named(text)
        sql = text.startswith("--")
        path = f"{self.folder}/{name}.{'sql' if sql else 'py'}"
        self.bench.write(path, text)
        lakes = Lakes(frozenset({"main"}), "main")
        read = (read_sql_script if sql else read_python_script)(name, path, text, lakes)
        assert read.script is not None, read.faults
        self.scripts[name] = read.script

    @property
    def project(self) -> Project:
        settings = self.bench.engine._settings
        return Project(settings=settings, scripts=tuple(self.scripts.values()))

    def run(self, target: str, **given: Any) -> RunResult:
        asked = Request(**{"target": target, "fire_time": NOON, "only": True, **given})
        plan = build_plan(self.project, asked, self.store, only_key_by_key)
        return self.ran(plan)

    def step(self, target: str, **given: Any) -> StepResult:
        (step,) = self.run(target, **given).steps
        return step

    def fill(self, target: str, start: str = DAYS[0], end: str = DAYS[-1]) -> RunResult:
        request = BackfillRequest(target=target, at=NOON, start=start, end=end, only=True)
        return self.ran(plan_backfill(self.project, request, self.store, only_key_by_key).plan)

    def ran(self, plan: Any) -> RunResult:
        return run_plan(
            plan, self.bench.engine, self.store, lambda: datetime.now(UTC), sleep=lambda _: None
        )

    def rows(self, name: str, order: str = "1, 2") -> list[tuple[Any, ...]]:
        found = self.bench.sql(f"SELECT * FROM @{name} ORDER BY {order}")
        return [tuple(row.values()) for row in found]


@pytest.fixture
def scripts(bench: Bench) -> Scripts:
    return Scripts(bench)


def orders(scripts: Scripts) -> None:
    """Three days of orders, two each."""
    days = ", ".join(f"('{day}')" for day in DAYS)
    scripts.add(
        "orders",
        "-- pipeline\n-- partitioned daily\n-- materialize lake://main/@orders\n"
        f"SELECT n AS id, n * 10 AS amount FROM VALUES (1), (2) AS t(n), (SELECT * FROM VALUES {days} AS d(day)) WHERE day = '{{partition}}'",
    )
    assert scripts.fill("orders").status == "succeeded"


FRAMES = {
    "spark": ("from pyspark.sql import DataFrame", "DataFrame", "orders.selectExpr('id', 'amount * 2 AS twice')"),
    "pandas": ("import pandas as pd", "pd.DataFrame", "orders.assign(twice=orders.amount * 2)[['id', 'twice']]"),
    "polars": ("import polars as pl", "pl.DataFrame", "orders.select('id', twice=pl.col('amount') * 2)"),
    "lazy": ("import polars as pl", "pl.LazyFrame", "orders.select('id', twice=pl.col('amount') * 2)"),
    "arrow": ("import pyarrow as pa\nimport pyarrow.compute as pc", "pa.Table", "pa.table({'id': orders['id'], 'twice': pc.multiply(orders['amount'], 2)})"),
}  # fmt: skip


@pytest.mark.slow
def test_rows_come_and_go_in_every_kind_of_frame(scripts: Scripts) -> None:
    orders(scripts)
    for kind, (imports, annotation, body) in FRAMES.items():
        scripts.add(
            kind,
            f"{HEAD}# on lake://main/@orders\n# materialize lake://main/@{kind}\n"
            f"# data_test unique id\n{imports}\n\ndef main(orders: {annotation}):\n"
            f"    assert '_tranche_partition' not in str(orders)\n    return {body}\n",
        )
        step = scripts.step(kind, partition="2026-05-16")
        assert step.record.error is None, step.record.error
        assert step.record.rows == 2
        assert [test.status for test in step.tests] == ["passed"]
        assert scripts.rows(kind) == [(1, 20, "2026-05-16"), (2, 40, "2026-05-16")]
        # What was read is in the ledger, at the snapshot that was pinned.
        [entry] = scripts.store.materializations(
            f"lake://main/{scripts.bench.schema}.{kind}", "2026-05-16", limit=9
        )
        [given] = entry.inputs
        assert given.partition == "2026-05-16" and given.snapshot is not None


def test_a_range_is_one_call(scripts: Scripts) -> None:
    orders(scripts)
    scripts.add(
        "many",
        f"{HEAD}# on lake://main/@orders\n# materialize lake://main/@many\n# data_test unique id\n"
        "# reads file:calls\nfrom pathlib import Path\n\ndef main(partitions: list[str], orders):\n"
        "    with open(Path(__file__).with_suffix('.calls'), 'a') as calls:\n"
        "        calls.write(','.join(partitions) + '\\n')\n"
        "    if len(partitions) > 1:\n        return orders.withColumnRenamed('_tranche_partition', 'partition_key')\n"
        "    return orders\n",
    )
    assert scripts.fill("many").status == "succeeded"
    calls = Path(scripts.bench.root, scripts.folder, "many.calls")
    assert calls.read_text() == ",".join(DAYS) + "\n"
    assert len(scripts.rows("many")) == 6
    assert [key for *_, key in scripts.rows("many", "3, 1")] == [d for d in DAYS for _ in range(2)]
    # A single key comes in a list too, and needs no column.
    assert scripts.step("many", partition="2026-05-16").record.status == "succeeded"
    assert len(scripts.rows("many")) == 6


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("spark.createDataFrame([(1,)], 'id int')", "main was called for 3 keys, and its rows do not say of which key each is; add the column partition_key"),
        ("spark.createDataFrame([(1, '2026-06-01')], 'id int, partition_key string')", "a row has the partition_key 2026-06-01, for which the function was not called"),
        ("spark.createDataFrame([(1, None)], 'id int, partition_key string')", "a row has the partition_key NULL, for which"),
    ],
)  # fmt: skip
@pytest.mark.sampled(2)
def test_rows_of_a_range_must_say_their_key(body: str, message: str, scripts: Scripts) -> None:
    scripts.add(
        "bad", f"{HEAD}# materialize lake://main/@bad\ndef main(spark, partitions):\n    return {body}\n"
    )  # fmt: skip
    (step,) = scripts.fill("bad").steps
    assert {key.status for key in step.keys} == {"failed"}
    assert message in str(step.keys[0].error)


def test_code_for_one_key_goes_key_by_key(scripts: Scripts) -> None:
    orders(scripts)
    scripts.add(
        "one",
        f"{HEAD}# on lake://main/@orders\n# materialize lake://main/@one append\n"
        "def main(partition, orders):\n    return orders.limit(1).selectExpr(f\"'{partition}' AS day\")\n",
    )
    result = scripts.fill("one")
    assert [step.record.status for step in result.steps] == ["succeeded"] * 3
    assert scripts.rows("one") == [(day, day) for day in DAYS]


def test_upstream_keys_go_by_the_mapping(scripts: Scripts) -> None:
    orders(scripts)
    scripts.add(
        "month",
        "# pipeline\n# partitioned monthly\n# on lake://main/@orders\n# materialize lake://main/@month\n"
        "# reads lake://main/@source\n"
        "def main(orders, source):\n"
        "    seen = orders.groupBy('_tranche_partition').count().count()\n"
        "    return source.selectExpr('n', f'{seen} AS days')\n",
    )
    scripts.bench.sql("CREATE TABLE @source (n int)")
    scripts.bench.sql("INSERT INTO @source VALUES (7)")
    step = scripts.step("month", partition="2026-05")
    assert step.record.error is None
    assert scripts.rows("month") == [(7, 3, "2026-05")]


def test_files_and_what_reads_them(scripts: Scripts, root: Path) -> None:
    scripts.add(
        "fetch",
        '# pipeline\n# partitioned daily format="%Y/%m/%d"\n'
        "from tranche import write_file\n\nURI = 's3:///@raw/{partition}/orders.json'\n\n"
        "def main(partition: str):\n"
        "    write_file(URI.replace('{partition}', partition), [{'id': n, 'day': partition} for n in range(3)])\n",
    )
    scripts.add(
        "load",
        '-- pipeline\n-- partitioned daily format="%Y/%m/%d"\n-- on s3:///@raw/{partition}/orders.json\n'
        "-- materialize lake://main/@load\n"
        "SELECT id, day FROM read_json('s3:///@raw/' || '{partition}' || '/orders.json')",
    )
    scripts.add(
        "again",
        '# pipeline\n# partitioned daily format="%Y/%m/%d"\n# on s3:///@raw/{partition}/orders.json\n'
        "# materialize lake://main/@again\nimport polars as pl\n"
        "def main(orders: pl.DataFrame):\n    return orders.select('id')\n",
    )
    result = scripts.run("fetch", partition="2026/05/16", only=False)
    assert [step.record.error for step in result.steps] == [None, None, None]
    place = f"main.{scripts.bench.schema}.raw"
    written = root / f".tranche/storage/{place}/2026/05/16/orders.json"
    assert len(json.loads(written.read_text())) == 3
    assert scripts.rows("load") == [(n, "2026/05/16", "2026/05/16") for n in range(3)]
    assert scripts.rows("again") == [(n, "2026/05/16") for n in range(3)]
    asset = f"s3:///{place}/{{partition}}/orders.json"
    [first] = scripts.store.materializations(asset, "2026/05/16", limit=9)
    assert first.digest is not None and first.digest.startswith("files ")
    # The same files are the same, whoever wrote them.
    scripts.run("fetch", partition="2026/05/16")
    latest, _ = scripts.store.materializations(asset, "2026/05/16", limit=9)
    assert latest.digest == first.digest
    # A range of keys is read from their files as well.
    for day in ("2026/05/17", "2026/05/18"):
        scripts.run("fetch", partition=day)
    assert scripts.fill("load", "2026-05-16", "2026-05-18").status == "succeeded"
    assert len(scripts.rows("load")) == 9


def test_before_start_it_runs_without_a_key(scripts: Scripts) -> None:
    scripts.add(
        "early",
        '# pipeline\n# partitioned daily start="2027-01-01"\n# writes file:early.txt\n'
        "from tranche import current_partition, write_file\nfrom tranche.errors import OutsideRun\n\n"
        "def main(partition, partitions, window, logical_date, run):\n"
        "    try:\n        current_partition()\n    except OutsideRun as error:\n        said = error.what\n"
        "    write_file('file:early.txt', repr((partition, partitions, window, logical_date, said)))\n",
    )
    result = scripts.run("early", scheduled=True)
    assert result.status == "succeeded"
    assert "runs without a partition" in result.warnings[0]
    written = Path(scripts.bench.root, "early.txt").read_text()
    assert written == (
        "(None, [], None, None, 'current_partition() is asked for in a run that has no key')"
    )


def test_arguments_arrive_as_values(scripts: Scripts) -> None:
    scripts.add(
        "arguments",
        '# pipeline\n# partitioned daily tz="Europe/Paris"\n# $day (date) = 2026-05-01\n# $n (int)\n'
        "# $at (timestamp) = 2026-05-01T09:30:00\n# $d (decimal(5,2)) = 1.50\n# $none (string) = null\n"
        "# materialize lake://main/@arguments\n"
        "def main(spark, day, n, at, d, none, window):\n"
        "    found = [day, n, at, d, none, window.start]\n"
        "    return spark.createDataFrame([(repr(found), spark.conf.get('spark.sql.session.timeZone'))], 'a string, z string')\n",
    )
    scripts.step("arguments", partition="2026-05-16", arguments={"n": "7"})
    [(found, zone, _)] = scripts.rows("arguments")
    assert zone == "Europe/Paris"
    paris = "tzinfo=zoneinfo.ZoneInfo(key='Europe/Paris')"
    assert found == (
        f"[datetime.date(2026, 5, 1), 7, datetime.datetime(2026, 5, 1, 9, 30, {paris}),"
        f" Decimal('1.50'), None, datetime.datetime(2026, 5, 16, 0, 0, {paris})]"
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return int('no')", ":5: main raised ValueError: invalid literal for int() with base 10: 'no'; correct the code"),
        ("return 3", ":4: main returned a value of the type int; return a DataFrame of Spark, pandas or Polars"),
        ("return None", ":4: main returned None, and its rows are to be written; return a frame"),
        ("return spark.sql('SELECT nothing')", ":5: A column, variable, or function parameter with name `nothing`"),
        ("return spark.table('main.nowhere.t')", ":5: the table main.nowhere.t does not exist"),
        ("return spark.sql('SELECT 1 AS _tranche_partition')", "_tranche_partition"),
        ("return spark.sql('SELECT CAST(raise_error(\"late\") AS INT) AS a')", "late"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_told_with_its_line(body: str, message: str, scripts: Scripts) -> None:
    scripts.add("bad", f"{HEAD}# materialize lake://main/@bad\ndef main(spark):\n    {body}\n")
    step = scripts.step("bad", partition="2026-05-16")
    assert step.record.status == "failed"
    assert message in str(step.record.error)


def test_a_step_is_tried_again_as_the_header_says(scripts: Scripts) -> None:
    scripts.add(
        "flaky",
        f"{HEAD}# retry 2\n# materialize lake://main/@flaky\nfrom pathlib import Path\n"
        "def main(spark):\n    tries = Path(__file__).with_suffix('.tries')\n"
        "    tries.write_text((tries.read_text() if tries.exists() else '') + 'x')\n"
        "    if len(tries.read_text()) < 3:\n        raise ConnectionError('away')\n"
        "    return spark.sql('SELECT 1 AS a')\n",
    )
    assert scripts.step("flaky", partition="2026-05-16").record.status == "succeeded"


def test_functions_of_the_script_reach_the_workers(scripts: Scripts) -> None:
    scripts.bench.write(f"{scripts.folder}/doubling.py", "def double(n):\n    return 2 * n\n")
    scripts.add(
        "udf",
        f"{HEAD}# materialize lake://main/@udf\nfrom doubling import double\n"
        "from pyspark.sql import functions as F\n\ndef more(n):\n    return double(n) + 1\n\n"
        "def main(spark):\n    rows = spark.range(3)\n"
        "    return rows.select('id', F.udf(more, 'long')('id').alias('m'))\n",
    )
    step = scripts.step("udf", partition="2026-05-16")
    assert step.record.error is None
    assert scripts.rows("udf") == [(n, 2 * n + 1, "2026-05-16") for n in range(3)]


def test_workers_have_the_packages_of_this_python(scripts: Scripts) -> None:
    scripts.add(
        "t",
        HEAD
        + """# materialize lake://main/@t
from pyspark.sql import functions as F

def main(spark, partition):
    def which():
        import sys
        return sys.executable
    return spark.range(1).select("id", F.udf(which, "string")().alias("python"))
""",
    )
    step = scripts.step("t", partition=DAYS[0])
    assert step.record.status == "succeeded", step.record.error
    assert scripts.rows("t")[0][1] == sys.executable


def test_what_code_does_to_its_session_stays_there(scripts: Scripts, engine: SparkEngine) -> None:
    scripts.bench.sql("CREATE NAMESPACE IF NOT EXISTS main.elsewhere")
    for name, act in {
        "moves": "spark.sql('USE main.elsewhere')",
        "defines": 'spark.sql("CREATE TEMPORARY FUNCTION own() RETURNS INT RETURN 1")',
        "sets": "spark.conf.set('spark.sql.shuffle.partitions', 77)",
        "views": "spark.range(1).createOrReplaceTempView('left_behind')",
    }.items():
        scripts.add(name, f"# pipeline\ndef main(spark):\n    {act}\n")
        step = scripts.step(name)
        assert (step.record.error, step.warnings) == (None, ())
    # Otherwise those who ask next get sessions that are new.
    assert free(engine)
    for _ in range(4):
        [place] = scripts.bench.sql("SELECT current_schema() AS s")
        assert place["s"] != "elsewhere"
        for what in ("USER FUNCTIONS", "VIEWS"):
            left = engine.query(typed(f"SHOW {what} IN spark_catalog.default"), limit=9).records()
            assert not left, left


def test_a_script_that_makes_nothing_shows_what_it_returns(scripts: Scripts) -> None:
    scripts.add("look", "# pipeline\nimport pandas as pd\ndef main():\n    return pd.DataFrame({'a': [1, 2]})\n")  # fmt: skip
    step = scripts.step("look")
    assert step.result is not None
    assert step.result.values == ((1,), (2,))


def test_a_table_that_code_writes_by_itself(scripts: Scripts) -> None:
    scripts.add(
        "own",
        "# pipeline\n# writes lake://main/@own\ndef main(spark):\n"
        "    spark.range(3).writeTo('@own').createOrReplace()\n",
    )
    step = scripts.step("own")
    assert (step.record.status, step.record.error) == ("succeeded", None)
    assert step.record.snapshot is not None


@pytest.mark.slow
def test_histories_and_merges(scripts: Scripts) -> None:
    scripts.add(
        "versions",
        "# pipeline\n# materialize lake://main/@versions key=id history\n# $v (int)\n"
        "def main(spark, v):\n    return spark.sql(f'SELECT 1 AS id, {v} AS v')\n",
    )
    scripts.add(
        "current",
        "# pipeline\n# on lake://main/@versions_current\n# materialize lake://main/@current key=id\n"
        "def main(versions_current):\n    return versions_current.select('id', 'v')\n",
    )
    for v in "12":
        fired = datetime(2026, 5, 16, int(v), tzinfo=UTC)
        assert scripts.step("versions", arguments={"v": v}, fire_time=fired).record.error is None
    assert len(scripts.bench.sql("SELECT * FROM @versions")) == 2
    assert scripts.step("current").record.error is None
    assert scripts.rows("current") == [(1, 2)]


SEEN = """\
# pipeline
# partitioned daily
# on lake://main/@orders
# materialize lake://main/@totals
from pyspark.sql import functions as F

def main(orders):
    found = orders.where("id > 0").groupBy("id").agg(F.sum("amount").alias("total"))
    return found.withColumn("n", F.lit(1))
"""


def test_where_columns_come_from_is_seen_once(scripts: Scripts) -> None:
    orders(scripts)
    scripts.add("totals", SEEN)
    assert scripts.step("totals", partition=DAYS[0]).record.error is None
    script = scripts.scripts["totals"]
    seen = scripts.store.traced(str(script.asset), script.fingerprint)
    assert seen is not None and seen.complete, seen
    source = scripts.bench.named("lake://main/@orders")
    assert {column.column: [(str(each.source), each.kind) for each in column.direct] for column in seen.columns} == {
        "id": [(f"{source}.id", "identity")],
        "total": [(f"{source}.amount", "aggregation")],
        "n": [],
    }  # fmt: skip
    assert [(each.why, each.source.column) for each in seen.rows] == [
        ("filter", "_tranche_partition"),
        ("filter", "id"),
        ("group", "id"),
    ]

    # Another key does not ask again.
    marked = replace(seen, unknown=(Unknown("seen before"),))
    kept = TracedLineage(asset=str(script.asset), fingerprint=script.fingerprint, lineage=marked)
    (run,) = scripts.store.runs(limit=1)
    (step,) = scripts.store.steps(run.id)
    scripts.store.finish_step(step, traced=kept)
    assert scripts.step("totals", partition=DAYS[1]).record.error is None
    assert scripts.store.traced(str(script.asset), script.fingerprint) == marked

    # Code that was changed is asked again; what has no plan of Spark tells nothing.
    for end, known in (('.withColumn("n", F.lit(2))', True), (".toPandas()", False)):
        scripts.add("totals", SEEN.replace('.withColumn("n", F.lit(1))', end))
        script = scripts.scripts["totals"]
        assert scripts.store.traced(str(script.asset), script.fingerprint) is None
        scripts.step("totals", partition=DAYS[1])
        assert (scripts.store.traced(str(script.asset), script.fingerprint) is not None) == known
