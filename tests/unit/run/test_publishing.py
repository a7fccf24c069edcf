"""A slice that readers see has succeeded, whatever else goes wrong."""

from __future__ import annotations

from tranche.errors import CommitUnknown, StatementFailed

from .processes import KEY, Processes
from .test_runner import CHAIN, outcomes

A = "lake://main/a"


def test_what_is_about_to_be_published_is_noted_before() -> None:
    bench = Processes(CHAIN)

    def look() -> None:
        (run,) = bench.store.runs(limit=1)
        (attempt,) = bench.store.attempts(run.id)
        (entry,) = bench.store.staged(attempt.id)
        assert (entry.asset, entry.partition, entry.status) == (A, KEY, "succeeded")
        assert (entry.rows, entry.snapshot, entry.digest) == (None, None, None)
        assert entry.fingerprint == bench.project.scripts[0].fingerprint
        assert bench.store.materializations(A, KEY, limit=9) == ()

    bench.engine.happens["a", "publishing"] = look
    assert bench.run("a", only=True).status == "succeeded"


def test_an_error_while_cleaning_up_fails_nothing_that_was_published() -> None:
    bench = Processes(CHAIN)
    bench.engine.fails("a", "closing", StatementFailed("the table beside could not be dropped"))
    result = bench.run("a")
    assert KEY in bench.engine.tables[A]
    (entry,) = bench.store.materializations(A, KEY, limit=9)
    assert entry.status == "succeeded"
    assert outcomes(result)["a"] == "succeeded"
    assert bench.store.steps(result.id)[0].status == "succeeded"


def test_a_commit_whose_answer_was_lost_is_looked_for() -> None:
    bench = Processes(CHAIN)
    unknown = CommitUnknown("the catalog did not say whether the commit arrived")
    bench.engine.fails("a", "published", unknown)
    result = bench.run("a", only=True)
    assert KEY in bench.engine.tables[A]
    assert outcomes(result) == {"a": "succeeded"}
    (entry,) = bench.store.materializations(A, KEY, limit=9)
    assert (entry.status, entry.snapshot) == ("succeeded", "1")
