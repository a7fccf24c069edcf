"""One asset as notebooks show it: who makes it, how it stands, and its partitions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from tranche.errors import TrancheError
from tranche.model.project import Project
from tranche.model.run import Run
from tranche.notebook.markup import Markup, clipped, element, joined
from tranche.notebook.paint import FAINT, badge, code, line, trouble
from tranche.notebook.partitions import partitions_html
from tranche.ports import Clock, StateReader
from tranche.service.about import About, about

_LONGEST = 400
"""How many letters of an error are shown; its run has all of it."""


def asset_html(project: Project, asset: str, state: StateReader, clock: Clock) -> Markup:
    found = about(project, asset, state, clock=clock)
    runs = state.runs_of(found.asset, limit=1)
    return joined(
        _heading(found),
        _facts(_told(found, runs[0] if runs else None)),
        _failure(found),
        _partitions(project, found, state, clock),
    )


def _partitions(project: Project, about: About, state: StateReader, clock: Clock) -> Markup:
    """They may be keys of another rule than the script has by now; the rest is told all the same."""
    try:
        return partitions_html(project, about, state, clock)
    except TrancheError as error:
        return trouble(str(error))


def _heading(about: About) -> Markup:
    name = element("span", about.asset, style={"font-weight": "600", "overflow-wrap": "anywhere"})
    return line(name, "  ", badge(about.standing), **{"font-size": "14px"})


def _told(about: About, run: Run | None) -> Iterator[tuple[str, Markup]]:
    script = about.script
    if script is None:
        yield "made by", Markup("no script of this project")
    else:
        made = script.annotations.materialize
        rule = script.partitioning
        yield "made by", code(script.path)
        yield "strategy", joined(made.strategy.name if made is not None else "none")
        yield "partitioning", joined("none, one table" if rule is None else rule.describe())
    if run is None:
        yield "last run", Markup("none yet")
    else:
        at = run.finished_at or run.started_at
        ended = "running since" if run.status == "running" else f"{run.status},"
        yield "last run", joined(f"{ended} {moment(at)}, ", code(run.id))
    for each in about.schedules:
        paused = "" if each.paused_since is None else ", paused"
        yield "schedule", joined(f"{each.line}, next {moment(each.next)}{paused}")
    for backfill in about.backfills:
        yield "backfill", joined(f"{backfill.status}, ", code(backfill.id))


def _facts(told: Iterator[tuple[str, Markup]]) -> Markup:
    return joined(
        line(element("span", f"{name}: ", style=FAINT), fact, margin="0") for name, fact in told
    )


def _failure(about: About) -> Markup:
    latest = about.latest
    if latest is None or latest.status == "succeeded" or latest.error is None:
        return Markup()
    key = "" if latest.partition is None else f"{clipped(latest.partition, 80)}: "
    return trouble(f"{key}{clipped(latest.error, _LONGEST)}")


def moment(at: datetime) -> str:
    """A time as people read it.

    >>> moment(datetime(2026, 5, 16, 6, 30, tzinfo=UTC))
    '2026-05-16 06:30 UTC'
    """
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
