"""The story of a key: what is known of it, and what that comes to."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tranche.model.backfill import Backfill
from tranche.model.data_test import DataTestResult
from tranche.model.pending import Decisions, Pending, Rejected
from tranche.model.run import Attempt, Claim, Input, Materialization, Run, StepRecord
from tranche.model.story import KeyFacts, KeyVerdict, Need, Story
from tranche.planning.graph import build_graph
from tranche.planning.story import story
from tranche.script.schedules import moved
from tranche.testing import MemoryStore

from .conftest import NOON, project_of

DAY = "2026-05-16"
HOUR = timedelta(hours=1)
A = "lake://main/a"


class Scene(MemoryStore):
    """A project, what has happened in it, and the story of a key of it."""

    def __init__(self, **texts: str) -> None:
        super().__init__()
        self.project = project_of(texts)
        self.scripts = {script.name: script for script in self.project.scripts}
        self.number = 0

    def told(
        self,
        name: str = "a",
        key: str | None = DAY,
        now: datetime = NOON,
        hindrance: str | None = None,
    ) -> Story:
        graph = build_graph(self.project.scripts)
        return story(self.scripts[name], key, graph, self, now, moved, hindrance=hindrance)

    def verdict(self, *args: Any, **options: Any) -> KeyVerdict:
        return self.told(*args, **options).verdict

    def facts(self, *args: Any, **options: Any) -> KeyFacts:
        return self.told(*args, **options).facts

    def need(self, *args: Any, **options: Any) -> Need:
        (need,) = self.facts(*args, **options).needs
        return need

    def begun(self, name: str, key: str | None) -> StepRecord:
        self.number += 1
        at = NOON + self.number * HOUR
        step = StepRecord(
            run=f"r{self.number}",
            position=0,
            script=name,
            asset=str(self.scripts[name].asset),
            partition=key,
            ordinal=None,
            strategy="replace",
            status="waiting",
        )
        run = Run(id=step.run, target=name, status="running", fire_time=at, started_at=at)
        self.begin_run(run, [step])
        return step

    def built(self, name: str, key: str | None, **changes: Any) -> Scene:
        """A run has ended at a key."""
        step = self.begun(name, key)
        script = self.scripts[name]
        at = NOON + self.number * HOUR
        entry = Materialization(
            id=f"m{self.number}",
            asset=str(script.asset),
            partition=key,
            ordinal=None,
            status="succeeded",
            run=step.run,
            attempt=f"t{self.number}",
            fingerprint=script.fingerprint,
            started_at=at,
            finished_at=at,
            rows=3,
            digest="d",
        )
        entry = replace(entry, **changes)
        self.finish_step(replace(step, status=entry.status), [entry])
        self.finish_run(step.run, "succeeded", at=at)
        return self

    def attempted(self, name: str, key: str | None) -> Scene:
        """A run is at a key."""
        step = self.begun(name, key)
        at = NOON + self.number * HOUR
        attempt = Attempt(
            id="t", run=step.run, position=0, number=1, status="running", started_at=at
        )
        self.begin_attempt(attempt, asset=step.asset, keys=[key])
        return self

    def asked(self, name: str, key: str | None, **changes: Any) -> Scene:
        label = self.scripts[name].label
        row = Pending(consumer=label, partition=key, since=NOON, fire_time=NOON)
        with self.turn() as turn:
            turn.apply(Decisions(pending=(replace(row, **changes),)), NOON)
        return self


PLAIN = "partitioned daily; materialize lake://main/a"
HOURS = {
    "h": "partitioned hourly; materialize lake://main/h",
    "a": "on lake://main/h; partitioned daily; materialize lake://main/a :: SELECT * FROM h",
}
SAME = {
    "u": "partitioned daily; materialize lake://main/u",
    "a": "on lake://main/u; partitioned daily; materialize lake://main/a :: SELECT * FROM u",
}


# The verdicts, what happens now first


def test_it_runs_now() -> None:
    scene = Scene(a=PLAIN).built("a", DAY).attempted("a", DAY)
    assert scene.verdict() == KeyVerdict(
        "running", "it runs now since 2026-05-16T14:00:00+00:00 in run r2"
    )
    assert scene.verdict(key="2026-05-15").status == "unasked"


def test_a_claim_on_all_keys_is_one_on_each() -> None:
    assert Scene(a=PLAIN).attempted("a", None).verdict().status == "running"


def test_a_run_has_it_that_has_not_begun_with_it() -> None:
    scene = Scene(a=PLAIN).asked("a", DAY, status="claimed", server="s", run="r7")
    assert scene.verdict() == KeyVerdict("running", "it runs now in run r7")


def test_a_run_whose_process_has_ended() -> None:
    scene = Scene(a=PLAIN).attempted("a", DAY)
    scene.close()
    verdict = scene.verdict()
    assert verdict.status == "abandoned"
    assert verdict.sentence.startswith("run r1 was at it when its process ended")


def test_a_script_that_cannot_run() -> None:
    verdict = Scene(a=PLAIN).built("a", DAY).verdict(hindrance="no such thing yet")
    assert verdict == KeyVerdict("cannot_run", "it cannot run: no such thing yet")


def test_a_pause_keeps_what_would_run() -> None:
    scene = Scene(a=PLAIN)
    scene.pause(A, at=NOON)
    assert scene.verdict() == KeyVerdict(
        "paused", "it is paused since 2026-05-16T12:00:00+00:00", "tranche resume a"
    )
    scene.asked("a", DAY, lacking=("an event of x",))
    assert scene.verdict().sentence.endswith(", and waits for an event of x")
    # What is fine is not kept from anything.
    scene.built("a", "2026-05-15")
    assert scene.verdict(key="2026-05-15").status == "built"
    assert scene.facts(key="2026-05-15").paused_since == NOON


def test_it_waits_for_what_is_missing() -> None:
    scene = Scene(**HOURS)
    for hour in (*range(7), *range(8, 23)):
        scene.built("h", f"{DAY}T{hour:02}")
    lacking = (f"lake://main/h {DAY}T07", f"lake://main/h {DAY}T23")
    scene.asked("a", DAY, asked_by=("lake://main/h",), lacking=lacking)
    assert scene.verdict() == KeyVerdict("waiting", f"it waits for {', '.join(lacking)}")
    # Something has come since the last turn, which nobody has seen yet.
    scene.built("h", f"{DAY}T23")
    assert scene.verdict().sentence == f"it waits for lake://main/h {DAY}T07"
    scene.built("h", f"{DAY}T07")
    verdict = scene.verdict()
    assert verdict.status == "waiting"
    assert verdict.sentence.startswith("what it waited for is there")


def test_many_that_are_missing_are_counted() -> None:
    lacking = tuple(f"lake://main/h {DAY}T{hour:02}" for hour in range(24))
    sentence = Scene(**HOURS).asked("a", DAY, lacking=lacking).verdict().sentence
    assert sentence.endswith("T04 and 19 more")


def test_it_is_ready() -> None:
    verdict = Scene(a=PLAIN).asked("a", DAY, status="ready").verdict()
    assert (verdict.status, verdict.remedy) == ("ready", "tranche serve")


def test_a_backfill_will_come_to_it() -> None:
    scene = Scene(a=PLAIN)
    backfill = Backfill(
        id="b1", target="a", asset=A, status="waiting", created_at=NOON, keys=(DAY,)
    )
    scene.begin_backfill(backfill)
    assert scene.verdict() == KeyVerdict("waiting", "it is on the work list of backfill b1")
    assert scene.facts(key="2026-05-15").backfill is None
    # It has come to it by now.
    assert scene.built("a", DAY).facts().backfill is None


def test_it_failed() -> None:
    scene = Scene(a=PLAIN).built("a", DAY, status="failed", error="boom\n  at x", rows=None)
    assert scene.verdict() == KeyVerdict(
        "failed",
        "it failed at 2026-05-16T13:00:00+00:00: boom",
        "tranche run a --partition 2026-05-16",
    )


def test_it_failed_and_readers_keep_what_they_had() -> None:
    scene = Scene(a=PLAIN).built("a", DAY)
    scene.built("a", DAY, status="failed", tests=(DataTestResult(test="t", violations=2),))
    verdict = scene.verdict()
    assert verdict.sentence == (
        "it failed at 2026-05-16T14:00:00+00:00: t has 2 violations;"
        " readers see what was built at 2026-05-16T13:00:00+00:00"
    )
    assert verdict.remedy == "tranche show a --partition 2026-05-16 --violations"


def test_it_was_cancelled() -> None:
    verdict = Scene(a=PLAIN).built("a", DAY, status="cancelled").verdict()
    assert verdict.status == "cancelled"
    assert verdict.sentence == "it was cancelled at 2026-05-16T13:00:00+00:00"


def test_it_is_stale_because_the_script_has_changed() -> None:
    scene = Scene(a=PLAIN).built("a", DAY, fingerprint="another")
    assert scene.verdict() == KeyVerdict(
        "stale",
        "it was built at 2026-05-16T13:00:00+00:00 and is stale: the script has changed",
        "tranche run a --partition 2026-05-16",
    )


def test_it_is_stale_because_an_input_has_other_rows() -> None:
    scene = Scene(**SAME).built("u", DAY)
    made_of = Input(asset="lake://main/u", partition=DAY, materialization="m1")
    scene.built("a", DAY, inputs=(made_of,))
    assert scene.verdict() == KeyVerdict(
        "built", "it was built at 2026-05-16T14:00:00+00:00, and nothing has changed since"
    )
    scene.built("u", DAY, digest="e")
    assert scene.facts().stale == f"lake://main/u {DAY} has other rows"
    assert scene.verdict().status == "stale"


def test_what_is_made_of_sources_may_have_changed() -> None:
    scene = Scene(a=f"{PLAIN} :: SELECT * FROM x").built("a", DAY)
    assert scene.verdict().sentence.endswith("changed since that Tranche would know of")


def test_a_whole_table() -> None:
    scene = Scene(a="materialize lake://main/a")
    assert scene.verdict(key=None) == KeyVerdict(
        "unasked", "nothing asks for it by itself", "tranche run a"
    )
    assert scene.built("a", None).verdict(key=None).status == "built"
    scene.built("a", None, fingerprint="another")
    assert scene.verdict(key=None).status == "stale"


def test_it_is_not_due() -> None:
    scene = Scene(a=PLAIN)
    assert scene.verdict(key="2026-05-17") == KeyVerdict(
        "not_due", "it is not due before 2026-05-17T00:00:00+00:00, when it begins"
    )
    bounded = Scene(a='partitioned daily start="2026-05-01"; materialize lake://main/a')
    verdict = bounded.verdict(key="2026-04-30")
    assert verdict.sentence == "nothing asks for it by itself: it starts at 2026-05-01"


def test_nothing_has_asked_for_it() -> None:
    scene = Scene(**HOURS)
    verdict = scene.verdict()
    assert verdict.sentence == (
        "nothing has asked for it, and it waits for lake://main/h 2026-05-16T00,"
        " lake://main/h 2026-05-16T01, lake://main/h 2026-05-16T02, lake://main/h 2026-05-16T03,"
        " lake://main/h 2026-05-16T04 and 19 more"
    )
    assert verdict.remedy == "tranche run +a --partition 2026-05-16"
    for hour in range(24):
        scene.built("h", f"{DAY}T{hour:02}")
    assert scene.verdict() == KeyVerdict(
        "unasked",
        "nothing has asked for it, though what it needs is there",
        "tranche run a --partition 2026-05-16",
    )


def test_no_event_has_asked_for_it() -> None:
    verdict = Scene(a=f"on lake://main/x; {PLAIN}").verdict()
    assert verdict.sentence == "nothing has asked for it: no event of lake://main/x has"


def test_whatever_it_lacks_a_fire_or_an_event_would_ask_for_it() -> None:
    texts = HOURS | {"a": f'on schedule "0 6 * * *"; on lake://main/x; {HOURS["a"]}'}
    assert Scene(**texts).verdict().sentence == (
        "nothing has asked for it: no event of lake://main/x has; its fire was at"
        " 2026-05-16T06:00:00+00:00, and nothing came of it; its next fire is at"
        " 2026-05-17T06:00:00+00:00"
    )


def test_an_event_may_come_before_the_fire() -> None:
    verdict = Scene(a=f"on lake://main/x map=start_of_day; {CRON}").verdict()
    assert verdict.sentence == (
        "nothing has asked for it: no event of lake://main/x has;"
        " its fire is at 2026-05-17T06:00:00+02:00"
    )


def test_keys_stand_in_commands_as_a_shell_takes_them() -> None:
    scene = Scene(a='partitioned dynamic key="$.id"; materialize lake://main/a')
    verdict = scene.verdict(key="it's $HOME")
    assert verdict.remedy == """tranche run a --partition 'it'"'"'s $HOME'"""


# Schedules

CRON = (
    'on schedule "0 6 * * *" tz="Europe/Paris"; partitioned daily lag=1; materialize lake://main/a'
)


def test_the_fire_of_a_key() -> None:
    scene = Scene(a=CRON)
    (schedule,) = scene.facts().schedules
    assert (schedule.cron, schedule.tz, schedule.past, schedule.every) == (
        "0 6 * * *",
        "Europe/Paris",
        False,
        False,
    )
    assert str(schedule.fire) == "2026-05-17 06:00:00+02:00"
    assert scene.verdict() == KeyVerdict(
        "not_due",
        "it is not due before 2026-05-17T06:00:00+02:00, when its schedule fires for it",
    )
    (past,) = scene.facts(key="2026-05-14").schedules
    assert (str(past.fire), past.past) == ("2026-05-15 06:00:00+02:00", True)
    assert str(past.next) == "2026-05-17 06:00:00+02:00"
    assert scene.verdict(key="2026-05-14").sentence == (
        "nothing has asked for it: its fire was at 2026-05-15T06:00:00+02:00, and nothing came of"
        " it; its next fire is at 2026-05-17T06:00:00+02:00"
    )


def test_each_period_begins_with_a_fire() -> None:
    (schedule,) = Scene(a=f"on schedule; {PLAIN}").facts().schedules
    assert (schedule.cron, schedule.tz) == (None, "UTC")
    assert schedule.fire == datetime(2026, 5, 16, tzinfo=UTC)
    assert schedule.next == datetime(2026, 5, 17, tzinfo=UTC)


def test_a_key_that_no_fire_is_for() -> None:
    weekdays = f'on schedule "0 6 * * 1-5"; {PLAIN}'
    assert Scene(a=weekdays).verdict(key=DAY).sentence == (
        "nothing has asked for it: no fire of its schedule is for it;"
        " its next fire is at 2026-05-18T06:00:00+00:00"
    )


@pytest.mark.parametrize(
    ("header", "key"),
    [("", None), ('partitioned static keys="us,eu"; ', "us")],
)
def test_every_fire_is_for_what_has_no_time(header: str, key: str | None) -> None:
    scene = Scene(a=f'on schedule "0 6 * * *"; {header}materialize lake://main/a')
    (schedule,) = scene.facts(key=key).schedules
    assert (schedule.fire, schedule.every) == (None, True)
    assert scene.verdict(key=key).sentence == (
        "nothing has asked for it: its next fire is at 2026-05-17T06:00:00+00:00"
    )


def test_the_fires_of_one_dimension() -> None:
    text = (
        'on schedule "0 6 * * *"; partitioned day: daily lag=1 | region: static keys="us,eu";'
        " materialize lake://main/a"
    )
    (schedule,) = Scene(a=text).facts(key=f"{DAY}|us").schedules
    assert schedule.fire == datetime(2026, 5, 17, 6, tzinfo=UTC)


@pytest.mark.parametrize("key", ["9999-12-30", "0001-01-02", "2999-01-01"])
def test_the_ends_of_the_calendar(key: str) -> None:
    assert Scene(a=CRON).told(key=key)


def test_a_cron_of_each_minute_and_a_lag_of_years() -> None:
    text = 'on schedule "* * * * *"; partitioned yearly lag=3; materialize lake://main/a'
    (schedule,) = Scene(a=text).facts(key="2020").schedules
    assert schedule.fire == datetime(2023, 1, 1, tzinfo=UTC)


# What it needs


def test_keys_that_are_there_and_keys_that_are_not() -> None:
    scene = Scene(**HOURS).built("h", f"{DAY}T00").built("h", f"{DAY}T05")
    need = scene.need()
    assert (need.asset, need.triggers, need.mapper, need.inferred, need.wait) == (
        "lake://main/h",
        True,
        "rollup",
        True,
        "all",
    )
    assert (need.needed, need.there_count, need.missing_count) == (24, 2, 22)
    assert need.there == (f"{DAY}T00", f"{DAY}T05")
    assert (len(need.missing), need.missing[0], need.enough) == (20, f"{DAY}T01", False)


def test_a_mapper_that_somebody_has_written() -> None:
    texts = HOURS | {"a": HOURS["a"].replace("/h;", "/h map=rollup wait=3;")}
    need = Scene(**texts).need()
    assert (need.mapper, need.inferred, need.wait) == ("rollup", False, 3)


def test_what_is_only_read_is_needed_too() -> None:
    texts = SAME | {"a": SAME["a"].replace("on lake://main/u; ", "")}
    scene = Scene(**texts)
    need = scene.need()
    assert (need.triggers, need.wait, need.needed, need.enough) == (False, None, 1, False)
    # Nobody waits for it.
    assert scene.verdict().sentence == "nothing asks for it by itself"


def test_keys_that_nobody_can_list() -> None:
    texts = SAME | {"a": SAME["a"].replace("/u;", "/u map=last;")}
    scene = Scene(**texts)
    need = scene.need()
    assert (need.needed, need.unlisted, need.enough) == (None, "the last key", False)
    assert scene.built("u", "2026-05-01").need().enough


def test_keys_that_are_too_many_to_look_at() -> None:
    texts = {
        "h": 'partitioned hourly start="2020-01-01T00"; materialize lake://main/h',
        "a": "on lake://main/h map=all_before; partitioned daily; materialize lake://main/a",
    }
    scene = Scene(**texts)
    need = scene.need()
    assert (need.needed, need.missing_count, need.enough) == (55_872, None, None)
    assert scene.verdict().status == "unasked"


def test_an_asset_without_partitions() -> None:
    scene = Scene(u="materialize lake://main/u", a=SAME["a"])
    need = scene.need()
    assert (need.mapper, need.needed, need.unlisted, need.enough) == (None, None, None, False)
    assert scene.built("u", None).need().enough


def test_what_a_whole_table_is_made_of() -> None:
    whole = "on lake://main/u map={}; materialize lake://main/a :: SELECT * FROM u"
    scene = Scene(u=SAME["u"], a=whole.format("all"), b=whole.format(f"fixed({DAY})"))
    assert scene.verdict(key=None).sentence.endswith("it waits for lake://main/u")
    need = scene.built("u", DAY).need(key=None)
    assert (need.unlisted, need.enough) == ("all keys", True)
    fixed = scene.need("b", None)
    assert (fixed.needed, fixed.there) == (1, (DAY,))


def test_of_a_source_events_tell() -> None:
    scene = Scene(a=f"on lake://main/x map=start_of_day; {PLAIN}")
    need = scene.need()
    assert (need.source, need.asked, need.mapper, need.enough) == (
        True,
        False,
        "start_of_day",
        None,
    )
    scene.asked("a", DAY, asked_by=("lake://main/x",), status="ready")
    assert scene.need().asked


# The rest


def test_data_tests_and_the_log() -> None:
    scene = Scene(a=PLAIN)
    scene.built("a", DAY, tests=(DataTestResult(test="unique x"),))
    for _ in range(6):
        scene.built("a", DAY)
    facts = scene.facts()
    assert [entry.id for entry in facts.log] == ["m7", "m6", "m5", "m4", "m3"]
    assert facts.tested is not None and facts.tested.id == "m1"
    assert facts.built is not None and facts.built.id == "m7"
    assert facts.standing is not None and facts.standing.run == "r7"


def test_events_that_its_script_cannot_take() -> None:
    scene = Scene(a=f"on lake://main/x; {PLAIN}")
    each = [Rejected(A, f"e{n}", "no key", NOON + n * HOUR) for n in range(5)]
    with scene.turn() as turn:
        turn.apply(Decisions(rejected=tuple(each)), NOON)
    assert [r.event for r in scene.facts().rejected] == ["e4", "e3", "e2"]


def test_a_script_that_materializes_nothing() -> None:
    scene = Scene(u=SAME["u"], a="on lake://main/u; partitioned daily :: SELECT * FROM u")
    assert scene.verdict().status == "unasked"
    scene.built("u", DAY)
    assert scene.verdict().sentence == "nothing asks for it now"
    assert scene.asked("a", DAY, status="ready").verdict().status == "ready"


def test_claims_of_others_do_not_count() -> None:
    scene = Scene(**SAME).attempted("u", DAY)
    assert scene.facts().working is None
    assert isinstance(scene.claims("lake://main/u", limit=1)[0], Claim)
