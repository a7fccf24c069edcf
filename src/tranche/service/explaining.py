"""What a step would send to Spark, what that reads, and what is known of its key."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tranche.errors import TrancheError, UsageError
from tranche.model.explanation import Explanation
from tranche.model.plan import Request
from tranche.model.project import Project
from tranche.planning.explanation import explain_step, key_of
from tranche.planning.graph import build_graph
from tranche.planning.story import story
from tranche.ports import Clock, Engine, StoryReader
from tranche.service.lineage import read_columns
from tranche.service.opening import now


def scan(explanation: Explanation, engine: Engine) -> Explanation:
    """The same with what the SELECT reads, for which it is run; nothing is written."""
    found = engine.scan(explanation.step)
    return replace(explanation, statements=found.statements, scans=found.scans)


def check_scan(explanation: Explanation) -> None:
    """Says what speaks against running the SELECT, before Spark starts."""
    script = explanation.step.script
    if script.query is None or any(each.kind == "other" for each in script.setup):
        raise UsageError(
            f"{script.path} writes by itself, and --scan runs nothing that does", "leave --scan out"
        )


def explain(
    project: Project, request: Request, state: StoryReader, *, clock: Clock = now
) -> Explanation:
    """What the target's own step would do, without doing anything, and the story of its key."""
    found = explain_step(project, request, state)
    step = found.step
    try:
        key = key_of(step, request)
    except TrancheError:
        # Why there is no key, the step says itself.
        return found
    told = story(
        step.script,
        key,
        build_graph(project.scripts),
        state,
        clock(),
        _moves,
        hindrance=step.reason if step.verdict == "fail" else None,
        reads=read_columns(project),
    )
    return replace(found, story=told)


def _moves(cron: str, tz: str, fire: datetime, steps: int) -> datetime:
    # Few scripts have a cron, and reading crons takes a while to import.
    from tranche.script.schedules import moved

    return moved(cron, tz, fire, steps)
