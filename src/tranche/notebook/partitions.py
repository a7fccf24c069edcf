"""The partitions of an asset: a calendar of keys of time, a list of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import prod

from tranche import service
from tranche.model.partitioning import Composite, Partitioning, Static, TimePartitioning, time_of
from tranche.model.project import Project
from tranche.model.run import PartitionState
from tranche.notebook.calendar import calendar, table
from tranche.notebook.markup import Markup, clipped, element, joined
from tranche.notebook.paint import COLOURS, FAINT, ORDER, badge, code, line, note
from tranche.notebook.squares import SPANS, Squares, squares_of, squares_of_tallies
from tranche.planning.active import running_keys
from tranche.planning.board import Standing
from tranche.planning.grid import Cell, Grid
from tranche.planning.tally import tallies
from tranche.planning.universe import last_complete
from tranche.ports import Clock, StateReader
from tranche.service.about import About

_LISTED = 30
"""How many keys are listed, of those that have no calendar."""
_BESIDE = 30
"""How many rows there are at most for what stands beside time."""
_COLUMNS = 62
"""How many of the latest keys of time stand beside each other, where there are other dimensions."""
_MOST_OTHERS = 5_000
"""Above that, such keys are listed: to find which rows there are would take too long."""
_STRETCHES = 6
_NAME = 48
"""How many letters of a key are shown; all of it is told where somebody points at it."""
_BAR = 120
_TABLE = {
    "border-collapse": "collapse",
    "font-size": "inherit",
    "margin": "4px 0",
    "color": "inherit",
}


def partitions_html(project: Project, about: About, state: StateReader, clock: Clock) -> Markup:
    rule = about.script.partitioning if about.script is not None else None
    if about.script is not None and rule is None:
        return _whole(about)
    times = time_of(rule)
    if times is None:
        return _listed(project, about, rule, state)
    if not isinstance(rule, Composite):
        return _in_time(project, about, times, state, clock)
    start = _start(about, times, state, clock())
    if _others(about.asset, rule, times, start, state) > _MOST_OTHERS:
        return _listed(project, about, rule, state)
    return _beside_time(project, about, start, state, clock)


def _in_time(
    project: Project, about: About, times: TimePartitioning, state: StateReader, clock: Clock
) -> Markup:
    grid = service.grid(project, about.asset, state, clock=clock)
    if grid is None or not grid.cells:
        return _nothing(about)
    latest = squares_of(grid.kind, grid.cells)
    if not grid.earlier:
        return joined(_counts(latest.counts), _titled(latest, "", about), _stretches(grid))
    last = grid.cells[-1].key
    whole = squares_of_tallies(*tallies(times, about.asset, state, last=last, most=SPANS))
    return joined(
        _counts(whole.counts),
        _titled(latest, "the latest ", about),
        _stretches(grid),
        _titled(whole, "all ", about),
    )


def _titled(squares: Squares, which: str, about: About) -> Markup:
    number = squares.keys
    first, last = squares.squares[0].first, squares.squares[-1].last
    each = "" if len(squares.squares) == number else f", a square for each {squares.period}"
    partitions = "partition" if number == 1 else "partitions"
    text = f"{which}{number:,} {partitions}, {first} to {last}{each}"
    return joined(note(text), calendar(squares, f"{about.asset}: {text}"))


def _start(about: About, times: TimePartitioning, state: StateReader, now: datetime) -> str | None:
    """The first of the latest keys of time; None if there are not as many."""
    since = times.shift(last_complete(times, now), 1 - _COLUMNS)
    if times.start is not None:
        return since if times.covers(since) else None
    known = next(iter(state.partitions(about.asset, limit=1)), None)
    if known is None or known.ordinal is None:
        return None
    return since if known.ordinal < times.ordinal(since) else None


def _others(
    asset: str, rule: Composite, times: TimePartitioning, start: str | None, state: StateReader
) -> int:
    """How many rows a table of time and the other dimensions would have at most."""
    others = [each for place, each in enumerate(rule.rules) if place != rule.in_time]
    static = [len(each.values) for each in others if isinstance(each, Static)]
    if len(static) == len(others):
        return prod(static)
    since = datetime.min.replace(tzinfo=UTC) if start is None else times.ordinal(start)
    return len(state.statuses(asset, start=since, end=datetime.max.replace(tzinfo=UTC)))


def _beside_time(
    project: Project, about: About, start: str | None, state: StateReader, clock: Clock
) -> Markup:
    found = service.grid(project, about.asset, state, start=start, clock=clock)
    if found is None or not found.cells:
        return _nothing(about)
    rows: dict[str, list[Cell]] = {}
    for cell in found.cells:
        rows.setdefault(cell.beside, []).append(cell)
    shown = {beside: rows[beside][-_COLUMNS:] for beside in list(rows)[:_BESIDE]}
    squares = squares_of(found.kind, next(iter(shown.values())))
    more = len(rows) - len(shown)
    return joined(
        _counts(found.counts),
        note(f"{len(found.cells):,} partitions, {found.cells[0].key} to {found.cells[-1].key}"),
        table(shown, squares.period, f"{about.asset}: the latest partitions"),
        note(f"… and {more:,} more rows") if more else "",
        _stretches(found),
    )


def _counts(counts: Mapping[Standing, int]) -> Markup:
    return line(*(badge(standing, counts[standing]) for standing in ORDER if counts.get(standing)))


def _stretches(grid: Grid) -> Markup:
    """What the colours say, in words: the latest keys that are not as they should be."""
    others = [each for each in grid.stretches() if each.standing != "succeeded"]
    lines = []
    for each in others[-_STRETCHES:]:
        keys = clipped(each.first, _NAME)
        if each.keys > 1:
            keys += f" … {clipped(each.last, _NAME)} ({each.keys:,} partitions)"
        lines.append(line(badge(each.standing), keys, margin="2px 0"))
    if len(others) > _STRETCHES:
        lines.append(note(f"… and {len(others) - _STRETCHES:,} more before these"))
    return element("div", lines, style={"margin": "6px 0"}) if lines else Markup()


def _whole(about: About) -> Markup:
    latest = about.latest
    if latest is None:
        return _nothing(about)
    return line(badge(latest.status), "" if latest.rows is None else _rows(latest.rows))


def _nothing(about: About) -> Markup:
    script = about.script
    if script is None:
        return note("It has no partition yet.")
    return note("It has no partition yet; ", code(f"tranche run {script.name}"), " makes one.")


def _listed(
    project: Project, about: About, rule: Partitioning | None, state: StateReader
) -> Markup:
    """Keys in a list, with bars as long as they have rows."""
    known = sum(about.outcomes.values())
    if isinstance(rule, Static):
        keys: Sequence[str | None] = rule.values[:_LISTED]
        states = state.standing(about.asset, list(keys))
        total = max(len(rule.values), known)
    else:
        page = service.partition_status(project, state, about.asset, limit=_LISTED)
        states = {each.partition: each for each in page.partitions}
        keys, total = list(states), known
    if not keys:
        return _nothing(about)
    counts: dict[Standing, int] = {s: about.outcomes[s] for s in ORDER if s in about.outcomes}
    if isinstance(rule, Static) and len(rule.values) > known:
        counts["missing"] = len(rule.values) - known
    active = running_keys(about.asset, state)
    most = max((each.rows or 0 for each in states.values()), default=0)
    body = [
        _row(key, states.get(key), is_active=key in active or None in active, most=most)
        for key in keys
    ]
    more = total - len(keys)
    return joined(
        _counts(counts),
        element("table", element("tbody", body), style=_TABLE),
        note(f"… and {more:,} more partitions") if more > 0 else "",
    )


def _row(key: str | None, state: PartitionState | None, *, is_active: bool, most: int) -> Markup:
    standing: Standing = "missing" if state is None else state.status
    if state is not None and state.provisional and state.status == "succeeded":
        standing = "provisional"
    if is_active:
        standing = "running"
    rows = None if state is None else state.rows
    name = "whole table" if key is None else clipped(key, _NAME)
    return element(
        "tr",
        _cell(name, title=key if key is not None and name != key else None),
        _cell(badge(standing)),
        _cell(_bar(rows, most, standing)),
    )


def _cell(inside: str, title: str | None = None) -> Markup:
    style = {"text-align": "left", "padding": "1px 14px 1px 0", "border": "none"}
    return element("td", inside, title=title, style={**style, "background": "none"})


def _bar(rows: int | None, most: int, standing: Standing) -> Markup:
    if rows is None:
        return Markup()
    wide = 0 if most == 0 else max(2, round(_BAR * rows / most))
    bar = element(
        "span",
        style={
            "display": "inline-block",
            "width": f"{wide}px",
            "height": "9px",
            "margin-right": "6px",
            "background": COLOURS[standing],
            "border-radius": "2px",
        },
    )
    return joined(bar if rows else "", element("span", _rows(rows), style=FAINT))


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"
