"""Which keys are stale: by rows, and by the columns that are read of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tranche.model.digest import set_id
from tranche.model.run import Attempt, Input, Materialization, Run, StepRecord
from tranche.planning.graph import build_graph
from tranche.planning.read_columns import ReadColumns
from tranche.planning.stale import stale_keys
from tranche.script.lineage import Lineages
from tranche.state.memory import MemoryStore

from .conftest import NOON, project_of

KEY = "2026-05-16"
UP = "partitioned daily; materialize lake://main/"
X, XY, NONE = set_id({"x"}), set_id({"x", "y"}), set_id(())


class Ledger:
    """Scripts that read `a` and `b`, and what is told of the keys of all of them."""

    def __init__(self, query: str) -> None:
        texts = {"a": f"{UP}a", "b": f"{UP}b", "c": f"{UP}c :: {query}"}
        self.project = project_of(texts)
        self.store = MemoryStore()
        self.number = 0

    def entered(
        self,
        name: str,
        digest: str,
        sets: dict[str, tuple[str, ...]] | None = None,
        *,
        columns: str = "x y z",
        inputs: tuple[Input, ...] = (),
    ) -> Input:
        self.number += 1
        at = NOON + timedelta(minutes=self.number)
        script, id = self.project.script(name), str(self.number)
        assert script is not None
        run = Run(id=id, target=name, status="running", fire_time=at, started_at=at)
        step = StepRecord(
            run=id,
            position=0,
            script=name,
            asset=f"lake://main/{name}",
            partition=KEY,
            ordinal=None,
            strategy="replace",
            status="succeeded",
            finished_at=at,
        )
        attempt = Attempt(
            id=id, run=id, position=0, number=1, status="running", started_at=at, finished_at=at
        )
        entry = Materialization(
            id=id,
            asset=f"lake://main/{name}",
            partition=KEY,
            ordinal=None,
            status="succeeded",
            run=id,
            attempt=id,
            fingerprint=script.fingerprint,
            started_at=at,
            finished_at=at,
            digest=digest,
            column_digests=sets or {},
            inputs=inputs,
        )
        self.store.begin_run(run, [replace(step, status="waiting")])
        self.store.begin_attempt(attempt)
        told = tuple((column, "int") for column in columns.split())
        ended = replace(attempt, status="succeeded")
        self.store.finish_step(step, [entry], attempt=ended, columns=told)
        return Input(asset=entry.asset, partition=KEY, materialization=id)

    def stale(self, *, narrowed: bool = True) -> dict[str, str]:
        reads = ReadColumns(build_graph(self.project.scripts), Lineages().of)
        script = self.project.script("c")
        assert script is not None
        return stale_keys(script, [KEY], self.store, reads if narrowed else None)


@pytest.mark.parametrize(
    ("query", "then", "now", "stale"),
    [
        # The rows are the same.
        ("SELECT x FROM a", ("1-a", {}), ("1-a", {}), False),
        # Nobody has gone over sets of columns.
        ("SELECT x FROM a", ("1-a", {}), ("1-b", {}), True),
        ("SELECT x FROM a", ("1-a", {X: ("1-x",)}), ("1-b", {}), True),
        ("SELECT x FROM a", ("snapshot 1", {}), ("snapshot 2", {}), True),
        # The columns that are read are those of before, or others.
        ("SELECT x FROM a", ("1-a", {X: ("1-x",)}), ("1-b", {X: ("1-x",)}), False),
        ("SELECT x FROM a", ("1-a", {X: ("1-x",)}), ("1-b", {X: ("1-y",)}), True),
        ("SELECT x FROM a", ("snapshot 1", {}), ("1-b", {X: ("1-x", "snapshot 1")}), False),
        ("SELECT x FROM a", ("snapshot 1", {}), ("1-b", {X: ("1-x", "snapshot 0")}), True),
        # Other columns than those that are read stayed the same.
        ("SELECT x, y FROM a", ("1-a", {X: ("1-x",)}), ("1-b", {X: ("1-x",)}), True),
        ("SELECT x FROM a", ("1-a", {XY: ("1-x",)}), ("1-b", {XY: ("1-x",)}), True),
        ("SELECT y FROM a", ("1-a", {X: ("1-x",)}), ("1-b", {X: ("1-x",)}), True),
        # All columns are read, also those to come, or nobody knows.
        ("SELECT * FROM a", ("1-a", {X: ("1-x",)}), ("1-b", {X: ("1-x",)}), True),
        ("SELECT nowhere FROM a", ("1-a", {X: ("1-x",)}), ("1-b", {X: ("1-x",)}), True),
        # How many rows there are is all that is read.
        (
            "SELECT count(*) AS n FROM a",
            ("1-a", {NONE: ("1-0",)}),
            ("1-b", {NONE: ("1-0",)}),
            False,
        ),
        ("SELECT count(*) AS n FROM a", ("1-a", {NONE: ("1-0",)}), ("2-b", {NONE: ("2-0",)}), True),
    ],
)
def test_one_input(
    query: str,
    then: tuple[str, dict[str, tuple[str, ...]]],
    now: tuple[str, dict[str, tuple[str, ...]]],
    stale: bool,
) -> None:
    ledger = Ledger(query)
    given = ledger.entered("a", *then)
    ledger.entered("c", "1-c", inputs=(given,))
    assert ledger.stale() == {}
    ledger.entered("a", *now)
    assert ledger.stale() == ({KEY: f"lake://main/a {KEY} has other rows"} if stale else {})
    # Without lineage, all columns count.
    assert bool(ledger.stale(narrowed=False)) == (then[0] != now[0])


def test_several_inputs_are_looked_at_one_by_one() -> None:
    ledger = Ledger("SELECT a.x, b.x AS w FROM a JOIN b ON a.x = b.x")
    inputs = tuple(ledger.entered(name, "1-1", {X: ("1-x",)}) for name in ("a", "b"))
    ledger.entered("c", "1-c", inputs=inputs)
    ledger.entered("a", "1-2", {X: ("1-x",)})
    assert ledger.stale() == {}
    ledger.entered("b", "1-2", {X: ("1-y",)})
    assert ledger.stale() == {KEY: f"lake://main/b {KEY} has other rows"}


def test_a_column_that_comes_to_stand_for_another_makes_keys_stale() -> None:
    # Once b has a column y, it is no longer that of a.
    ledger = Ledger("SELECT x, (SELECT max(x) FROM b WHERE y = 1) AS m FROM a")
    first = ledger.entered("a", "1-1")
    second = ledger.entered("b", "1-1", {X: ("1-x",)}, columns="x")
    ledger.entered("c", "1-c", inputs=(first, second))
    ledger.entered("b", "1-2", {X: ("1-x",)}, columns="x z")
    assert ledger.stale() == {}
    ledger.entered("b", "1-3", {X: ("1-x",)}, columns="x y")
    assert ledger.stale() == {KEY: f"lake://main/b {KEY} has other rows"}


def test_a_script_that_has_changed_reads_nobody_knows_what() -> None:
    ledger = Ledger("SELECT x FROM a")
    given = ledger.entered("a", "1-1", {X: ("1-x",)})
    ledger.entered("c", "1-c", inputs=(given,))
    ledger.project = project_of({"a": f"{UP}a", "c": f"{UP}c :: SELECT x + 1 AS x FROM a"})
    assert ledger.stale() == {KEY: "the script has changed"}
