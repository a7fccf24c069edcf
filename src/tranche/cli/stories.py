"""The story of a key in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tranche.cli.output import Output, counted, shown
from tranche.model.data_test import DataTestResult
from tranche.model.run import Materialization
from tranche.model.story import KeyFacts, Need, ScheduleFacts, Story
from tranche.planning.key_verdict import first_line, listed, told

WIDTH = 10
"""How wide a label is."""
_STYLES = {
    "built": "green",
    "failed": "red",
    "cannot_run": "red",
    "abandoned": "red",
    "running": "cyan",
}

Line = tuple[str, str]
"""A label, and what is said under it; a line without a label goes on with the one before."""


def show_verdict(story: Story, output: Output) -> None:
    verdict = story.verdict
    output.line(verdict.sentence, _STYLES.get(verdict.status, "yellow"))
    if verdict.remedy is not None:
        output.line(f"→ {verdict.remedy}")
    output.line()


def show_facts(story: Story, output: Output) -> None:
    for label, text in _lines(story):
        output.pieces((f"{label:<{WIDTH}}", "dim"), (text, ""))


def _lines(story: Story) -> Iterator[Line]:
    facts = story.facts
    for schedule in facts.schedules:
        yield "schedule", _schedule(schedule)
    for need in facts.needs:
        yield from _need(need)
    yield from _asked(story)
    yield from _standing(facts)
    if facts.tested is not None:
        yield from _tests(facts.tested, story)
    if facts.stale is not None and story.verdict.status != "stale":
        yield "stale", facts.stale
    for number, entry in enumerate(facts.log):
        yield "" if number else "log", _entry(entry)


def _schedule(schedule: ScheduleFacts) -> str:
    when = schedule.cron or "at each period's start"
    text = f"{when} in {schedule.tz}"
    if schedule.fire is not None:
        tense = "fired" if schedule.past else "fires"
        text += f": {tense} for this key at {told(schedule.fire)}"
    elif not schedule.every:
        text += ": fires for other keys only"
    return f"{text}; next at {told(schedule.next)}"


def _need(need: Need) -> Iterator[Line]:
    one = need.needed == 1 and need.missing_count is not None
    keys = (*need.there, *need.missing)
    text = need.asset + (f" {shown(keys[0])}" if one else "")
    if need.mapper is not None:
        text += f" map={need.mapper}{' (inferred)' if need.inferred else ''}"
    if need.wait is not None and not one:
        text += f" wait={need.wait}"
    yield "on" if need.triggers else "reads", f"{text}: {_how_much(need)}"
    if need.missing and not one:
        yield "", f"missing {listed([shown(key) for key in need.missing], need.missing_count)}"


def _how_much(need: Need) -> str:
    if need.source:
        asked = "one has asked for this key" if need.asked else "none asks for this key now"
        return f"events tell, and {asked}"
    if need.unlisted is not None:
        there = "something is there" if need.enough else "nothing is there"
        return f"{need.unlisted}, which nobody can list; {there}"
    if need.needed is None:
        return "there" if need.enough else "missing"
    if need.missing_count is None:
        return f"{need.needed:,} keys, which are too many to look at"
    if need.needed == 0:
        return "none of its keys is needed"
    if need.needed == 1:
        return "missing" if need.missing_count else "there"
    return f"{need.there_count:,} of {need.needed:,} keys are there"


def _asked(story: Story) -> Iterator[Line]:
    facts, row = story.facts, story.facts.pending
    if row is not None:
        text = f"{row.status} since {told(row.since)}, asked for by {', '.join(row.asked_by)}"
        if facts.lacking:
            text += f"; lacks {listed(facts.lacking)}"
        yield "pending", text if row.run is None else f"{text}; run {row.run} has it"
    for each in facts.rejected:
        yield "rejected", f"event {each.event} at {told(each.at)}: {each.reason}"
    if facts.paused_since is not None:
        text = f"since {told(facts.paused_since)}; tranche resume {story.label} ends that"
        yield "paused", text
    if facts.working is not None:
        yield "run", f"{facts.working.run}{' was' if facts.working.abandoned else ' is'} at it"
    if facts.backfill is not None:
        yield "backfill", f"{facts.backfill} has it on its work list"


def _standing(facts: KeyFacts) -> Iterator[Line]:
    standing, built = facts.standing, facts.built
    if standing is None:
        return
    yield "standing", f"{standing.status} at {told(standing.at)} in run {standing.run}"
    if built is None:
        yield "", "readers see nothing of it"
        return
    seen = "what was" if built.rows is None else counted(built.rows, "row")
    snapshot = "" if built.snapshot is None else f", snapshot {built.snapshot}"
    yield "", f"readers see {seen} built at {told(built.finished_at)}{snapshot}"


def _tests(entry: Materialization, story: Story) -> Iterator[Line]:
    found = [test for test in entry.tests if test.violations]
    passed = len(entry.tests) - len(found)
    yield "tests", f"{passed} of {len(entry.tests)} passed at {told(entry.finished_at)}"
    for test in found:
        yield "", _violated(test)
    if found:
        yield "", f"{story.violations} shows rows"


def _violated(test: DataTestResult) -> str:
    return f"{test.test} {test.status}: {counted(test.violations, 'row')}"


def _entry(entry: Materialization) -> str:
    parts: Sequence[str | None] = (
        told(entry.finished_at),
        f"run {entry.run}",
        entry.status,
        None if entry.rows is None else counted(entry.rows, "row"),
        None if entry.seconds is None else f"{entry.seconds:.1f} s",
    )
    text = ", ".join(part for part in parts if part is not None)
    return text if entry.error is None else f"{text}: {first_line(entry.error)}"
