"""What an engine is told of the columns that others read, and what becomes of digests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tranche.model.digest import set_id
from tranche.model.run import Materialization
from tranche.ports import Trial, Work, Written
from tranche.testing import MemoryEngine, MemoryTrial

from .test_runner import Bench

DAY = "-- pipeline\n-- partitioned daily\n"
KEY = "2026-05-16"
X = frozenset({"x"})


class Told(MemoryEngine):
    """Keeps what it is told, and may find that nothing has changed."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[tuple[frozenset[str], ...]] = []
        self.unchanged = False

    @contextmanager
    def attempt(self, work: Work) -> Iterator[Trial]:
        self.read.append(work.read)
        yield Unchanged(self, work) if self.unchanged else MemoryTrial(self, work)


class Unchanged(MemoryTrial):
    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        return Written(rows=1, snapshot="9", changed=False)


def bench_of(words: str = "", query: str = "SELECT x FROM a") -> tuple[Bench, Told]:
    texts = {"a": f"{DAY}-- materialize lake://main/a{words}\nSELECT 1 AS x, 2 AS y"}
    if query:
        texts["b"] = f"{DAY}-- materialize lake://main/b\n{query}"
    bench, engine = Bench(texts), Told()
    bench.engine = engine
    engine.answers["a"] = lambda _: [{"x": 1, "y": len(engine.read)}]
    return bench, engine


def latest(bench: Bench) -> Materialization:
    return bench.store.materializations("lake://main/a", KEY, limit=1)[0]


@pytest.mark.parametrize(
    ("words", "query", "told"),
    [
        ("", "SELECT x FROM a", (X,)),
        ("", "SELECT * FROM a", ()),
        ("", "", ()),
        (" key=x", "SELECT x FROM a", ()),
        (" append", "SELECT x FROM a", ()),
    ],
)
def test_only_rows_that_replace_others_are_looked_at(
    words: str, query: str, told: tuple[frozenset[str], ...]
) -> None:
    bench, engine = bench_of(words, query)
    for _ in range(2):
        bench.run("a", partition=KEY, only=True)
    assert engine.read == [(), told]


def test_what_changes_nothing_keeps_what_stands_for_columns() -> None:
    bench, engine = bench_of()
    for _ in range(2):
        bench.run("a", partition=KEY, only=True)
    held = latest(bench)
    assert held.column_digests.keys() == {set_id(X)}
    engine.unchanged = True
    bench.run("a", partition=KEY, only=True)
    again = latest(bench)
    assert again.id != held.id
    assert again.digests == held.digests
