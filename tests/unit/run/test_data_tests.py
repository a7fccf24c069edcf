"""What data tests find, and what becomes of the step, the ledger and those who read."""

from __future__ import annotations

from tranche.model.data_test import DataTestResult
from tranche.model.rows import Rows

from .processes import KEY, Processes
from .test_runner import CHAIN, DAY, outcomes

A = "lake://main/a"
SAMPLE = Rows((("x", "int"),), ((7,), (7,)))
TWICE = DataTestResult(test="unique x", violations=2, sample=SAMPLE)
MISSING = DataTestResult(test="not_null x", violations=1)
ODD = DataTestResult(test="accepted_values x = 1,2", severity="warn", violations=1)
SOUND = DataTestResult(test="not_null y")


def finding(*found: DataTestResult) -> Processes:
    """The chain, whose first script has data tests that find this."""
    bench = Processes(CHAIN)
    bench.engine.answers["a"] = lambda step: [{"x": 7}, {"x": 7}]
    bench.engine.found["a"] = found
    return bench


class TestFailed:
    def test_the_step_fails_and_nothing_depends_on_it(self) -> None:
        bench = finding(TWICE, SOUND)
        result = bench.run("a")
        assert result.status == "failed"
        assert outcomes(result) == {
            "a": "failed",
            "b": "skipped",
            "c": "skipped",
            "other": "skipped",
        }
        assert result.steps[0].tests == (TWICE, SOUND)
        assert result.steps[0].record.error == (
            "a data test failed and nothing was published: unique x (2 rows);"
            f" see the rows with tranche show {A} --partition '{KEY}' --violations"
        )

    def test_each_that_failed_is_named(self) -> None:
        bench = finding(TWICE, ODD, MISSING)
        error = str(bench.run("a").steps[0].record.error)
        assert error.startswith(
            "2 data tests failed and nothing was published: unique x (2 rows), not_null x (1 row); "
        )

    def test_nothing_is_published_or_about_to_be(self) -> None:
        bench = finding(TWICE)
        result = bench.run("a")
        assert bench.engine.tables == {}
        (attempt,) = bench.store.attempts(result.id)
        assert attempt.status == "failed"
        assert bench.store.staged(attempt.id) == ()
        assert bench.engine.asked == []

    def test_the_ledger_has_the_attempt_with_its_tests(self) -> None:
        bench = finding(TWICE, ODD, SOUND)
        bench.run("a")
        (entry,) = bench.store.materializations(A, KEY, limit=9)
        assert (entry.status, entry.rows, entry.snapshot) == ("failed", None, None)
        assert [(test.test, test.status, test.violations) for test in entry.tests] == [
            ("unique x", "failed", 2),
            ("accepted_values x = 1,2", "warned", 1),
            ("not_null y", "passed", 0),
        ]
        assert [test.sample for test in bench.store.violations(entry.id)] == [SAMPLE, None]

    def test_readers_keep_what_they_had(self) -> None:
        bench = finding()
        bench.run("a", only=True)
        seen = dict(bench.engine.tables[A])
        before = bench.store.partition(A, KEY)
        bench.engine.answers["a"] = lambda step: [{"x": None}]
        bench.engine.found["a"] = (MISSING,)
        bench.run("a", only=True)
        after = bench.store.partition(A, KEY)
        assert bench.engine.tables[A] == seen
        assert before is not None
        assert after is not None
        assert after.status == "failed"
        assert (after.materialization, after.rows) == (before.materialization, 2)

    def test_it_is_not_tried_again(self) -> None:
        bench = Processes({"a": CHAIN["a"].replace(DAY, f"{DAY}-- retry 2 delay=10s\n")})
        bench.engine.found["a"] = (TWICE,)
        assert bench.run("a").status == "failed"
        assert len(bench.engine.executed) == 1
        assert bench.slept == []

    def test_the_slice_can_be_written_when_it_is_mended(self) -> None:
        bench = finding(TWICE)
        bench.run("a", only=True)
        bench.engine.found["a"] = (SOUND,)
        assert bench.run("a", only=True, patience=0).status == "succeeded"
        entries = bench.store.materializations(A, KEY, limit=9)
        assert [entry.status for entry in entries] == ["succeeded", "failed"]


class TestWarned:
    def test_the_step_succeeds_with_a_warning(self) -> None:
        bench = finding(ODD, SOUND)
        result = bench.run("a")
        assert set(outcomes(result).values()) == {"succeeded"}
        assert result.warnings == (
            f"{A}: the data test 'accepted_values x = 1,2' is violated by 1 row",
        )
        assert result.steps[0].tests == (ODD, SOUND)
        assert KEY in bench.engine.tables[A]

    def test_the_ledger_says_so(self) -> None:
        bench = finding(ODD)
        bench.run("a")
        (entry,) = bench.store.materializations(A, KEY, limit=9)
        assert entry.status == "succeeded"
        assert [(test.status, test.violations) for test in entry.tests] == [("warned", 1)]


def test_tests_that_pass_are_in_the_ledger_and_warn_of_nothing() -> None:
    bench = finding(SOUND)
    result = bench.run("a", only=True)
    assert (result.status, result.warnings) == ("succeeded", ())
    (entry,) = bench.store.materializations(A, KEY, limit=9)
    assert entry.tests == (SOUND,)
