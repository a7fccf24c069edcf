"""How the ledger is written."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import select

from tranche.model.run import Materialization
from tranche.state.changes import append_to_log
from tranche.state.sql_store import SqlStore
from tranche.state.tables import materializations

NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)


def test_the_log_is_written_in_one_order(tmp_path: Path) -> None:
    """Two that enter the same keys in different orders would else wait for each other forever."""
    entries = [
        Materialization(
            id=f"{asset}-{n}",
            asset=asset,
            partition=f"k{n}",
            ordinal=None,
            status="succeeded",
            run="r1",
            attempt="a1",
            fingerprint="f",
            started_at=NOON,
            finished_at=NOON,
        )
        for asset in ("b", "a")
        for n in range(20)
    ]
    store = SqlStore(f"sqlite:///{tmp_path}/state.db")
    shuffled = random.Random(1).sample(entries, len(entries))
    with store._writing() as connection:
        assert append_to_log(connection, shuffled) == shuffled
        c = materializations.c
        query = select(c.asset, c.partition_hash).order_by(c.seq)
        written = [tuple(row) for row in connection.execute(query)]
    store.close()
    assert written == sorted(written)
    assert len(written) == 40
