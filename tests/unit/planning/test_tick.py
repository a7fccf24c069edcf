"""Turns of a scheduler: years in seconds, no clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tranche.model.event import Event
from tranche.model.pending import Decisions, Pending
from tranche.model.project import Project
from tranche.model.run import PartitionState
from tranche.planning.tick import Triggers, tick
from tranche.script.schedules import moved
from tranche.testing import MemoryStore

NOW = datetime(2026, 5, 16, 12, tzinfo=UTC)
Place = tuple[str, str | None]


class Scene(MemoryStore):
    """A scheduler's view of a project, and what its turns have led to."""

    def __init__(self, project: Project) -> None:
        super().__init__()
        self.triggers = Triggers(project, moved)
        self.now = NOW
        self.unheard: list[Event] = []
        self.rows: dict[Place, Pending] = {}
        self.looked: dict[str, datetime] = {}
        self.there: dict[Place, str] = {}
        self.number = 0
        self.last = Decisions()

    # What a turn asks.

    def news(self, *, limit: int) -> Sequence[Event]:
        return self.unheard[:limit]

    def missed(self) -> Sequence[str]:
        return ()

    def fired(self) -> dict[str, datetime]:
        return self.looked

    def due(self, now: datetime, *, limit: int) -> Sequence[Pending]:
        rows = [row for row in self.rows.values() if row.look_at and row.look_at <= now]
        return rows[:limit]

    def pending(self, places: Sequence[Place]) -> Sequence[Pending]:
        return [self.rows[place] for place in places if place in self.rows]

    def standing(self, asset: str, keys: Sequence[str | None]) -> dict[str | None, PartitionState]:
        found = {key: self.partition(asset, key) for key in keys}
        return {key: state for key, state in found.items() if state is not None}

    def partition(self, asset: str, partition: str | None) -> PartitionState | None:
        if (asset, partition) not in self.there:
            return None
        return PartitionState(
            asset=asset,
            partition=partition,
            ordinal=None,
            status="succeeded",
            run="r",
            at=NOW,
            materialization=self.there[asset, partition],
        )

    def partitions(self, asset: str, **_: object) -> list[PartitionState]:
        return [s for a, k in self.there if a == asset and (s := self.partition(a, k))]

    # What happens.

    def published(self, name: str, *keys: str | None) -> Scene:
        """A run has published keys of what a script makes."""
        for key in keys:
            self.there[f"lake://main/{name}", key] = f"m{self.number}"
            self.heard(name, key)
        return self

    def heard(self, name: str, key: str | None) -> Scene:
        self.number += 1
        asset = f"lake://main/{name}"
        event = Event(id=f"e{self.number}", asset=asset, partition=key, at=self.now)
        self.unheard.append(event)
        return self

    def turn(self, **later: float) -> Scene:
        """A turn, and what follows from it."""
        self.now += timedelta(**later)
        self.last = tick(self.now, self, self.triggers)  # type: ignore[arg-type]
        self.looked |= self.last.fired
        self.unheard = [e for e in self.unheard if e.id not in self.last.handled]
        self.rows |= {row.place: row for row in self.last.pending}
        for place in self.last.dropped:
            self.rows.pop(place, None)
        for released in self.last.released:
            for row in self.rows.values():
                if row.consumer == released.consumer and row.status == "waiting":
                    self.rows[row.place] = replace(row, look_at=self.now)
        return self

    def ready(self) -> list[Place]:
        return [row.place for row in self.rows.values() if row.status == "ready"]

    def waiting(self) -> dict[Place, tuple[str, ...]]:
        return {row.place: row.lacking for row in self.rows.values() if row.status == "waiting"}


@pytest.fixture
def scene(project: Callable[..., Project]) -> Callable[[dict[str, str]], Scene]:
    return lambda texts: Scene(project(texts))


SceneOf = Callable[[dict[str, str]], Scene]
BOTH = {
    "a": "partitioned daily; materialize lake://main/a",
    "b": "partitioned daily; materialize lake://main/b",
    "c": "on lake://main/a; on lake://main/b; trigger all; partitioned daily;"
    " materialize lake://main/c",
}
C = "lake://main/c"


def test_different_keys_wait_each_for_its_own(scene: SceneOf) -> None:
    found = scene(BOTH).published("a", "2026-05-01").published("b", "2026-05-02").turn()
    assert found.waiting() == {
        (C, "2026-05-01"): ("lake://main/b 2026-05-01",),
        (C, "2026-05-02"): ("lake://main/a 2026-05-02",),
    }
    found.published("b", "2026-05-01").turn()
    assert found.ready() == [(C, "2026-05-01")]
    assert set(found.waiting()) == {(C, "2026-05-02")}


def test_any_of_several(scene: SceneOf) -> None:
    texts = BOTH | {"c": BOTH["c"].replace("trigger all; ", "")}
    found = scene(texts).published("a", "2026-05-01").published("b", "2026-05-01").turn()
    assert found.ready() == [(C, "2026-05-01")]
    assert found.rows[C, "2026-05-01"].asked_by == ("lake://main/a", "lake://main/b")


EITHER = {
    **{name: f"partitioned daily; materialize lake://main/{name}" for name in ("a", "b", "x")},
    "c": "on lake://main/a; on lake://main/b; on lake://main/x; partitioned daily;"
    " trigger (lake://main/a & lake://main/b) | lake://main/x; materialize lake://main/c",
}


def test_two_together_or_a_third(scene: SceneOf) -> None:
    found = scene(EITHER).published("a", "2026-05-01", "2026-05-02", "2026-05-03").turn()
    assert found.waiting() == {
        (C, f"2026-05-0{day}"): (f"lake://main/b 2026-05-0{day}",) for day in (1, 2, 3)
    }
    # Each key goes its own way.
    found.published("b", "2026-05-02").published("x", "2026-05-03", "2026-05-04").turn()
    assert set(found.waiting()) == {(C, "2026-05-01")}
    assert found.ready() == [(C, f"2026-05-0{day}") for day in (2, 3, 4)]
    assert found.rows[C, "2026-05-03"].asked_by == ("lake://main/a", "lake://main/x")


def test_what_has_been_there_for_long_starts_nothing_by_itself(scene: SceneOf) -> None:
    found = scene(EITHER)
    found.there["lake://main/x", "2026-05-01"] = "m"
    # Nobody has asked for x: it was consumed long ago.
    found.published("a", "2026-05-01").turn()
    assert found.waiting() == {(C, "2026-05-01"): ("lake://main/b 2026-05-01",)}
    # What an AND needs may have been there before.
    found.there["lake://main/b", "2026-05-02"] = "m"
    found.published("a", "2026-05-02").turn()
    assert found.ready() == [(C, "2026-05-02")]


def test_one_of_two_together_with_a_third(scene: SceneOf) -> None:
    condition = "(lake://main/a | lake://main/b) & lake://main/x"
    texts = EITHER | {
        "c": EITHER["c"].replace("(lake://main/a & lake://main/b) | lake://main/x", condition)
    }
    found = scene(texts).published("x", "2026-05-01").published("b", "2026-05-02").turn()
    assert found.waiting() == {
        (C, "2026-05-01"): ("lake://main/a 2026-05-01",),
        (C, "2026-05-02"): ("lake://main/x 2026-05-02",),
    }
    found.published("b", "2026-05-01").published("x", "2026-05-02").turn()
    assert found.ready() == [(C, "2026-05-01"), (C, "2026-05-02")]


def test_a_schedule_together_with_sources(scene: SceneOf) -> None:
    texts = {
        "c": "on schedule; on lake://main/x map=start_of_day; on lake://main/y map=start_of_day;"
        " trigger schedule & lake://main/x | lake://main/y; partitioned daily lag=1;"
        " materialize lake://main/c"
    }
    found = scene(texts).turn().heard("x", "2026-05-16T03:00").turn()
    assert found.waiting() == {(C, "2026-05-16"): ("its schedule",)}
    found.turn(hours=12)
    assert found.ready() == [(C, "2026-05-16")]
    found.turn(hours=24)
    assert found.waiting() == {(C, "2026-05-17"): ("an event of lake://main/x",)}
    found.heard("y", "2026-05-17T03:00").turn()
    assert found.ready() == [(C, "2026-05-16"), (C, "2026-05-17")]


def test_sources_wait_for_events_of_each(scene: SceneOf) -> None:
    texts = {
        "c": "on lake://main/x map=start_of_day; on lake://main/y map=start_of_day; trigger all;"
        " materialize lake://main/c"
    }
    found = scene(texts).heard("x", "2026-05-01T03:00").heard("y", "2026-05-02T03:00").turn()
    assert found.waiting() == {
        (C, "2026-05-01"): ("an event of lake://main/y",),
        (C, "2026-05-02"): ("an event of lake://main/x",),
    }
    found.heard("y", "2026-05-01T23:00").turn()
    assert found.ready() == [(C, "2026-05-01")]


def test_a_rollup_waits_for_the_hours_of_its_day(scene: SceneOf) -> None:
    zone = "tz=America/New_York"
    texts = {
        "h": f"partitioned hourly {zone}; materialize lake://main/h",
        "d": f"on lake://main/h; partitioned daily {zone}; materialize lake://main/d",
    }
    found = scene(texts)
    for day, number in (("2026-03-08", 23), ("2026-11-01", 24)):
        keys = [f"{day}T{hour:02}" for hour in range(24) if (day, hour) != ("2026-03-08", 2)]
        assert len(keys) == number
        for key in keys[:-1]:
            found.published("h", key).turn(hours=1)
            assert found.rows["lake://main/d", day].status == "waiting"
        found.published("h", keys[-1]).turn(hours=1)
        assert found.rows["lake://main/d", day].status == "ready"


def test_a_schedule_asks_for_the_keys_of_its_fires(scene: SceneOf) -> None:
    texts = {"s": 'on schedule "0 6 * * *"; partitioned daily lag=1; materialize lake://main/s'}
    found = scene(texts).turn()
    assert found.rows == {}
    found.turn(hours=17)
    assert found.ready() == []
    found.turn(hours=1)
    assert found.ready() == [("lake://main/s", "2026-05-16")]
    row = found.rows["lake://main/s", "2026-05-16"]
    assert (row.asked_by, row.fire_time) == (("schedule",), datetime(2026, 5, 17, 6, tzinfo=UTC))
    # Nothing is asked for twice.
    assert found.turn(hours=1).last.pending == ()
    # After forty days away all of them are ready at once.
    found.rows.clear()
    found.turn(days=40)
    assert len(found.ready()) == 40


def test_what_feeds_every_key_releases_those_that_wait(scene: SceneOf) -> None:
    texts = {
        "w": "materialize lake://main/w",
        "d": "partitioned daily; materialize lake://main/d",
        "c": "on lake://main/w; on lake://main/d; trigger all; partitioned daily;"
        " materialize lake://main/c",
    }
    found = scene(texts).published("d", "2026-05-01").turn()
    assert found.waiting() == {(C, "2026-05-01"): ("lake://main/w",)}
    found.published("w", None).turn().turn()
    assert found.ready() == [(C, "2026-05-01")]


def test_a_key_that_is_asked_for_again_while_it_runs(scene: SceneOf) -> None:
    texts = BOTH | {"c": BOTH["c"].replace("trigger all; ", "")}
    found = scene(texts).published("a", "2026-05-01").turn()
    place = (C, "2026-05-01")
    found.rows[place] = replace(found.rows[place], status="claimed", run="r1")
    found.published("a", "2026-05-01").turn()
    assert (found.rows[place].status, found.rows[place].again) == ("claimed", True)


def test_what_a_script_cannot_take_harms_nobody_else(scene: SceneOf) -> None:
    texts = {
        "bad": "on lake://main/x map=allowed(a); materialize lake://main/bad",
        "good": 'on lake://main/x; partitioned dynamic key="$.k"; materialize lake://main/good',
    }
    found = scene(texts).heard("x", "b").turn()
    assert found.ready() == [("lake://main/good", "b")]
    (rejected,) = found.last.rejected
    assert (rejected.consumer, rejected.event) == ("lake://main/bad", "e1")
    assert rejected.reason == "lake://main/x b: 'b' is not allowed; the keys are 'a'"


ROLLUP = {
    "h": "partitioned hourly tz=Europe/Paris; materialize lake://main/h",
    "d": 'on lake://main/h deadline="06:00"; partitioned daily tz=Europe/Paris;'
    " materialize lake://main/d",
}
D = "lake://main/d"
HOURS = [f"2026-05-16T{hour:02}" for hour in range(24)]
SIX = datetime(2026, 5, 17, 4, tzinfo=UTC)
"""06:00 in Paris on the day after."""


def test_a_key_waits_until_its_deadline(scene: SceneOf) -> None:
    found = scene(ROLLUP).published("h", *HOURS[:-2]).turn()
    place = (D, "2026-05-16")
    assert found.waiting() == {
        place: (
            "lake://main/h 2026-05-16T22 (until 2026-05-17T06:00+02:00)",
            "lake://main/h 2026-05-16T23 (until 2026-05-17T06:00+02:00)",
        )
    }
    assert found.rows[place].look_at == SIX
    found.published("h", HOURS[-2]).turn(hours=15, minutes=59)
    assert found.waiting() == {
        place: ("lake://main/h 2026-05-16T23 (until 2026-05-17T06:00+02:00)",)
    }
    found.turn(minutes=1)
    assert found.now == SIX
    assert found.ready() == [place]
    assert (found.rows[place].lacking, found.rows[place].look_at) == ((), None)


def test_what_comes_after_the_deadline_is_not_waited_for(scene: SceneOf) -> None:
    found = scene(ROLLUP)
    found.now = SIX
    found.published("h", HOURS[0]).turn()
    assert found.ready() == [(D, "2026-05-16")]


def test_a_deadline_begins_nothing_by_itself(scene: SceneOf) -> None:
    found = scene(ROLLUP).turn().turn(days=40)
    assert found.rows == {}


def test_each_input_has_its_own_deadline(scene: SceneOf) -> None:
    texts = BOTH | {
        "e": "partitioned daily; materialize lake://main/e",
        "c": 'on lake://main/a; on lake://main/b deadline="06:00"; on lake://main/e deadline="03:00";'
        " trigger all; partitioned daily; materialize lake://main/c",
    }
    found = scene(texts).published("a", "2026-05-16").turn()
    place = (C, "2026-05-16")
    assert found.waiting()[place] == (
        "lake://main/b 2026-05-16 (until 2026-05-17T06:00+00:00)",
        "lake://main/e 2026-05-16 (until 2026-05-17T03:00+00:00)",
    )
    assert found.rows[place].look_at == datetime(2026, 5, 17, 3, tzinfo=UTC)
    found.turn(hours=15)
    assert found.waiting()[place] == ("lake://main/b 2026-05-16 (until 2026-05-17T06:00+00:00)",)
    assert found.rows[place].look_at == datetime(2026, 5, 17, 6, tzinfo=UTC)
    found.turn(hours=3)
    assert found.ready() == [place]


def test_what_has_no_deadline_is_waited_for_after_that_of_another(scene: SceneOf) -> None:
    texts = BOTH | {"c": BOTH["c"].replace("main/b;", 'main/b deadline="06:00";')}
    found = scene(texts).published("b", "2026-05-16").turn(days=2)
    assert found.waiting() == {(C, "2026-05-16"): ("lake://main/a 2026-05-16",)}
    assert found.rows[C, "2026-05-16"].look_at is None


def test_a_source_is_waited_for_until_its_deadline(scene: SceneOf) -> None:
    texts = {
        "a": "partitioned daily; materialize lake://main/a",
        "c": 'on lake://main/a; on lake://main/x deadline="06:00"; trigger all; partitioned daily;'
        " materialize lake://main/c",
    }
    found = scene(texts).published("a", "2026-05-16").turn()
    assert found.waiting() == {
        (C, "2026-05-16"): ("an event of lake://main/x (until 2026-05-17T06:00+00:00)",)
    }
    found.turn(hours=18)
    assert found.ready() == [(C, "2026-05-16")]


def test_a_key_from_before_the_script_had_other_keys_has_no_deadline(scene: SceneOf) -> None:
    texts = {
        "c": 'on lake://main/x deadline="06:00"; on lake://main/y; trigger all; partitioned daily;'
        " materialize lake://main/c"
    }
    found = scene(texts)
    old = Pending(consumer=C, partition="2026-W20", since=NOW, fire_time=NOW, look_at=NOW)
    found.rows[old.place] = old
    found.turn(days=40)
    assert found.waiting()[old.place] == ("an event of lake://main/x", "an event of lake://main/y")


def test_a_deadline_on_what_is_not_waited_for_is_harmless(scene: SceneOf) -> None:
    texts = {
        "a": "partitioned daily; materialize lake://main/a",
        "c": 'on lake://main/a deadline="06:00"; partitioned daily; materialize lake://main/c',
    }
    found = scene(texts).published("a", "2026-05-16").turn()
    assert found.ready() == [(C, "2026-05-16")]


def test_scripts_that_are_gone_are_forgotten(scene: SceneOf) -> None:
    found = scene(BOTH)
    gone = Pending(
        consumer="lake://main/gone", partition="x", since=NOW, fire_time=NOW, look_at=NOW
    )
    found.rows[gone.place] = gone
    found.turn()
    assert found.rows == {}
