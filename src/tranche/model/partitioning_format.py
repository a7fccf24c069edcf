"""Key formats: strftime patterns that render a period as text and read it back.

Only directives of fixed width that mean the same in every locale and on every platform; `%q`,
the quarter, is ours. A format has to identify its period, and may say more than that: it then
renders the period's first hour.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple
from unicodedata import category

from tranche.errors import BadFormat
from tranche.model.partitioning_period import PERIODS
from tranche.model.partitioning_text import LONGEST, shown, unstorable
from tranche.model.partitioning_zone import DAY, HOUR

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "hourly": "%Y-%m-%dT%H",
        "daily": "%Y-%m-%d",
        "weekly": "%G-W%V",
        "monthly": "%Y-%m",
        "quarterly": "%Y-Q%q",
        "yearly": "%Y",
    }
)

_DIGITS = MappingProxyType({"Y": 4, "m": 2, "d": 2, "H": 2, "j": 3, "G": 4, "V": 2, "u": 1, "q": 1})
_OFFSET = r"[+-][0-9]{4}(?:[0-9]{2})?"
_INSTEAD = MappingProxyType(
    {
        "y": "%Y", "b": "%m", "B": "%m", "h": "%m", "a": "%u", "A": "%u", "w": "%u", "U": "%V",
        "W": "%V", "e": "%d", "I": "%H", "k": "%H", "F": "%Y-%m-%d", "Z": "%z",
    }
)  # fmt: skip

#: What identifies a period of each kind: any one of these, and the first that is there is read.
_DATES = ("Ymd", "Yj", "GVu")
_IDENTIFIES = MappingProxyType(
    {
        "hourly": ("YmdH", "YjH", "GVuH"),
        "daily": _DATES,
        "weekly": ("GV", "Ymd", "Yj"),
        "monthly": ("Ym", "Yj", "GVu"),
        "quarterly": ("Yq", "Ym", "Yj", "GVu"),
        "yearly": ("Y", "GVu"),
    }
)


class Reading(NamedTuple):
    """What a text says: the start of its period on the wall clock, and the offset if it has one."""

    label: datetime
    offset: int | None


class KeyFormat(NamedTuple):
    """A format, compiled. It knows the calendar but no time zone.

    >>> weekly = compile_format("weekly", "%Y-%m-%d (W%V)")
    >>> weekly.render(datetime(2026, 3, 16), None)
    '2026-03-16 (W12)'
    >>> weekly.read("2026-03-16 (W12)")
    Reading(label=datetime.datetime(2026, 3, 16, 0, 0), offset=None)
    """

    kind: str
    parts: tuple[tuple[str, str], ...]
    identifier: str
    pattern: re.Pattern[str]

    @property
    def has_offset(self) -> bool:
        """Whether keys tell their offset from UTC."""
        return any(directive == "z" for _, directive in self.parts)

    def render(self, label: datetime, offset: int | None) -> str:
        """The text for the period that begins at `label`."""
        return "".join(
            literal + (_FIELDS[directive](label, offset or 0) if directive else "")
            for literal, directive in self.parts
        )

    def offset(self, seconds: int | None) -> str:
        """How keys tell an offset from UTC; nothing if they tell none."""
        return _FIELDS["z"](datetime.min, seconds or 0) if self.has_offset else ""

    def read(self, text: str) -> Reading | None:
        """What `text` says, or None when no period of this kind renders to it."""
        match = self.pattern.fullmatch(text)
        if match is None:
            return None
        fields = match.groupdict()
        offset = _seconds(fields["z"]) if "z" in fields else None
        try:
            day = _day({name: int(fields[name]) for name in self.identifier}, self.identifier)
        except (ValueError, OverflowError):
            return None
        hour = int(fields["H"]) if "H" in self.identifier else 0
        period = PERIODS[self.kind]
        wall = (day.toordinal() - 1) * DAY + hour * HOUR
        label = datetime.min + timedelta(seconds=period.start(period.number(wall)))
        return Reading(label, offset) if self.render(label, offset) == text else None


@lru_cache(maxsize=1024)
def compile_format(kind: str, text: str) -> KeyFormat:
    """The format for keys of that kind.

    >>> compile_format("weekly", "%Y-W%V")
    Traceback (most recent call last):
    tranche.errors.BadFormat: format '%Y-W%V' does not identify a week: %G is missing; \
use %G, the year that the ISO week belongs to, in place of %Y: they differ around New Year
    """
    if not isinstance(text, str) or not text:
        raise BadFormat(f"format {shown(text)} is no text", f"use {DEFAULTS[kind]!r} or the like")
    if reason := _unfit(text):
        raise BadFormat(f"format {shown(text)} cannot make keys: {reason}", "use printable text")
    parts = tuple(_split(text))
    directives = {directive for _, directive in parts if directive}
    if "z" in directives and kind != "hourly":
        raise BadFormat(
            f"format {shown(text)} has %z, and a {PERIODS[kind].noun} has no one offset",
            "leave %z out; only hourly keys can have it",
        )
    identifier = next((each for each in _IDENTIFIES[kind] if directives.issuperset(each)), None)
    if identifier is None:
        raise _unidentified(kind, text, directives)
    return KeyFormat(kind, parts, identifier, re.compile(_regex(parts)))


def _unfit(text: str) -> str | None:
    for char in text:
        # Controls, and the characters that end a line in some readers but not in others.
        if char != "\0" and category(char) in ("Cc", "Zl", "Zp"):
            return f"it holds the control character {char!r}"
    # Directives may render up to three characters longer than they are written, %z five.
    return unstorable(text) or (
        f"its keys would be longer than {LONGEST} characters" if len(text) > LONGEST // 4 else None
    )


def _split(text: str) -> list[tuple[str, str]]:
    """Pairs of literal text and the directive after it, which is empty at the end."""
    parts = []
    literal = ""
    rest = iter(text)
    for char in rest:
        if char != "%":
            literal += char
            continue
        directive = next(rest, "")
        if directive == "%":
            literal += "%"
        elif directive in _FIELDS:
            parts.append((literal, directive))
            literal = ""
        else:
            raise _unknown(text, directive)
    return [*parts, (literal, "")] if literal else parts


def _regex(parts: tuple[tuple[str, str], ...]) -> str:
    regex, seen = "", set()
    for literal, directive in parts:
        regex += re.escape(literal)
        if directive in seen:
            regex += f"(?P={directive})"
        elif directive:
            digits = _OFFSET if directive == "z" else f"[0-9]{{{_DIGITS[directive]}}}"
            regex += f"(?P<{directive}>{digits})"
            seen.add(directive)
    return regex


def _unknown(text: str, directive: str) -> BadFormat:
    known = " ".join(f"%{each}" for each in (*_FIELDS, "%"))
    if not directive:
        return BadFormat(f"format {shown(text)} ends in a single %", f"write %% or one of {known}")
    instead = _INSTEAD.get(directive)
    return BadFormat(
        f"format {shown(text)} has the unknown directive %{directive}",
        (f"use {instead}; " if instead else "") + f"the directives are {known}",
    )


def _unidentified(kind: str, text: str, directives: set[str]) -> BadFormat:
    choices = _IDENTIFIES[kind]
    nearest = min(choices, key=lambda each: len(set(each) - directives))
    missing = [each for each in nearest if each not in directives]
    if "G" in missing and "Y" in directives:
        remedy = (
            "use %G, the year that the ISO week belongs to, in place of %Y: "
            "they differ around New Year"
        )
    elif "Y" in missing and "G" in directives:
        remedy = "use %Y, the calendar year, in place of %G: they differ around New Year"
    else:
        needed = ", or ".join(" ".join(f"%{each}" for each in choice) for choice in choices)
        remedy = f"{_an(kind)} format needs {needed}"
    verb = "is" if len(missing) == 1 else "are"
    return BadFormat(
        f"format {shown(text)} does not identify {_an(PERIODS[kind].noun)}: "
        f"{' and '.join(f'%{each}' for each in missing)} {verb} missing",
        remedy,
    )


def _an(noun: str) -> str:
    return f"an {noun}" if noun.startswith("hour") else f"a {noun}"


def _day(fields: dict[str, int], identifier: str) -> date:
    match identifier.removesuffix("H"):
        case "Ymd":
            return date(fields["Y"], fields["m"], fields["d"])
        case "Yj":
            return date(fields["Y"], 1, 1) + timedelta(days=fields["j"] - 1)
        case "GV" | "GVu":
            return date.fromisocalendar(fields["G"], fields["V"], fields.get("u", 1))
        case "Yq":
            return date(fields["Y"], 3 * fields["q"] - 2, 1)
        case _:
            return date(fields["Y"], fields.get("m", 1), 1)


def _seconds(text: str) -> int:
    hours, minutes, seconds = int(text[1:3]), int(text[3:5]), int(text[5:7] or "0")
    return (hours * HOUR + minutes * 60 + seconds) * (-1 if text[0] == "-" else 1)


def _offset(seconds: int) -> str:
    """
    >>> _offset(19800), _offset(-561)
    ('+0530', '-000921')
    """
    minutes, rest = divmod(abs(seconds), 60)
    sign = "-" if seconds < 0 else "+"
    return f"{sign}{minutes // 60:02}{minutes % 60:02}" + (f"{rest:02}" if rest else "")


_FIELDS: Mapping[str, Callable[[datetime, int], str]] = MappingProxyType(
    {
        "Y": lambda label, _: f"{label.year:04}",
        "m": lambda label, _: f"{label.month:02}",
        "d": lambda label, _: f"{label.day:02}",
        "H": lambda label, _: f"{label.hour:02}",
        "j": lambda label, _: f"{label.timetuple().tm_yday:03}",
        "G": lambda label, _: f"{label.isocalendar().year:04}",
        "V": lambda label, _: f"{label.isocalendar().week:02}",
        "u": lambda label, _: str(label.isoweekday()),
        "q": lambda label, _: str((label.month + 2) // 3),
        "z": lambda _, offset: _offset(offset),
    }
)
