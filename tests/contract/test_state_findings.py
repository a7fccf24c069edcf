"""What every store knows of data alike: the findings of data tests, the columns of assets, and where they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from tranche.errors import StateError
from tranche.model.asset import FileSet, LakeTable
from tranche.model.columns import Columns, SchemaVersion
from tranche.model.data_test import DataTestResult
from tranche.model.lineage import (
    ColumnLineage,
    Influence,
    Origin,
    ScriptLineage,
    SourceColumn,
    TracedLineage,
    Unknown,
)
from tranche.model.rows import Rows
from tranche.model.run import Input
from tranche.ports import StateStore

from .builders import (
    AWKWARD_KEYS,
    NOON,
    ORDERS,
    SECOND,
    a_failure,
    a_run,
    a_step,
    an_attempt,
    an_entry,
    in_threads,
    record,
)

ROWS = Rows((("id", "int"), ("price", "decimal(9,2)")), ((1, Decimal("1.10")), (2, None)), True)
PASSED = DataTestResult(test="not_null id")
FAILED = DataTestResult(test="unique id", violations=7, sample=ROWS)
WARNED = DataTestResult(test="accepted_values x = it's", severity="warn", violations=1)


def sampled(store: StateStore, value: Any) -> Any:
    """What comes back of a value in a sample."""
    sample = Rows((("v", "string"),), ((value,),))
    record(store, an_entry(tests=(replace(FAILED, sample=sample),)))
    (found,) = store.violations("m1")
    assert found.sample is not None
    return found.sample.values[0][0]


class TestFindings:
    def test_an_entry_has_its_tests_without_samples(self, store: StateStore) -> None:
        record(store, a_failure("m1", tests=(PASSED, FAILED, WARNED)))
        expected = a_failure("m1", tests=(PASSED, replace(FAILED, sample=None), WARNED))
        assert store.materialization("m1") == expected
        assert store.materializations(ORDERS, "2026-05-16", limit=5) == (expected,)

    def test_what_was_violated_has_its_samples(self, store: StateStore) -> None:
        other = replace(FAILED, test="other", severity="warn", sample=Rows((), ()))
        record(store, a_failure("m1", tests=(FAILED, PASSED, WARNED, other, FAILED)))
        record(store, a_failure("m2", tests=(other,)))
        assert store.violations("m1") == (FAILED, WARNED, other, FAILED)
        assert store.violations("m2") == (other,)

    def test_nothing_was_violated(self, store: StateStore) -> None:
        record(store, an_entry("m1", tests=(PASSED, replace(PASSED, sample=ROWS))))
        record(store, an_entry("m2"))
        assert store.violations("m1") == ()
        assert store.violations("m2") == ()
        assert store.violations("nobody") == ()

    def test_an_entry_that_is_there_keeps_its_samples(self, store: StateStore) -> None:
        first = a_failure("m1", tests=(FAILED, WARNED))
        record(store, first)
        record(store, replace(first, tests=(WARNED, replace(FAILED, sample=Rows((), ())))))
        record(store, replace(first, id="m2"))
        assert store.violations("m1") == (FAILED, WARNED)
        assert store.violations("m2") == ()

    def test_each_key_of_a_step_has_its_own(self, store: StateStore) -> None:
        entries = [
            an_entry(f"m{n}", f"k{n}", tests=(replace(FAILED, violations=n),)) for n in range(300)
        ]
        record(store, *entries)
        assert store.violations("m0") == ()
        assert store.violations("m299") == (replace(FAILED, violations=299),)

    @pytest.mark.parametrize(
        "value",
        [
            None,
            True,
            0,
            2**70,
            -1.5,
            1e300,
            Decimal("1.10"),
            Decimal("-12345678901234567890123456789012345678"),
            Decimal("1E+3"),
            "",
            "🦆 ' \" \\ \n %s",
            [],
            [1, [None, {"a": [Decimal("0.0")]}]],
            {},
            {"decimal": "1.10"},
            {"decimal": Decimal("1.10")},
            {"object": {"decimal": {"object": 1}}},
            {"decimal": "1.10", "object": 2},
            {"": {"ключ": [{"deep": False}]}},
        ],
        ids=repr,
    )
    def test_a_value_comes_back_as_it_was(self, store: StateStore, value: Any) -> None:
        found = sampled(store, value)
        assert found == value
        # Decimals are equal to other numbers, and to decimals with other digits.
        assert repr(found) == repr(value)

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            ("a\x00b", "a\ufffdb"),
            ("\ud800", "\ufffd"),
            ([{"\x00": ("\udfff",)}], [{"\ufffd": ["\ufffd"]}]),
            (float("nan"), "nan"),
            ({"x": float("-inf")}, {"x": "-inf"}),
            (Decimal("NaN"), "NaN"),
            ({1: 2}, {"1": 2}),
            (datetime(2026, 5, 16), "2026-05-16 00:00:00"),
            (b"\x00", "b'\\x00'"),
            ({"a"}, "{'a'}"),
        ],
        ids=repr,
    )
    def test_what_cannot_be_kept_is_made_readable(
        self, store: StateStore, value: Any, shown: Any
    ) -> None:
        assert sampled(store, value) == shown

    def test_names_that_cannot_be_kept_are_made_readable(self, store: StateStore) -> None:
        sample = Rows((("\x00", "struct<\ud800:int>"),), ((1,),))
        record(store, an_entry(tests=(DataTestResult(test="\x00", violations=1, sample=sample),)))
        readable = Rows((("\ufffd", "struct<\ufffd:int>"),), ((1,),))
        expected = DataTestResult(test="\ufffd", violations=1, sample=readable)
        assert store.violations("m1") == (expected,)

    def test_what_a_caller_does_to_a_sample_stays_with_the_caller(self, store: StateStore) -> None:
        value = {"keys": [1]}
        found = sampled(store, value)
        value["keys"].append(2)
        found["keys"].append(3)
        (again,) = store.violations("m1")
        assert again.sample is not None and again.sample.values == (({"keys": [1]},),)


AB: Columns = (("a", "int"), ("b", "string"))


def capture(
    store: StateStore, columns: Columns, run: str = "r1", at: datetime = NOON, asset: str = ORDERS
) -> None:
    if store.run(run) is None:
        store.begin_run(a_run(run), [a_step(run)])
    step = a_step(run, status="succeeded", finished_at=at, asset=asset)
    store.finish_step(step, columns=columns)


class TestColumns:
    def test_only_a_change_is_a_new_version(self, store: StateStore) -> None:
        history: list[Columns] = [
            AB,
            (("b", "string"), ("a", "int")),
            (("b", "string"), ("a", "bigint")),
            (("b", "string"), ("A", "bigint")),
            (("b", "string"),),
            AB,
        ]
        for n, columns in enumerate(history):
            capture(store, columns, f"r{n}", NOON + n * SECOND)
            capture(store, columns, f"again {n}", NOON + n * SECOND)
            capture(store, (), f"nothing {n}", NOON + n * SECOND)
        expected = [
            SchemaVersion(
                asset=ORDERS, version=n + 1, columns=columns, run=f"r{n}", at=NOON + n * SECOND
            )
            for n, columns in enumerate(history)
        ]
        assert store.schemas(ORDERS, limit=9) == tuple(reversed(expected))
        assert store.schemas(ORDERS, limit=2) == (expected[5], expected[4])

    def test_each_asset_has_its_own(self, store: StateStore) -> None:
        capture(store, AB)
        capture(store, AB[:1], asset="lake://main/other")
        assert [found.columns for found in store.schemas(ORDERS, limit=9)] == [AB]
        (other,) = store.schemas("lake://main/other", limit=9)
        assert (other.version, other.columns) == (1, AB[:1])
        assert store.schemas("lake://main/none", limit=9) == ()

    def test_limits(self, store: StateStore) -> None:
        capture(store, AB)
        assert store.schemas(ORDERS, limit=0) == ()
        with pytest.raises(ValueError):
            store.schemas(ORDERS, limit=-1)

    def test_names_are_data(self, store: StateStore) -> None:
        columns = tuple((key, f"struct<`{key}`:int>") for key in AWKWARD_KEYS)
        capture(store, columns)
        capture(store, columns)
        assert [found.columns for found in store.schemas(ORDERS, limit=9)] == [columns]
        for _ in range(2):
            capture(store, (("\x00", "\ud800"),))
        assert [len(found.columns) for found in store.schemas(ORDERS, limit=9)] == [1, len(columns)]

    def test_they_are_as_old_as_their_step_or_its_attempt(self, store: StateStore) -> None:
        store.begin_run(a_run(), [a_step()])
        store.begin_attempt(an_attempt())
        ended = an_attempt(status="succeeded", finished_at=NOON + 3 * SECOND)
        store.finish_step(a_step(status="succeeded"), attempt=ended, columns=AB)
        assert store.schemas(ORDERS, limit=1)[0].at == NOON + 3 * SECOND

    def test_what_cannot_be_told_is_refused(self, store: StateStore) -> None:
        store.begin_run(a_run(), [a_step()])
        with pytest.raises(ValueError, match="no asset"):
            store.finish_step(a_step(asset=None, finished_at=NOON), columns=AB)
        with pytest.raises(ValueError, match="no end"):
            store.finish_step(a_step(), columns=AB)
        with pytest.raises(StateError, match="not recorded"):
            store.finish_step(a_step("r2", finished_at=NOON), columns=AB)
        with pytest.raises(StateError, match="not recorded"):
            store.finish_step(a_step(finished_at=NOON), columns=AB, attempt=an_attempt())
        assert store.steps("r1") == (a_step(),)
        assert store.schemas(ORDERS, limit=9) == ()

    def test_the_same_change_from_all_sides_is_one_version(
        self, new_store: Callable[[], StateStore]
    ) -> None:
        first = new_store()
        capture(first, AB)
        in_threads(lambda thread: capture(new_store(), AB[:1], f"r{thread + 2}"))
        assert [found.columns for found in first.schemas(ORDERS, limit=9)] == [AB[:1], AB]

    def test_no_change_is_lost(self, new_store: Callable[[], StateStore]) -> None:
        first = new_store()
        capture(first, AB)

        def change(thread: int) -> None:
            store = new_store()
            for n in range(4):
                capture(store, ((f"c{thread}-{n}", "int"),), f"t{thread}")

        in_threads(change)
        found = first.schemas(ORDERS, limit=99)
        assert [version.version for version in found] == list(range(33, 0, -1))
        names = [version.columns[0][0] for version in found[::-1]]
        assert sorted(names[1:]) == [f"c{thread}-{n}" for thread in range(8) for n in range(4)]
        assert {version.run for version in found} == {"r1", *(f"t{n}" for n in range(8))}


class TestUses:
    """Which snapshots entries rely on, so that nobody expires them."""

    SOURCE = "lake://main/it's a source"

    def test_an_entry_relies_on_its_snapshot_and_on_those_of_its_inputs(
        self, store: StateStore
    ) -> None:
        inputs = (Input(asset=self.SOURCE, snapshot="77"), Input(asset=ORDERS, partition="k"))
        record(store, an_entry("m1", snapshot="12", inputs=inputs))
        assert store.used(ORDERS, since=NOON) == ("12",)
        assert store.used(self.SOURCE, since=NOON) == ("77",)
        assert store.used("lake://main/other", since=NOON) == ()

    def test_the_latest_entry_counts(self, store: StateStore) -> None:
        inputs = (Input(asset=self.SOURCE, snapshot="77"),)
        later = an_entry("m2", "other", inputs=inputs, finished_at=NOON + 60 * SECOND)
        record(store, later, an_entry("m1", inputs=inputs))
        assert store.used(self.SOURCE, since=NOON + 60 * SECOND) == ("77",)
        assert store.used(self.SOURCE, since=NOON + 61 * SECOND) == ()
        record(store, an_entry("m3", "third", inputs=inputs))
        assert store.used(self.SOURCE, since=NOON + 60 * SECOND) == ("77",)

    def test_a_failure_that_read_something_counts_too(self, store: StateStore) -> None:
        record(store, a_failure("m1", inputs=(Input(asset=self.SOURCE, snapshot="77"),)))
        assert store.used(self.SOURCE, since=NOON) == ("77",)

    def test_runs_that_have_not_ended(self, store: StateStore) -> None:
        store.begin_run(a_run("r2", started_at=NOON + SECOND), [])
        store.begin_run(a_run("r1"), [])
        store.begin_run(a_run("r3"), [])
        store.finish_run("r3", "succeeded", at=NOON)
        assert [run.id for run in store.running()] == ["r1", "r2"]


def lineage_of(*names: str) -> ScriptLineage:
    """Of all that there is to be kept, some."""
    raw, files = LakeTable("main", "orders", "raw"), FileSet("file", "data/{partition}.csv")
    field = SourceColumn(raw, "customer", ("address", "city"))
    columns = (
        ColumnLineage(
            name,
            (Origin(field, "identity"), Origin(SourceColumn(files, name), "aggregation")),
            (Influence(field, "window"),),
            (Unknown("what it is"),),
        )
        for name in names
    )
    return ScriptLineage(
        columns=tuple(columns),
        rows=(Influence(SourceColumn(files, "a"), "filter"),),
        unknown=(Unknown("how many"),),
        tables=(raw, files),
    )


def trace(
    store: StateStore, lineage: ScriptLineage, fingerprint: str = "f", run: str = "r"
) -> None:
    store.begin_run(a_run(run), [a_step(run)])
    kept = TracedLineage(asset=ORDERS, fingerprint=fingerprint, lineage=lineage)
    store.finish_step(a_step(run, status="succeeded", finished_at=NOON), traced=kept)


class TestLineages:
    def test_what_was_seen_is_kept_for_the_fingerprint(self, store: StateStore) -> None:
        assert store.traced(ORDERS, "f") is None
        trace(store, lineage_of("a", "b"))
        assert store.traced(ORDERS, "f") == lineage_of("a", "b")
        assert store.traced(ORDERS, "g") is None
        assert store.traced("lake://main/other", "f") is None

    def test_the_latest_word_counts(self, store: StateStore) -> None:
        trace(store, lineage_of("a"))
        trace(store, lineage_of("b"), run="later")
        trace(store, lineage_of("c"), "g", run="changed")
        assert store.traced(ORDERS, "f") == lineage_of("b")
        assert store.traced(ORDERS, "g") == lineage_of("c")

    def test_names_are_data(self, store: StateStore) -> None:
        trace(store, lineage_of(*AWKWARD_KEYS))
        assert store.traced(ORDERS, "f") == lineage_of(*AWKWARD_KEYS)
        trace(store, lineage_of("\x00\ud800"), run="odd")
        kept = store.traced(ORDERS, "f")
        assert kept is not None and len(kept.columns) == 1

    def test_it_is_kept_with_the_entry_or_not_at_all(self, store: StateStore) -> None:
        kept = TracedLineage(asset=ORDERS, fingerprint="f", lineage=lineage_of("a"))
        with pytest.raises(StateError):
            store.finish_step(a_step("nobody"), traced=kept)
        assert store.traced(ORDERS, "f") is None
