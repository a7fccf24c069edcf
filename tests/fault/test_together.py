"""Eight runs at once on eight partitions of one table: all of them succeed, every time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Shop

ROUNDS = 20
DAYS = [f"2026-05-{day:02}" for day in range(1, 9)]
SCRIPT = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/{name}{strategy}
{tests}
SELECT id, '{{partition}}' AS day, {round} AS round FROM range(100)
"""
KINDS = {
    "replaced": ("", "-- Nothing is tested."),
    "tested": ("", "-- data_test unique id"),
    "merged": (" key=id", "-- data_test not_null round"),
    "appended": (" append", "-- Nothing is tested."),
}


@pytest.mark.parametrize("kind", KINDS)
def test_eight_runs_at_once(shop: Shop, kind: str) -> None:
    name = f"together_{kind}"
    strategy, tests = KINDS[kind]
    for number in range(1, ROUNDS + 1):
        text = SCRIPT.format(name=name, strategy=strategy, tests=tests, round=number)
        shop.write(f"pipelines/{name}.sql", text)
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda day: shop.run(name, partition=day), DAYS))
        assert [r.status for r in results] == ["succeeded"] * 8, [
            r.steps[0].record.error for r in results
        ]
        found = shop.sql(
            f"SELECT day, count(*) AS n, max(round) AS latest FROM {name} GROUP BY day"
        )
        rows = 100 * number if kind == "appended" else 100
        assert sorted((r["day"], r["n"], r["latest"]) for r in found) == [
            (day, rows, number) for day in DAYS
        ]
    with shop.state() as store:
        assert store.outcomes([f"lake://main/{name}"]) == {f"lake://main/{name}": {"succeeded": 8}}
