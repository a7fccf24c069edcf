"""The customers of the demo as a history: 30 daily files, in whatever order they arrive."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tranche.projects.demo import customers

from .conftest import Bench

SCRIPT = """\
-- pipeline
-- partitioned daily tz="Europe/Paris" start="2026-04-01"
-- materialize lake://main/@{table} key=customer_id history at=partition{words}
SELECT customer_id, name, tier, country
FROM read_csv(
    'data/customers/' || '{{partition}}' || '.csv',
    header => true,
    schema => 'customer_id long, name string, tier string, country string'
)
"""


class Arrivals:
    """Builds one history per order of arrival."""

    def __init__(self, bench: Bench, days: int, words: str) -> None:
        self.bench = bench
        self.words = words
        files = sorted(customers().items())[51 - days : 51]
        self.days = [path.rpartition("/")[2].removesuffix(".csv") for path, _ in files]
        for path, text in files:
            bench.write(path, text)

    def table(self, name: str, *days: str) -> list[dict[str, Any]]:
        text = SCRIPT.format(table=name, words=self.words)
        for day in days:
            self.bench.run(text, partition=day)
        return self.bench.sql(f"SELECT * FROM @{name} ORDER BY customer_id, valid_from")


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (4, " track=tier deletes=close"),
        pytest.param(30, " track=tier,country", marks=pytest.mark.slow),
        pytest.param(30, " deletes=close", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_every_order_gives_the_same_history(bench: Bench, days: int, words: str) -> None:
    arrivals = Arrivals(bench, days, words)
    expected = arrivals.table("ordered", *arrivals.days)
    assert len(arrivals.days) == days
    assert len(expected) > len({row["customer_id"] for row in expected}), "nobody changed tier"
    dice = random.Random(days)
    shuffled = dice.sample(arrivals.days, days)
    assert arrivals.table("shuffled", *shuffled) == expected
    snapshots = bench.sql("SELECT snapshot_id FROM @shuffled.snapshots")
    # Run again, all of them: nothing changes, and the history has no new snapshot.
    assert arrivals.table("shuffled", *dice.sample(arrivals.days, days)) == expected
    assert bench.sql("SELECT snapshot_id FROM @shuffled.snapshots") == snapshots
    assert arrivals.table("ordered", *arrivals.days) == expected
