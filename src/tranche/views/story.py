"""The story of a key as JSON."""

from __future__ import annotations

from typing import Any

from tranche.model.pending import Pending
from tranche.model.run import Materialization
from tranche.model.story import KeyFacts, Need, ScheduleFacts, Story, Working
from tranche.views.assets import partition_view
from tranche.views.plain import instant
from tranche.views.runs import test_view


def story_view(story: Story) -> dict[str, Any]:
    facts, verdict = story.facts, story.verdict
    return {
        "status": verdict.status,
        "verdict": verdict.sentence,
        "remedy": verdict.remedy,
        "schedules": [_schedule_view(each) for each in facts.schedules],
        "needs": [_need_view(need) for need in facts.needs],
        "pending": None if facts.pending is None else _pending_view(facts.pending, facts),
        "rejected": [
            {"event": each.event, "reason": each.reason, "at": instant(each.at)}
            for each in facts.rejected
        ],
        "paused_since": instant(facts.paused_since),
        "running": None if facts.working is None else _working_view(facts.working),
        "backfill": facts.backfill,
        "standing": None if facts.standing is None else partition_view(facts.standing),
        "built": None if facts.built is None else _entry_view(facts.built),
        "stale": facts.stale,
        "tests": None if facts.tested is None else _tests_view(facts.tested),
        "log": [_entry_view(entry) for entry in facts.log],
    }


def _schedule_view(schedule: ScheduleFacts) -> dict[str, Any]:
    return {
        "cron": schedule.cron,
        "tz": schedule.tz,
        "every_fire": schedule.every,
        "fire": instant(schedule.fire),
        "past": schedule.past,
        "next": instant(schedule.next),
    }


def _need_view(need: Need) -> dict[str, Any]:
    return {
        "asset": need.asset,
        "triggers": need.triggers,
        "source": need.source,
        "asked": need.asked,
        "map": need.mapper,
        "inferred": need.inferred,
        "wait": need.wait,
        "enough": need.enough,
        "needed": need.needed,
        "unlisted": need.unlisted,
        "there": list(need.there),
        "there_count": need.there_count,
        "missing": list(need.missing),
        "missing_count": need.missing_count,
    }


def _pending_view(row: Pending, facts: KeyFacts) -> dict[str, Any]:
    return {
        "status": row.status,
        "since": instant(row.since),
        "fire_time": instant(row.fire_time),
        "asked_by": list(row.asked_by),
        "lacking": list(facts.lacking),
        "run": row.run,
    }


def _working_view(working: Working) -> dict[str, Any]:
    return {
        "run": working.run,
        "since": instant(working.since),
        "abandoned": working.abandoned,
    }


def _tests_view(entry: Materialization) -> dict[str, Any]:
    return {
        "run": entry.run,
        "at": instant(entry.finished_at),
        "published": entry.status == "succeeded",
        "results": [test_view(test) for test in entry.tests],
    }


def _entry_view(entry: Materialization) -> dict[str, Any]:
    return {
        "at": instant(entry.finished_at),
        "run": entry.run,
        "status": entry.status,
        "rows": entry.rows,
        "snapshot": entry.snapshot,
        "seconds": entry.seconds,
        "error": entry.error,
    }
