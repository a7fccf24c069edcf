"""Sessions are used again, and have nothing of whoever had them before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from tranche.errors import TrancheError
from tranche.lakes.engine import SparkEngine
from tranche.lakes.sessions import Sessions

from .conftest import free

if TYPE_CHECKING:
    from .conftest import Bench

SCRIPT = "-- pipeline\n-- materialize lake://main/@t\n{}SELECT 1 AS x"


def test_it_is_as_it_was(engine: SparkEngine) -> None:
    made: list[SparkSession] = []

    def make() -> SparkSession:
        made.append(engine.session().newSession())
        made[-1].conf.set("spark.made.up.secret", "a")
        return made[-1]

    sessions = Sessions(make)
    first = sessions.take("Asia/Tokyo")
    before = dict(first.conf.getAll)
    first.sql("SET spark.sql.shuffle.partitions = 7")
    first.sql("SET spark.made.up = 1")
    first.sql("SET spark.made.up.secret = b")
    first.sql("SET spark.made.up.password = c")
    first.sql("CREATE TEMPORARY VIEW `an odd ``one``` AS SELECT 1")
    sessions._tidy(first)
    again = sessions.take("UTC")
    assert again is first and len(made) == 1
    assert dict(again.conf.getAll) == {**before, "spark.sql.session.timeZone": "UTC"}
    assert again.sql("SHOW VIEWS IN spark_catalog.default").collect() == []
    assert sessions.take("UTC") is not first


def test_attempts_do_not_open_more_and_more(bench: Bench) -> None:
    setup = "SET spark.sql.shuffle.partitions = 7;\nCREATE TEMPORARY VIEW left_over AS SELECT 2;\n"
    bench.run(SCRIPT.format(setup))
    before = free(bench.engine)
    assert {s.conf.get("spark.sql.shuffle.partitions") for s in before} == {"2"}
    for _ in range(4):
        bench.run(SCRIPT.format(""))
        assert set(free(bench.engine)) == set(before)
    with pytest.raises(TrancheError, match="left_over"):
        bench.sql("SELECT * FROM left_over")


@pytest.mark.parametrize(
    "setup",
    [
        "DECLARE VARIABLE seen INT DEFAULT 1;\n",
        "CREATE TEMPORARY FUNCTION one() RETURNS INT RETURN 1;\n",
    ],
)
def test_what_cannot_be_undone_is_not_passed_on(bench: Bench, setup: str) -> None:
    before = free(bench.engine)
    bench.run(SCRIPT.format(setup))
    assert set(free(bench.engine)) == set(before[:-1])
