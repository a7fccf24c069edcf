"""Drawings of squares: a calendar, and a table of time and what stands beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tranche.notebook.markup import Markup, clipped, element
from tranche.notebook.paint import COLOURS, ORDER, picture
from tranche.notebook.squares import Period, Square, Squares, gathered
from tranche.planning.board import Standing
from tranche.planning.grid import Cell

_SIDE, _GAP = 13, 2
_WIDTHS: Mapping[Period, int] = {"month": 44, "quarter": 60, "year": 44}
"""Squares of long periods have room to show which part of them stands how."""
_LEFT, _TOP = 54, 18
_LEAST = 11
"""How wide a part of a square is at least."""
_BESIDE = 22
"""How many letters there is room for of what stands beside time."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SHAPES: Mapping[Standing, tuple[str, bool]] = {
    "failed": ("m-3-3l6 6m0-6l-6 6", False),
    "cancelled": ("m-3 3l6-6", False),
    "running": ("m-2.5-3.5l6 3.5l-6 3.5z", True),
    "stale": ("m-3.5-1a3.5 3.5 0 0 0 7 0z", True),
    "provisional": ("m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0z", True),
}
"""Signs, drawn from the middle of a square on, and whether they are filled."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A square in its row and column."""

    square: Square
    row: int
    column: int


def calendar(squares: Squares, label: str) -> Markup:
    """Squares of one dimension, by the calendar."""
    period, each = squares.period, squares.squares
    placed, rows = _by_calendar(period, each)
    columns = _columns(period, placed)
    return _drawing(period, placed, rows, columns, _LEFT, label)


def table(rows: Mapping[str, Sequence[Cell]], period: Period, label: str) -> Markup:
    """A row for each of what stands beside time, a column for each period."""
    found = {beside: gathered(cells, period) for beside, cells in rows.items()}
    begins = sorted({square.begins for squares in found.values() for square in squares})
    places = {at: column for column, at in enumerate(begins)}
    placed = [
        _Placed(square, row, places[square.begins])
        for row, squares in enumerate(found.values())
        for square in squares
    ]
    names = {row: clipped(beside, _BESIDE) for row, beside in enumerate(found)}
    left = 10 + 7 * max(map(len, names.values()))
    columns = {0: _named(period, begins[0])}
    if len(begins) * (_WIDTHS.get(period, _SIDE) + _GAP) > 240:
        columns[len(begins) - 5] = _named(period, begins[-1])
    return _drawing(period, placed, names, columns, left, label)


def _drawing(
    period: Period,
    placed: Sequence[_Placed],
    rows: Mapping[int, str],
    columns: Mapping[int, str],
    left: int,
    label: str,
) -> Markup:
    wide = _WIDTHS.get(period, _SIDE)
    high = _SIDE + (3 if wide > _SIDE else 0)
    across, down = wide + _GAP, high + _GAP
    last = max(p.column for p in placed)
    headings = [(column, text) for column, text in columns.items() if column <= last]
    return picture(
        element(
            "g",
            [_text(text, left + column * across, _TOP - 6) for column, text in headings],
            [_text(text, 0, _TOP + row * down + high - 3) for row, text in rows.items()],
            opacity=0.8,
        ),
        *(_square(p.square, left + p.column * across, _TOP + p.row * down, wide) for p in placed),
        wide=left + last * across + max(wide, 60) + 4,
        high=_TOP + max(p.row for p in placed) * down + high + 3,
        label=label,
    )


def _by_calendar(
    period: Period, squares: Sequence[Square]
) -> tuple[list[_Placed], Mapping[int, str]]:
    """The places of squares, and what the rows are called."""
    if period == "day":
        monday = squares[0].begins.toordinal() - squares[0].begins.weekday()
        days = ((square, square.begins.toordinal() - monday) for square in squares)
        weekdays = {0: "Mon", 2: "Wed", 4: "Fri", 6: "Sun"}
        return [_Placed(square, day % 7, day // 7) for square, day in days], weekdays
    names: dict[str, int] = {}
    placed = []
    for square in squares:
        name, column = _row(period, square.begins)
        placed.append(_Placed(square, names.setdefault(name, len(names)), column))
    return placed, {row: name for name, row in names.items()}


def _row(period: Period, at: datetime) -> tuple[str, int]:
    match period:
        case "hour":
            return f"{at.day} {_MONTHS[at.month - 1]}", at.hour
        case "week":
            year, week, _ = at.isocalendar()
            return f"{year}", week - 1
        case "month":
            return f"{at.year}", at.month - 1
        case "quarter":
            return f"{at.year}", (at.month - 1) // 3
        case _:
            return f"{at.year // 10 * 10}s", at.year % 10


def _columns(period: Period, placed: Iterable[_Placed]) -> Mapping[int, str]:
    """What columns are called."""
    match period:
        case "hour":
            return {hour: f"{hour} h" for hour in (0, 6, 12, 18)}
        case "day":
            return dict(_months(placed))
        case "week":
            return {week: f"W{week + 1}" for week in (0, 12, 25, 38)}
        case "month":
            return dict(enumerate(_MONTHS))
        case "quarter":
            return {quarter: f"Q{quarter + 1}" for quarter in range(4)}
        case "year":
            return {year: f"… {year}" for year in range(10)}


def _months(placed: Iterable[_Placed]) -> Iterator[tuple[int, str]]:
    """The months of a calendar of days, where they begin; years where they do."""
    last, free = 0, 0
    for each in placed:
        at = each.square.begins
        if at.month != last:
            text = _MONTHS[at.month - 1]
            if last == 0 or at.month == 1:
                text += f" {at.year}"
            last = at.month
            if each.column >= free:
                free = each.column + len(text) // 2
                yield each.column, text


def _named(period: Period, at: datetime) -> str:
    match period:
        case "hour":
            return f"{at:%Y-%m-%dT%H}"
        case "day":
            return f"{at:%Y-%m-%d}"
        case "week":
            return f"{at:%G-W%V}"
        case "month":
            return f"{at:%Y-%m}"
        case "quarter":
            return f"{at.year}-Q{(at.month + 2) // 3}"
        case "year":
            return f"{at.year}"


def _square(square: Square, x: float, y: float, wide: int) -> Markup:
    high = _SIDE + (3 if wide > _SIDE else 0)
    title = element("title", square.label)
    if len(square.counts) == 1 or (wide == _SIDE and square.worst != "missing"):
        return element("g", title, _part(square.worst, x, y, wide, high))
    frame = _part("missing", x, y, wide, high)
    if wide == _SIDE:
        done = high * (1 - square.counts["missing"] / square.keys)
        return element("g", title, frame, _filled("succeeded", x, y + high - done, wide, done))
    parts = [frame]
    for standing, width in _shares(square, wide):
        if standing != "missing":
            parts.append(_part(standing, x, y, width, high))
        x += width
    return element("g", title, parts)


def _shares(square: Square, wide: int) -> list[tuple[Standing, float]]:
    """How much of a square each standing has, what is well first; none is too small to be seen."""
    told = [standing for standing in reversed(ORDER) if standing in square.counts]
    least = min(_LEAST, wide / len(told))
    room = wide - least * len(told)
    return [(s, least + room * square.counts[s] / square.keys) for s in told]


def _part(standing: Standing, x: float, y: float, wide: float, high: float) -> Markup:
    """A square, or a part of one, with its sign."""
    if standing == "missing":
        return element(
            "rect",
            x=x + 0.5,
            y=y + 0.5,
            width=wide - 1,
            height=high - 1,
            rx=2.5,
            fill=COLOURS[standing],
            fill_opacity=0.07,
            stroke=COLOURS[standing],
            stroke_opacity=0.6,
        )
    filled = _filled(standing, x, y, wide, high)
    if standing not in _SHAPES:
        return filled
    path, solid = _SHAPES[standing]
    sign = element(
        "path",
        d=f"M{x + wide / 2:.1f} {y + high / 2:.1f}{path}",
        fill="#fff" if solid else "none",
        stroke=None if solid else "#fff",
        stroke_width=None if solid else 1.7,
        pointer_events="none",
    )
    return Markup(filled + sign)


def _filled(standing: Standing, x: float, y: float, wide: float, high: float) -> Markup:
    return element("rect", x=x, y=y, width=wide, height=high, rx=2.5, fill=COLOURS[standing])


def _text(text: str, x: float, y: float) -> Markup:
    return element("text", text, x=x, y=y)
