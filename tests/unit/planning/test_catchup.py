"""What should be there by now and is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tranche.errors import KeysTaken, NotPartitioned, UsageError
from tranche.model.backfill import Backfill, BackfillPlan, BackfillRequest, CatchupPlan
from tranche.model.partitioning import Daily
from tranche.model.project import Project
from tranche.model.run import Attempt, Input, Materialization, Outcome, Run, StepRecord
from tranche.planning.backfill import plan_backfill
from tranche.planning.catchup import plan_catchup
from tranche.projects.config import parse_settings
from tranche.script.names import Lakes
from tranche.script.ranges.ranged import only_key_by_key
from tranche.script.schedules import moved
from tranche.script.sql import read_sql_script
from tranche.testing import MemoryStore

NOW = datetime(2026, 11, 10, 9, tzinfo=UTC)
WORKDAYS = """\
-- pipeline
-- on schedule "0 6 * * 1-5" tz="Europe/Berlin"
-- partitioned daily start="2026-10-12" tz="Europe/Berlin" lag=1 gaps=collect
"""
SCRIPTS = {
    "a": f"{WORKDAYS}-- materialize lake://main/a\nSELECT x FROM src WHERE day = '{{partition}}'",
    "b": '-- pipeline\n-- partitioned daily start="2026-11-06"\n-- on lake://main/a\n'
    "-- materialize lake://main/b\nSELECT x FROM a WHERE day = '{partition}'",
    "whole": "-- pipeline\n-- on lake://main/a map=all\n-- materialize lake://main/w\nSELECT x FROM a",
    "regions": '-- pipeline\n-- partitioned static keys="us,eu"\n'
    "-- materialize lake://main/r\nSELECT '{partition}' AS region",
    "tenants": '-- pipeline\n-- partitioned dynamic key="$.t"\n'
    "-- materialize lake://main/t\nSELECT '{partition}' AS tenant",
    "endless": "-- pipeline\n-- partitioned daily\n-- materialize lake://main/e\nSELECT 1 AS x",
    "back": '-- pipeline\n-- partitioned daily start="2026-11-01" lookback=1\n'
    "-- materialize lake://main/back\nSELECT '{partition}' AS day",
}
DIMENSIONS = {
    "sales": '-- pipeline\n-- partitioned region: static keys="us,eu" | day: daily'
    " start=\"2026-11-08\"\n-- materialize lake://main/sales\nSELECT '{partition.day}' AS day",
    "clients": '-- pipeline\n-- partitioned day: daily | client: dynamic key="$.c"\n'
    "-- materialize lake://main/clients\nSELECT '{partition.client}' AS client",
}
LAKES = Lakes(frozenset({"main"}), "main")


def project(*names: str) -> Project:
    texts = SCRIPTS | DIMENSIONS
    reads = [read_sql_script(n, f"pipelines/{n}.sql", texts[n], LAKES) for n in names or SCRIPTS]
    assert all(read.script for read in reads), [read.faults for read in reads]
    scripts = tuple(read.script for read in reads if read.script)
    return Project(settings=parse_settings("", Path("/project"), None, {}), scripts=scripts)


def caught(
    target: str = "", store: MemoryStore | None = None, *names: str, **request: Any
) -> CatchupPlan:
    asked = BackfillRequest(**{"target": target, "at": NOW, **request})
    return plan_catchup(project(*names), asked, store or MemoryStore(), only_key_by_key, moved)


def planned(target: str, store: MemoryStore, **request: Any) -> BackfillPlan:
    asked = BackfillRequest(**{"target": target, "at": NOW, **request})
    return plan_backfill(project(), asked, store, only_key_by_key)


class Ledger(MemoryStore):
    """A store in which keys have ended."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def ended(self, script: str, key: str, status: Outcome = "succeeded", **more: Any) -> str:
        self.number += 1
        run, id = f"r{self.number}", f"m{self.number}"
        asset = f"lake://main/{script}"
        self.began(run, asset)
        found = project(script).script(script)
        assert found is not None
        entry = Materialization(
            **{
                "id": id,
                "asset": asset,
                "partition": key,
                "ordinal": None
                if "ordinal" in more or not key[:1].isdigit()
                else Daily().ordinal(key),
                "status": status,
                "run": run,
                "attempt": f"t{self.number}",
                "fingerprint": found.fingerprint,
                "started_at": NOW,
                "finished_at": NOW + timedelta(seconds=self.number),
                **more,
            }
        )
        self.finish_step(self.steps(run)[0], [entry])
        self.finish_run(run, "succeeded", at=NOW)
        return id

    def began(self, run: str, asset: str) -> None:
        step = StepRecord(
            run=run,
            position=0,
            script="a",
            asset=asset,
            partition=None,
            ordinal=None,
            strategy="replace",
            status="waiting",
        )
        given = Run(id=run, target="a", status="running", fire_time=NOW, started_at=NOW)
        self.begin_run(given, [step])

    def claimed(self, run: str, asset: str, *keys: str) -> None:
        self.began(run, asset)
        attempt = Attempt(
            id=f"t-{run}", run=run, position=0, number=1, status="running", started_at=NOW
        )
        assert self.begin_attempt(attempt, asset=asset, keys=keys) == ()

    def backfilling(self, id: str, script: str, *keys: str, run: str | None = None) -> None:
        if run is not None:
            self.began(run, f"lake://main/{script}")
        self.begin_backfill(
            Backfill(
                id=id,
                target=script,
                asset=f"lake://main/{script}",
                status="running",
                created_at=NOW,
                keys=keys,
                run=run,
            )
        )


class TestCatchingUp:
    def test_each_day_is_due_once_over_four_weeks_and_none_is_left_out(self) -> None:
        (found,) = caught("a", None, "a").caught
        days = [str(datetime(2026, 10, 12).date() + timedelta(n)) for n in range(28)]
        # The last complete day is the 9th, of which a lag of one is the 8th.
        assert list(found.keys) == days
        assert [key for _, keys in found.fires for key in keys] == days
        mondays = [keys for at, keys in found.fires if datetime.fromisoformat(at).weekday() == 0]
        assert [len(keys) for keys in mondays] == [3, 3, 3, 3]
        assert mondays[0] == ("2026-10-16", "2026-10-17", "2026-10-18")

    def test_what_has_succeeded_is_there_and_what_has_failed_is_not(self) -> None:
        store = Ledger()
        store.ended("back", "2026-11-03")
        store.ended("back", "2026-11-04", "failed")
        store.ended("back", "2026-11-05", "cancelled")
        (found,) = caught("back", store, "back", exact=True).caught
        assert "2026-11-03" not in found.keys
        assert {"2026-11-04", "2026-11-05"} <= set(found.keys)
        assert found.standing == {"missing": 6, "succeeded": 1, "failed": 2}

    def test_a_run_looks_back(self) -> None:
        store = Ledger()
        for day in range(1, 9):
            store.ended("back", f"2026-11-0{day}")
        (found,) = caught("back", store, "back").caught
        assert found.keys == ("2026-11-08", "2026-11-09")

    def test_what_somebody_is_at_is_left_to_them(self) -> None:
        store = Ledger()
        store.claimed("r-now", "lake://main/back", "2026-11-02")
        store.backfilling("b1", "back", "2026-11-04", "2026-11-05", run="r-b1")
        store.backfilling("b2", "back", "2026-11-07")
        (found,) = caught("back", store, "back").caught
        # Nobody works on the second backfill.
        assert found.keys == ("2026-11-01", "2026-11-03", "2026-11-06", *LAST)
        assert found.active == 3

    def test_all_assets_upstream_first(self) -> None:
        found = caught()
        assets = [job.asset.rpartition("/")[2] for job in found.jobs]
        assert sorted(assets) == ["a", "b", "back", "r", "w"]
        assert assets.index("a") < min(assets.index("b"), assets.index("w"))
        assert found.warnings[-1].startswith("lake://main/e is passed over: nobody knows its first")
        (downstream,) = [each for each in found.caught if each.asset == "lake://main/b"]
        # Nothing makes the 9th of what it reads, which lags behind.
        assert downstream.keys == ("2026-11-06", "2026-11-07", "2026-11-08")
        assert (downstream.waiting, downstream.standing) == (1, {"missing": 4})

    def test_of_one_asset_with_what_is_downstream(self) -> None:
        assert [job.asset for job in caught("a").jobs] == [
            f"lake://main/{name}" for name in ("a", "b", "w")
        ]
        assert [job.asset for job in caught("a", only=True).jobs] == ["lake://main/a"]

    def test_nothing_is_missing(self) -> None:
        store = Ledger()
        for region in ("us", "eu"):
            store.ended("regions", region, asset="lake://main/r")
        found = caught("regions", store)
        assert (found.jobs, found.plan.steps) == ((), ())

    @pytest.mark.parametrize(
        ("target", "error", "text"),
        [
            ("endless", UsageError, "has no first key"),
            ("tenants", UsageError, "nobody knows them beforehand"),
            ("whole", NotPartitioned, "has no partitions"),
        ],
    )
    def test_what_cannot_be_caught_up_with(
        self, target: str, error: type[Exception], text: str
    ) -> None:
        with pytest.raises(error, match=text):
            caught(target)


LAST = ("2026-11-07", "2026-11-08", "2026-11-09")


class TestOverlap:
    def store(self) -> Ledger:
        store = Ledger()
        store.backfilling("b1", "back", "2026-11-02", "2026-11-03", run="r-b1")
        return store

    def test_a_backfill_that_is_running_is_named(self) -> None:
        with pytest.raises(KeysTaken, match="the backfill b1 of lake://main/back is running, on 2"):
            planned("back", self.store())

    def test_its_keys_can_be_left_out(self) -> None:
        found = planned("back", self.store(), overlap="exclude", end="2026-11-04")
        assert found.keys == ("2026-11-01", "2026-11-04")
        assert "2 keys are left to other backfills" in found.warnings

    def test_others_do_not_matter(self) -> None:
        store = self.store()
        assert planned("back", store, start="2026-11-06").keys[0] == "2026-11-05"
        store.finish_run("r-b1", "failed", at=NOW)
        assert planned("back", store, end="2026-11-02").keys == ("2026-11-01", "2026-11-02")

    def test_one_that_is_gone_on_with_is_not_in_its_own_way(self) -> None:
        found = planned("back", self.store(), keys=("2026-11-02",), resumed="b1", exact=True)
        assert found.keys == ("2026-11-02",)


class TestStale:
    def made(self, *, digest: str = "d1") -> Ledger:
        """`a` and `b` have two days each; `b` is made of `a`."""
        store = Ledger()
        for day in ("2026-11-06", "2026-11-07"):
            upstream = store.ended("a", day, digest=digest)
            given = Input(asset="lake://main/a", partition=day, materialization=upstream)
            store.ended("b", day, inputs=(given,))
        return store

    def asked(self, store: Ledger) -> BackfillPlan:
        return planned("b", store, stale=True, end="2026-11-07")

    def test_what_was_made_of_what_is_there_is_not(self) -> None:
        assert self.asked(self.made()).keys == ()

    def test_an_upstream_key_with_other_rows(self) -> None:
        store = self.made()
        store.ended("a", "2026-11-07", digest="d2")
        found = self.asked(store)
        assert found.keys == ("2026-11-07",)
        assert found.standing == {"succeeded": 1, "stale": 1}
        assert found.stale == {
            "lake://main/b": {"2026-11-07": "lake://main/a 2026-11-07 has other rows"}
        }

    def test_the_same_rows_once_more_do_not_matter(self) -> None:
        store = self.made()
        store.ended("a", "2026-11-07", digest="d1")
        assert self.asked(store).keys == ()

    def test_nor_does_another_day(self) -> None:
        store = self.made()
        store.ended("a", "2026-11-08", digest="d9")
        assert self.asked(store).keys == ()

    def test_a_script_that_has_changed(self) -> None:
        store = self.made()
        store.ended("b", "2026-11-06", fingerprint="of then")
        found = self.asked(store)
        assert found.keys == ("2026-11-06",)
        assert found.stale["lake://main/b"] == {"2026-11-06": "the script has changed"}

    def test_nobody_asked(self) -> None:
        store = self.made()
        store.ended("b", "2026-11-06", fingerprint="of then")
        assert planned("b", store, end="2026-11-07").keys == ()
