"""Scripts that give the same rows whenever they read the same."""

from __future__ import annotations

import pytest

from tranche.script.lakes import Lakes
from tranche.script.repeatable import repeatable
from tranche.script.sql import read_sql_script

LAKES = Lakes(frozenset({"main"}), "main")


def is_repeatable(body: str, *lines: str) -> bool:
    header = "".join(f"-- {line}\n" for line in ("pipeline", "partitioned daily", *lines))
    read = read_sql_script("s", "pipelines/s.sql", f"{header}{body}", LAKES)
    assert read.script is not None, read.faults
    return repeatable(read.script)


def test_a_query_of_tables_is() -> None:
    assert is_repeatable("SELECT id, sum(x) AS x FROM t WHERE day = '{partition}' GROUP BY id")


@pytest.mark.parametrize(
    "body",
    [
        "SELECT id, rand() AS x FROM t",
        "SELECT id, UUID() AS x FROM t",
        "SELECT id, current_date AS x FROM t",
        "SELECT id, now() AS x FROM t",
        "SELECT id FROM t LIMIT 3",
        "SELECT id FROM t TABLESAMPLE (10 PERCENT)",
        "SET spark.sql.ansi.enabled = false; SELECT id FROM t",
    ],
)
def test_what_depends_on_more_is_not(body: str) -> None:
    assert not is_repeatable(body)


def test_what_takes_arguments_is_not() -> None:
    assert not is_repeatable("SELECT id FROM t WHERE x < $limit_at", "$limit_at (int) = 3")
