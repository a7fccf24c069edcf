"""A change of a column makes those stale that read it, and nobody else."""

from __future__ import annotations

import pytest

from tranche.model.digest import is_of_rows

from .conftest import Bench
from .shop import DAY, Shop

VALUES = "SELECT * FROM VALUES (1, {amount}, '{note}'), (2, 20, 'y') AS v(id, amount, note)"
READERS = {
    "sums": "SELECT sum(amount) AS total FROM @up WHERE id > 0",
    "notes": "SELECT upper(note) AS note FROM @up",
    "counts": "SELECT count(*) AS n FROM @up",
    "all_": "SELECT * EXCEPT (_tranche_partition) FROM @up",
}


def rows(amount: int = 10, note: str = "x") -> str:
    return VALUES.format(amount=amount, note=note)


def shop_of(bench: Bench, **readers: str) -> Shop:
    shop = Shop(bench, up=rows(), **(readers or READERS))
    for name in shop.queries:
        shop.run(name)
    assert shop.stale(*shop.queries) == []
    return shop


@pytest.mark.slow
def test_only_readers_of_what_has_changed_are_stale(bench: Bench) -> None:
    shop = shop_of(bench)
    shop.run("up", rows(note="z"))
    assert shop.stale(*READERS) == ["notes", "all_"]
    # Again, when the digests of these columns are known already.
    shop.run("up", rows(note="w"))
    assert shop.stale(*READERS) == ["notes", "all_"]
    shop.run("up", rows(amount=11, note="w"))
    assert shop.stale(*READERS) == ["sums", "notes", "all_"]
    for name in READERS:
        shop.run(name)
    assert shop.stale(*READERS) == []
    shop.run("up", f"{rows(amount=11, note='w')} UNION ALL SELECT 3, 0, 'v'")
    assert shop.stale(*READERS) == list(READERS)


def test_columns_that_come_and_go(bench: Bench) -> None:
    shop = shop_of(bench)
    shop.words["up"] = " on_schema_change=sync"
    shop.run("up", f"SELECT *, id AS more FROM ({rows()})")
    assert shop.stale(*READERS) == ["all_"]
    # What stays of a column that is not selected any more is NULL.
    shop.run("up", f"SELECT id, amount, id AS more FROM ({rows()})")
    assert shop.stale(*READERS) == ["notes", "all_"]
    shop.run("up", f"SELECT id, id AS more FROM ({rows()})")
    assert shop.stale(*READERS) == ["sums", "notes", "all_"]


@pytest.mark.slow
def test_keys_that_are_written_together(bench: Bench) -> None:
    days = ("2026-05-14", "2026-05-15", DAY)
    shop = Shop(bench, up=rows(), **READERS)
    for name in shop.queries:
        shop.run(name, None, *days)
    changed = (
        f"SELECT id, amount, if('{{partition}}' = '{DAY}', 'new', note) AS note FROM ({rows()})"
    )
    shop.run("up", changed, *days)
    assert shop.stale("sums", keys=days) == shop.stale("counts", keys=days) == []
    assert shop.stale("notes", keys=days) == shop.stale("all_", keys=days) == [DAY]
    # One of them by itself, with the digests of when it was written together with others.
    shop.run("up", changed.replace("'new'", "'newer'"))
    assert shop.stale("sums", "counts", "notes", keys=days) == ["notes"]
    shop.run("up", changed.replace("amount,", "amount + 1 AS amount,", 1), *days)
    assert shop.stale("sums", keys=days) == list(days)


def test_a_first_write_is_not_gone_over(bench: Bench) -> None:
    shop = Shop(bench, up=rows(), **READERS)
    shop.run("up")
    (entry,) = shop.store.materializations(f"lake://main/{bench.schema}.up", DAY, limit=9)
    assert entry.digest is not None and not is_of_rows(entry.digest)
    assert entry.column_digests == {}
