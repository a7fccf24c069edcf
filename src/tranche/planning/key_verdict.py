"""What all that is known of a key comes to, in one sentence."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tranche.model.data_test import DataTestResult
from tranche.model.partitioning import time_of
from tranche.model.script import Script
from tranche.model.story import KeyFacts, KeyVerdict, ScheduleFacts
from tranche.planning.resolve import bounds
from tranche.planning.universe import inside

_NAMED = 5
"""How many things a sentence lists."""

Lacking = Callable[[], str | None]
"""What the key would wait for if something asked for it; worked out only if that matters."""


def verdict_on(
    script: Script,
    key: str | None,
    facts: KeyFacts,
    now: datetime,
    *,
    lacking: Lacking,
    hindrance: str | None = None,
) -> KeyVerdict:
    """Why a key does not run and what would release it, or that it is fine.

    What happens right now comes first, then what keeps it from running, then how it last ended.
    """
    judging = _Judging(script, key, facts, now, lacking, hindrance)
    return next(judging.verdicts())


@dataclass(frozen=True, slots=True)
class _Judging:
    script: Script
    key: str | None
    facts: KeyFacts
    now: datetime
    lacking: Lacking
    hindrance: str | None

    def verdicts(self) -> Iterator[KeyVerdict]:
        yield from self.at_work()
        if self.hindrance is not None:
            yield KeyVerdict("cannot_run", f"it cannot run: {self.hindrance}")
        yield from self.paused()
        yield from self.pending()
        yield from self.ended()
        yield from self.to_come()
        yield self.unasked()

    def at_work(self) -> Iterator[KeyVerdict]:
        working = self.facts.working
        if working is None:
            return
        if working.abandoned:
            yield KeyVerdict(
                "abandoned",
                f"run {working.run} was at it when its process ended; the next run or server"
                " brings that to its end",
            )
        since = "" if working.since is None else f" since {told(working.since)}"
        yield KeyVerdict("running", f"it runs now{since} in run {working.run}")

    def paused(self) -> Iterator[KeyVerdict]:
        facts = self.facts
        fine = facts.built is not None and facts.stale is None and facts.pending is None
        if facts.paused_since is not None and not fine:
            sentence = f"it is paused since {told(facts.paused_since)}"
            if facts.lacking:
                sentence += f", and waits for {listed(facts.lacking)}"
            remedy = f"tranche resume {shlex.quote(self.script.name)}"
            yield KeyVerdict("paused", sentence, remedy)

    def pending(self) -> Iterator[KeyVerdict]:
        row = self.facts.pending
        if row is not None and row.status == "ready":
            sentence = f"it is ready, was asked for at {told(row.since)}, and waits for a server"
            yield KeyVerdict("ready", sentence, "tranche serve")
        if row is not None:
            if self.facts.lacking:
                yield KeyVerdict("waiting", f"it waits for {listed(self.facts.lacking)}")
            sentence = "what it waited for is there; the next turn of a server sees that"
            yield KeyVerdict("waiting", sentence, "tranche serve")
        if self.facts.backfill is not None:
            sentence = f"it is on the work list of backfill {self.facts.backfill}"
            yield KeyVerdict("waiting", sentence)

    def ended(self) -> Iterator[KeyVerdict]:
        facts, standing = self.facts, self.facts.standing
        built = None if facts.built is None else told(facts.built.finished_at)
        if standing is not None and standing.status != "succeeded":
            how = "failed" if standing.status == "failed" else "was cancelled"
            seen = "" if built is None else f"; readers see what was built at {built}"
            tests = self.failed_tests()
            why = ", ".join(map(_violated, tests))
            if not tests and standing.error is not None:
                why = first_line(standing.error)
            sentence = f"it {how} at {told(standing.at)}{why and f': {why}'}{seen}"
            remedy = show_violations(self.script, self.key) if tests else self.run_it()
            yield KeyVerdict(standing.status, sentence, remedy)
        if facts.stale is not None:
            yield KeyVerdict(
                "stale", f"it was built at {built} and is stale: {facts.stale}", self.run_it()
            )
        if built is not None and standing is not None and standing.provisional:
            missing = [
                f"{need.asset} {key}"
                for need in facts.needs
                if need.triggers and need.enough is False
                for key in need.missing or ("",)
            ]
            without = f", without {listed([each.strip() for each in missing])}" if missing else ""
            sentence = f"it was built at {built}{without}, and is provisional until that has come"
            yield KeyVerdict("provisional", sentence)
        if built is not None:
            known = " that Tranche would know of" if self.reads_sources() else ""
            yield KeyVerdict(
                "built", f"it was built at {built}, and nothing has changed since{known}"
            )

    def to_come(self) -> Iterator[KeyVerdict]:
        """Keys whose time has not come yet, and those that nothing ever asks for."""
        rule, times = self.script.partitioning, time_of(self.script.partitioning)
        if rule is None or self.key is None or times is None:
            return
        if not inside(rule, self.key):
            sentence = f"nothing asks for it by itself: {bounds(times)}"
            yield KeyVerdict("unasked", sentence, self.run_it())
        fires = [each.fire for each in self.facts.schedules if each.fire is not None]
        begins = rule.ordinal(self.key)
        alone = not any(need.triggers for need in self.facts.needs)
        if fires and min(fires) > self.now and alone:
            sentence = f"it is not due before {told(min(fires))}, when its schedule fires for it"
            yield KeyVerdict("not_due", sentence)
        if begins is not None and begins > self.now:
            yield KeyVerdict("not_due", f"it is not due before {told(begins)}, when it begins")

    def unasked(self) -> KeyVerdict:
        triggers = [need for need in self.facts.needs if need.triggers]
        sources = [need.asset for need in triggers if need.source]
        whys = [f"no event of {asset} has" for asset in sources]
        whys += (_fires(each) for each in self.facts.schedules)
        if whys:
            # Each of these would be enough to have it pending, whatever it lacks then.
            sentence = f"nothing has asked for it: {'; '.join(whys)}"
            return KeyVerdict("unasked", sentence, self.run_it())
        if not triggers:
            return KeyVerdict("unasked", "nothing asks for it by itself", self.run_it())
        lacking = self.lacking()
        if lacking is not None:
            sentence = f"nothing has asked for it, and {lacking}"
            # What it waits for is made too.
            return KeyVerdict("unasked", sentence, _command("run", self.script, self.key, "+"))
        if self.script.asset is None:
            return KeyVerdict("unasked", "nothing asks for it now", self.run_it())
        sentence = "nothing has asked for it, though what it needs is there"
        return KeyVerdict("unasked", sentence, self.run_it())

    def reads_sources(self) -> bool:
        """Whether it is made of something of which only its own readers know whether it changed."""
        made = {need.asset for need in self.facts.needs if not need.source}
        return any(
            str(asset) not in made for asset in self.script.reads if asset not in self.script.writes
        )

    def failed_tests(self) -> list[DataTestResult]:
        """The data tests because of which the latest attempt failed."""
        return [
            test for entry in self.facts.log[:1] for test in entry.tests if test.status == "failed"
        ]

    def run_it(self) -> str:
        return _command("run", self.script, self.key)


def show_violations(script: Script, key: str | None) -> str:
    """The command that shows the rows that data tests found."""
    return f"{_command('show', script, key)} --violations"


def _command(command: str, script: Script, key: str | None, before: str = "") -> str:
    partition = "" if key is None else f" --partition {shlex.quote(key)}"
    return f"tranche {command} {shlex.quote(before + script.name)}{partition}"


def _violated(test: DataTestResult) -> str:
    return f"{test.test} has {test.violations:,} violation{'' if test.violations == 1 else 's'}"


def _fires(schedule: ScheduleFacts) -> str:
    """When a schedule fires for a key that it has not asked for."""
    coming = f"its next fire is at {told(schedule.next)}"
    if schedule.fire is not None and not schedule.past:
        return f"its fire is at {told(schedule.fire)}"
    if schedule.fire is not None:
        return f"its fire was at {told(schedule.fire)}, and nothing came of it; {coming}"
    if schedule.every:
        return coming
    return f"no fire of its schedule is for it; {coming}"


def told(moment: datetime) -> str:
    """A time as sentences have it."""
    return moment.isoformat(timespec="seconds")


def first_line(text: str) -> str:
    """As much of an error as a sentence has room for."""
    return text.strip().partition("\n")[0]


def listed(names: Sequence[str], number: int | None = None) -> str:
    """The first of so many names, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"], 1000)
    ('a, b', 'a, b, c, d, e and 995 more')
    """
    more = (len(names) if number is None else number) - len(names[:_NAMED])
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
