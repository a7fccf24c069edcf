"""One turn of a scheduler: what has happened, and which keys should therefore run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from tranche.model.condition import SCHEDULE, lacking
from tranche.model.event import Event
from tranche.model.mapped_keys import Unlisted
from tranche.model.pending import Decisions, Pending, Rejected, Released
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.model.trigger import OnSchedule
from tranche.planning.asking import Asked, Consumers
from tranche.planning.consumed import consumed
from tranche.planning.deadlines import deadline_of, has_deadline
from tranche.planning.firing import due, schedules_of
from tranche.planning.graph import build_graph
from tranche.planning.lineage import Read
from tranche.planning.links import Link, SourceLink
from tranche.planning.provisional import Provisional
from tranche.planning.read_columns import ReadColumns
from tranche.planning.scheduled import Moves
from tranche.planning.stale import Differences
from tranche.planning.targets import PIPELINES
from tranche.planning.universe import is_key
from tranche.planning.waiting import UNTIL, Arrivals
from tranche.ports import TriggerReader

MOST_EVENTS = 5_000
MOST_DUE = 5_000
"""How much one turn takes on; what is left is for the next."""
_LOG = 20
"""How many entries of a key are looked at for the one before."""
MOST_PROVISIONAL = 100_000
"""How many provisional keys of a script are looked at."""


class Triggers:
    """What asks for runs in a project."""

    def __init__(self, project: Project, moves: Moves, read: Read | None = None) -> None:
        """`read` tells what comes from which column; without it, every column counts."""
        self.graph = build_graph(project.scripts)
        self.reads = None if read is None else ReadColumns(self.graph, read)
        self.consumers = Consumers(self.graph)
        self.moves = moves
        self.scripts = {script.label: script for script in project.scripts}
        self.broken = frozenset(project.broken)
        """The names of scripts that have faults; what they make, nobody knows."""
        self.schedules: tuple[tuple[Script, str, OnSchedule], ...] = tuple(
            (script, name, on) for script in project.scripts for name, on in schedules_of(script)
        )

    def named(self, name: str) -> list[Script]:
        """The script of that name, or the tasks of a file of jobs whose name it is: of one that
        could not be read, nobody knew more."""
        script = self.graph.scripts.get(name)
        if script is not None:
            return [script]
        files = (f"{PIPELINES}{name}.py", f"{PIPELINES}{name}")
        return [each for each in self.graph.scripts.values() if each.job and each.path in files]


def tick(now: datetime, ledger: TriggerReader, triggers: Triggers) -> Decisions:
    """What has to be done, from what has happened since the turn before. It changes nothing."""
    turn = _Turn(now, ledger, triggers)
    turn.fire()
    events = ledger.news(limit=MOST_EVENTS)
    for event in events:
        turn.hear(event)
    turn.catch_up()
    turn.refresh()
    waiting = ledger.due(now, limit=MOST_DUE)
    turn.merge(waiting)
    turn.look()
    return Decisions(
        handled=tuple(event.id for event in events),
        fired=turn.fired,
        pending=tuple(turn.rows.values()),
        dropped=tuple(turn.dropped),
        released=tuple(turn.released),
        fallen=tuple(sorted(triggers.broken.difference(ledger.missed()))),
        mended=tuple(turn.mended),
        rejected=tuple(turn.rejected),
        more=len(events) == MOST_EVENTS or len(waiting) == MOST_DUE or turn.more,
    )


class _Turn:
    def __init__(self, now: datetime, ledger: TriggerReader, triggers: Triggers) -> None:
        self.now = now
        self.ledger = ledger
        self.triggers = triggers
        self.arrivals = Arrivals(triggers.graph, ledger, {})
        self.provisional = Provisional(triggers.consumers.links, self.arrivals, ledger)
        self.rows: dict[tuple[str, str | None], Pending] = {}
        self.fired: dict[str, datetime] = {}
        self.dropped: list[tuple[str, str | None]] = []
        self.released: list[Released] = []
        self.mended: list[str] = []
        self.rejected: list[Rejected] = []
        self.late: dict[str, tuple[Asked, datetime]] = {}
        """What came for keys that nobody can list, by the script that did not wait for it."""
        self.runs: dict[tuple[str, str | None], set[str | None]] = {}
        """The runs that have published what each key is asked for by; None is no run."""
        self.steps: dict[str, dict[tuple[str, str | None], str]] = {}
        """How the steps of runs stand that have one key."""
        self.more = False
        self.differences = Differences(ledger, triggers.reads)

    def fire(self) -> None:
        """What the schedules ask for."""
        known = self.ledger.fired()
        for script, name, on in self.triggers.schedules:
            found = due(script, name, on, known.get(name), self.now, self.triggers.moves)
            if name not in known or found.fires or found.passed_over:
                self.fired[name] = found.until
                self.more = self.more or found.until < self.now
            for fire in found.fires:
                keys = fire.keys if script.partitioning is not None else (None,)
                self.ask(script, keys, SCHEDULE, fire.at)

    def catch_up(self) -> None:
        """Tells scripts that had faults of what they have missed."""
        for name in self.ledger.missed():
            if name in self.triggers.broken:
                continue
            self.mended.append(name)
            scripts = self.triggers.named(name)
            if not scripts:
                continue
            events = self.ledger.missed_by(name, limit=MOST_EVENTS)
            for script in scripts:
                for event in events:
                    self.hear(event, only=script.name)
                self.released.append(Released(script.label, Unlisted()))
            self.more = self.more or len(events) >= MOST_EVENTS

    def hear(self, event: Event, *, only: str | None = None) -> None:
        """What an event asks for; of one script, if it is told of it by itself."""
        for asked in self.triggers.consumers.asked_by(event):
            if only not in (None, asked.script.name):
                continue
            label = asked.script.label
            if asked.rejected is not None:
                self.rejected.append(Rejected(label, event.id, asked.rejected, self.now))
            if asked.released is not None:
                self.released.append(Released(label, asked.released))
                if has_deadline(asked.script):
                    self.late[label] = asked, event.at
            keys = [key for key in asked.keys if not self.made_along(event.run, label, key)]
            if None in keys and self.unchanged(event, asked.script):
                continue
            self.ask(asked.script, keys, str(asked.asset), event.at, event.run)

    def made_along(self, run: str | None, consumer: str, key: str | None) -> bool:
        """Whether the run that has published something has made this key of it too, or will.

        Of steps with several keys that is not known; what they have made is found to be needless.
        """
        if run is None:
            return False
        if run not in self.steps:
            self.steps[run] = {
                (step.asset or step.script, step.partition): step.status
                for step in self.ledger.steps(run)
                if step.keys == 1
            }
        return self.steps[run].get((consumer, key)) in ("succeeded", "failed")

    def unchanged(self, event: Event, script: Script) -> bool:
        """Whether a whole table was made of the rows that an event tells of, as they were before.

        Of what it reads as a whole nobody notes what it was made of, but when.
        """
        if event.materialization is None or event.digest is None:
            return False
        known = self.ledger.partition(script.label, None)
        if known is None or known.materialization is None:
            return False
        built = self.ledger.materialization(known.materialization)
        if built is None or built.fingerprint != script.fingerprint:
            return False
        log = self.ledger.materializations(event.asset, event.partition, limit=_LOG)
        ids = [entry.id for entry in log]
        if event.materialization not in ids:
            return False
        place = ids.index(event.materialization)
        earlier = (entry for entry in log[place + 1 :] if entry.finished_at <= built.started_at)
        before = next((entry for entry in earlier if entry.status == "succeeded"), None)
        if before is None:
            return False
        return not self.differences.between(script, built.started_at, before, log[place])

    def refresh(self) -> None:
        """Asks for keys that have run without what feeds every key, and have it now."""
        for label, (asked, at) in self.late.items():
            rule = asked.script.partitioning
            states = self.ledger.provisional(label, limit=MOST_PROVISIONAL)
            known = [state.partition for state in states if state.partition is not None]
            keys = [key for key in known if rule is not None and is_key(rule, key)]
            complete = self.complete(asked.script, keys)
            self.ask(asked.script, sorted(complete), str(asked.asset), at)

    def ask(
        self,
        script: Script,
        keys: Iterable[str | None],
        asker: str,
        fire_time: datetime,
        run: str | None = None,
    ) -> None:
        """Asks for keys; `run` has published what they are asked for by."""
        rule = script.partitioning
        for key in keys:
            place = script.label, key
            self.runs.setdefault(place, set()).add(run)
            row = self.rows.get(place)
            if row is None:
                ordinal = rule.ordinal(key) if rule is not None and key is not None else None
                row = Pending(
                    consumer=script.label,
                    partition=key,
                    ordinal=ordinal,
                    since=self.now,
                    fire_time=fire_time,
                )
            self.rows[place] = replace(
                row, asked_by=tuple(dict.fromkeys([*row.asked_by, asker])), fire_time=fire_time
            )

    def merge(self, waiting: Sequence[Pending]) -> None:
        """Brings what was asked for together with what is pending already."""
        for known in self.ledger.pending(list(self.rows)):
            asked = self.rows[known.place]
            self.rows[known.place] = replace(
                known,
                asked_by=tuple(dict.fromkeys([*known.asked_by, *asked.asked_by])),
                fire_time=asked.fire_time,
                again=known.again or self.asks_again(known),
            )
        for row in waiting:
            self.rows.setdefault(row.place, row)

    def asks_again(self, known: Pending) -> bool:
        """Whether a key that a run has must be looked at again when that has ended.

        The run may have read its inputs before they changed; not so if it changed them itself.
        """
        if known.status == "reserved":
            return self.runs[known.place] != {known.run}
        return known.status == "claimed"

    def look(self) -> None:
        """Sees which keys have all that they need."""
        self.look_up()
        needless = self.needless()
        for place, row in list(self.rows.items()):
            if row.held:
                continue
            script = self.triggers.scripts.get(row.consumer)
            if script is None and self.triggers.broken:
                # One of those that have faults may make it.
                lacks = ("a script without faults that makes it",)
                self.rows[place] = replace(row, status="waiting", lacking=lacks, look_at=None)
                continue
            if script is None:
                # Nobody makes it any more.
                self.rows.pop(place)
                self.dropped.append(place)
                continue
            lacking = self.lacking(script, row)
            if not lacking and place in needless:
                self.rows.pop(place)
                self.dropped.append(place)
                continue
            self.rows[place] = replace(
                row,
                status="waiting" if lacking else "ready",
                lacking=tuple(lacking),
                look_at=self.look_at(script, row) if lacking else None,
            )

    def needless(self) -> set[tuple[str, str | None]]:
        """Keys that were asked for because of data alone, and were built of that data already."""
        keys: dict[str, list[str]] = {}
        links = self.triggers.consumers.links
        for (consumer, key), row in self.rows.items():
            script = self.triggers.scripts.get(consumer)
            if script is None or key is None or row.held:
                continue
            # A fire means that the key should run, and of a source nobody knows what is in it.
            made = {str(link.asset) for link in links.of(script)}
            if made.issuperset(row.asked_by):
                keys.setdefault(consumer, []).append(key)
        found: set[tuple[str, str | None]] = set()
        for consumer, several in keys.items():
            script = self.triggers.scripts[consumer]
            rule = script.partitioning
            # Its partitioning may have been another one when they were asked for.
            fit = [key for key in several if rule is not None and is_key(rule, key)]
            slice_ = [links.slice_key(script, key) for key in fit]
            built = consumed(script, slice_, self.ledger, self.triggers.reads)
            complete = self.complete(script, list(built))
            for key, how in built.items():
                asked_by = self.rows[consumer, key].asked_by
                if key not in complete and (how == "same" or not _refreshes(script, asked_by)):
                    found.add((consumer, key))
        return found

    def complete(self, script: Script, keys: Sequence[str]) -> set[str]:
        """Keys whose slice is provisional, and which lack nothing any more.

        What they lacked may have come between the plan of their run and its start: they are made of
        it then, and only another run ends that they are provisional.
        """
        if not keys or not has_deadline(script):
            return set()
        standing = self.ledger.standing(script.label, keys)
        found = [key for key in keys if key in standing and standing[key].provisional]
        without = self.provisional.without(script, found)
        return {key for key in found if key not in without}

    def look_up(self) -> None:
        keys: dict[str, list[str]] = {}
        for consumer, key in self.rows:
            if key is not None and consumer in self.triggers.scripts:
                keys.setdefault(consumer, []).append(key)
        for consumer, several in keys.items():
            script = self.triggers.scripts[consumer]
            for link in self.triggers.consumers.links.of(script):
                if link.trigger is not None:
                    self.arrivals.look_up(link, several)

    def lacking(self, script: Script, row: Pending) -> list[str]:
        """What a key still waits for, by the condition of its script."""
        each: dict[str, list[str]] = {}
        known = self.triggers.consumers.links
        links: list[Link | SourceLink] = list(known.of(script))
        links += known.sources(script)
        for link in links:
            if link.trigger is not None:
                each[str(link.asset)] = self.lacks(link, row)
        if any(isinstance(on, OnSchedule) for on in script.annotations.triggers):
            each[SCHEDULE] = [] if SCHEDULE in row.asked_by else ["its schedule"]
        condition = script.annotations.condition
        return lacking(condition, row.asked_by, each) if condition is not None else []

    def look_at(self, script: Script, row: Pending) -> datetime | None:
        """The first deadline to come of something that a key lacks."""
        if not has_deadline(script):
            return None
        known = self.triggers.consumers.links
        links: tuple[Link | SourceLink, ...] = (*known.of(script), *known.sources(script))
        found = [
            until.astimezone(UTC)
            for link in links
            if (until := deadline_of(link, row.partition)) is not None and self.lacks(link, row)
        ]
        return min(found, default=None)

    def lacks(self, link: Link | SourceLink, row: Pending) -> list[str]:
        """What a key waits for of one input, with until when."""
        found = self.missing(link, row)
        until = deadline_of(link, row.partition) if found else None
        if until is None:
            return found
        if until <= self.now:
            return []
        return [f"{each}{UNTIL}{until.isoformat(timespec='minutes')})" for each in found]

    def missing(self, link: Link | SourceLink, row: Pending) -> list[str]:
        if isinstance(link, SourceLink):
            # Only events tell of it, and one that came before the last run counts no more.
            asset = str(link.asset)
            return [] if asset in row.asked_by else [f"an event of {asset}"]
        if row.partition is None:
            return [] if self.arrivals.any_of(link) else [str(link.asset)]
        return self.arrivals.lacking(link, row.partition)


def _refreshes(script: Script, asked_by: Sequence[str]) -> bool:
    """Whether a script runs again when one of these assets has other rows than it was made of."""
    return any(
        on.on_rerun in (None, "refresh") for on in script.triggers_on() if str(on.asset) in asked_by
    )
