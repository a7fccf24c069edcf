"""From a range of keys to a work list and the jobs that fill it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tranche.errors import KeyRejected, NotPartitioned, TrancheError, UnknownTarget, UsageError
from tranche.model.backfill import BackfillPlan, BackfillRequest
from tranche.model.partitioning import Daily, Hourly, TimePartitioning, Weekly
from tranche.model.project import Project
from tranche.model.run import Materialization, Outcome, Run, StepRecord
from tranche.planning.backfill import plan_backfill
from tranche.planning.universe import asked_keys, last_complete, with_lookback
from tranche.projects.config import parse_settings
from tranche.script.names import Lakes
from tranche.script.ranges.ranged import only_key_by_key
from tranche.script.sql import read_sql_script
from tranche.testing import MemoryStore

NOW = datetime(2026, 5, 16, 12, tzinfo=UTC)
DAILY = '-- pipeline\n-- partitioned daily start="2026-05-01"\n'
SCRIPTS = {
    "a": f"{DAILY}-- materialize lake://main/a\nSELECT x FROM src WHERE day = '{{partition}}'",
    "b": f"{DAILY}-- on lake://main/a\n-- materialize lake://main/b\nSELECT x FROM a",
    "whole": "-- pipeline\n-- on lake://main/a map=all\n-- materialize lake://main/w\nSELECT x FROM a",
    "dice": f"{DAILY}-- materialize lake://main/d\nSELECT rand() AS r",
    "plain": "-- pipeline\n-- materialize lake://main/p\nSELECT 1 AS x",
    "back": '-- pipeline\n-- partitioned daily start="2026-05-01" lookback=2\n'
    "-- materialize lake://main/back\nSELECT '{partition}' AS day",
    "regions": '-- pipeline\n-- partitioned static keys="us,eu"\n'
    "-- materialize lake://main/r\nSELECT '{partition}' AS region",
    "tenants": '-- pipeline\n-- partitioned dynamic key="$.t"\n'
    "-- materialize lake://main/t\nSELECT '{partition}' AS tenant",
    "endless": "-- pipeline\n-- partitioned daily\n-- materialize lake://main/e\nSELECT 1 AS x",
    "hours": '-- pipeline\n-- partitioned hourly start="1800-01-01"\n'
    "-- materialize lake://main/h\nSELECT 1 AS x",
}


def project() -> Project:
    lakes = Lakes(frozenset({"main"}), "main")
    reads = [read_sql_script(n, f"pipelines/{n}.sql", t, lakes) for n, t in SCRIPTS.items()]
    assert all(read.script for read in reads), [read.faults for read in reads]
    scripts = tuple(read.script for read in reads if read.script)
    return Project(settings=parse_settings("", Path("/project"), None, {}), scripts=scripts)


def planned(target: str, store: MemoryStore | None = None, **request: Any) -> BackfillPlan:
    agreed = request.pop("agreed", False)
    asked = BackfillRequest(**{"target": target, "at": NOW, **request})
    return plan_backfill(project(), asked, store or MemoryStore(), only_key_by_key, agreed=agreed)


def ledger(**days: Outcome) -> MemoryStore:
    """A store where days of `a` have ended so."""
    store = MemoryStore()
    store.begin_run(
        Run(id="r", target="a", status="running", fire_time=NOW, started_at=NOW),
        [
            StepRecord(
                run="r",
                position=0,
                script="a",
                asset="lake://main/a",
                partition=None,
                ordinal=None,
                strategy="replace",
                status="waiting",
            )
        ],
    )
    entries = []
    for number, (name, status) in enumerate(days.items()):
        key = f"2026-05-{name.removeprefix('d')}"
        entries.append(
            Materialization(
                id=f"m{number}",
                asset="lake://main/a",
                partition=key,
                ordinal=Daily().ordinal(key),
                status=status,
                run="r",
                attempt=f"t{number}",
                fingerprint="",
                started_at=NOW,
                finished_at=NOW,
            )
        )
    record = store.steps("r")[0]
    store.finish_step(record, entries)
    return store


class TestWorkList:
    def test_what_is_missing_or_has_failed(self) -> None:
        store = ledger(d01="succeeded", d02="failed", d04="cancelled")
        found = planned("a", store, end="2026-05-05", only=True)
        assert found.keys == ("2026-05-02", "2026-05-03", "2026-05-04", "2026-05-05")
        assert found.standing == {"succeeded": 1, "failed": 2, "missing": 2}

    def test_everything(self) -> None:
        store = ledger(d01="succeeded")
        found = planned("a", store, end="2026-05-02", every=True, only=True)
        assert found.keys == ("2026-05-01", "2026-05-02")

    def test_given_keys_whatever_their_status(self) -> None:
        store = ledger(d01="succeeded")
        found = planned("a", store, keys=("2026-05-03", "2026-05-01", "2026-05-03"), only=True)
        assert found.keys == ("2026-05-03", "2026-05-01")

    def test_the_latest_first(self) -> None:
        found = planned("a", end="2026-05-03", reverse=True, only=True)
        assert found.keys == ("2026-05-03", "2026-05-02", "2026-05-01")

    def test_up_to_the_last_complete_period(self) -> None:
        assert planned("a", only=True).keys[-1] == "2026-05-15"

    def test_nothing_to_do(self) -> None:
        found = planned("a", ledger(d01="succeeded"), end="2026-05-01", only=True)
        assert (found.keys, found.plan.steps, found.jobs) == ((), (), ())

    def test_static_keys_are_all_of_them(self) -> None:
        assert planned("regions").keys == ("us", "eu")

    def test_dynamic_keys_are_named(self) -> None:
        assert planned("tenants", keys=("acme", "o'neill")).keys == ("acme", "o'neill")

    def test_a_bound_outside_is_cut_with_a_warning(self) -> None:
        found = planned("a", start="2026-04-01", end="2026-05-02", only=True)
        assert found.keys == ("2026-05-01", "2026-05-02")
        assert "start '2026-04-01' lies before" in found.warnings[0]


class TestLookback:
    def test_each_key_covers_those_before_it(self) -> None:
        found = planned("back", keys=("2026-05-09",))
        assert found.keys == ("2026-05-07", "2026-05-08", "2026-05-09")

    def test_never_before_the_start(self) -> None:
        assert planned("back", keys=("2026-05-02",)).keys == ("2026-05-01", "2026-05-02")

    def test_not_if_it_is_to_be_exact(self) -> None:
        assert planned("back", keys=("2026-05-09",), exact=True).keys == ("2026-05-09",)

    def test_keys_are_covered_once(self) -> None:
        rule = Daily(lookback=1)
        assert with_lookback(rule, ["2026-05-02", "2026-05-03", "2026-05-07"]) == [
            "2026-05-01",
            "2026-05-02",
            "2026-05-03",
            "2026-05-06",
            "2026-05-07",
        ]


class TestJobs:
    def test_one_for_each_asset(self) -> None:
        found = planned("a", end="2026-05-03")
        assert [(job.asset, len(job.keys), job.mode) for job in found.jobs] == [
            ("lake://main/a", 3, "range"),
            ("lake://main/b", 3, "range"),
            ("lake://main/w", 1, "range"),
        ]
        assert [step.needs for step in found.plan.steps] == [(), (0,), (0,)]

    def test_only_the_one(self) -> None:
        assert [job.asset for job in planned("a", end="2026-05-03", only=True).jobs] == [
            "lake://main/a"
        ]

    def test_no_more_keys_than_allowed(self) -> None:
        found = planned("a", end="2026-05-05", most_keys=2, only=True)
        assert [step.keys for step in found.plan.steps] == [
            ("2026-05-01", "2026-05-02"),
            ("2026-05-03", "2026-05-04"),
            ("2026-05-05",),
        ]

    def test_key_by_key_with_the_reason(self) -> None:
        (job,) = planned("dice", end="2026-05-03").jobs
        assert (job.mode, len(job.keys)) == ("per-key", 3)
        assert job.reason == "it has rand(), which gives other values each time"
        assert len(planned("dice", end="2026-05-03").plan.steps) == 3

    def test_key_by_key_because_it_was_asked_for(self) -> None:
        (job,) = planned("a", end="2026-05-03", one_by_one=True, only=True).jobs
        assert (job.mode, job.reason) == ("per-key", "it was asked for")

    def test_each_key_knows_what_it_reads(self) -> None:
        step = planned("a", end="2026-05-02").plan.steps[1]
        assert [[i.partition for i in key.inputs] for key in step.slice] == [
            ["2026-05-01"],
            ["2026-05-02"],
        ]


@pytest.mark.parametrize(
    ("target", "request_", "kind", "words"),
    [
        ("a", {"start": "2026-05-05", "end": "2026-05-02"}, UsageError, "ends before it starts"),
        ("a", {"start": "2026-05-05", "end": "2026-04-02"}, UsageError, "ends before it starts"),
        ("a", {"start": "May"}, UsageError, "'May'"),
        ("a", {"keys": ("2026-5-1",)}, KeyRejected, "is no daily key"),
        ("a", {"keys": ("2026-05-01",), "end": "2026-05-02"}, UsageError, "keys and a range"),
        ("tenants", {}, UsageError, "name them with --keys"),
        ("regions", {"start": "us"}, UsageError, "static keys have no order"),
        ("endless", {}, UsageError, 'add start="…" to the partitioned line'),
        ("plain", {}, NotPartitioned, "has no partitions"),
        ("nothing", {}, UnknownTarget, "nothing"),
        (".", {}, UsageError, "names several steps"),
        ("hours", {}, UsageError, "add --yes if that is meant"),
    ],
)
def test_bad_input(
    target: str, request_: dict[str, Any], kind: type[TrancheError], words: str
) -> None:
    with pytest.raises(kind) as raised:
        planned(target, **request_)
    assert words in str(raised.value)


def test_more_than_a_million_if_that_is_meant() -> None:
    asked = BackfillRequest(target="hours", at=NOW)
    keys, _ = asked_keys(Hourly(start="1900-01-01"), asked, agreed=True)
    assert len(keys) > 1_000_000


@pytest.mark.parametrize(
    ("rule", "last"),
    [
        (Daily(), "2026-05-15"),
        (Daily(lag=1), "2026-05-14"),
        (Daily(tz="Pacific/Auckland"), "2026-05-16"),
        (Weekly(), "2026-W19"),
        (Hourly(lag=2), "2026-05-16T09"),
    ],
)
def test_the_last_complete_period(rule: TimePartitioning, last: str) -> None:
    assert last_complete(rule, NOW) == last


@pytest.mark.parametrize(
    ("format_", "day", "number"),
    [
        ("%Y-%m-%dT%H", "2026-03-08", 23),
        ("%Y-%m-%dT%H", "2026-11-01", 24),
        ("%Y-%m-%dT%H%z", "2026-11-01", 25),
    ],
)
def test_hours_of_the_days_on_which_clocks_change(format_: str, day: str, number: int) -> None:
    rule = Hourly(tz="America/New_York", format=format_, start="2026-01-01")
    asked = BackfillRequest(target="h", at=NOW, start=day, end=day)
    keys, _ = asked_keys(rule, asked)
    assert len(keys) == number


class TestDownstream:
    def test_what_it_lacks_of_the_range_is_filled_too(self) -> None:
        store = ledger(d01="succeeded", d02="succeeded")
        found = planned("a", store, end="2026-05-03")
        assert [(step.script.name, step.keys) for step in found.plan.steps] == [
            ("a", ("2026-05-03",)),
            ("b", ("2026-05-01", "2026-05-02", "2026-05-03")),
            ("whole", (None,)),
        ]

    def test_also_if_there_is_nothing_else_to_do(self) -> None:
        store = ledger(d01="succeeded")
        found = planned("a", store, end="2026-05-01")
        assert [(step.script.name, step.keys) for step in found.plan.steps] == [
            ("b", ("2026-05-01",))
        ]


def test_what_is_left_is_what_did_not_succeed_since() -> None:
    store = ledger(d01="succeeded", d02="failed")
    days = ("2026-05-01", "2026-05-02", "2026-05-03")
    asked = {"keys": days, "resumes": True, "only": True}
    assert planned("a", store, **asked).keys == days[1:]
    later = datetime(2026, 5, 17, tzinfo=UTC)
    assert planned("a", store, **asked, since=later).keys == days
    assert planned("a", store, **asked, since=NOW).keys == days[1:]
