"""Which rows somebody wants to look at, and in which order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, TypeAlias, get_args

from tranche.errors import FilterRejected
from tranche.model.partitioning_text import shown

Comparison: TypeAlias = Literal[
    "=", "!=", "<", "<=", ">", ">=", "contains", "is null", "is not null"
]
Kind: TypeAlias = Literal["number", "boolean", "date", "time", "text", "bytes", "nested"]
"""What can be compared with a column."""

COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)
_NAME = r"`(?:[^`]|``)+`|[^\s`=<>!]+"
_FILTER = re.compile(
    rf"\s*(?P<column>{_NAME})"
    r"(?:\s*(?P<sign><=|>=|!=|<>|==|=|<|>)|\s+(?P<word>contains|is\s+not\s+null|is\s+null)(?=\s|$))"
    r"(?P<value>.*)",
    re.DOTALL | re.IGNORECASE,
)
_ORDER = re.compile(rf"\s*(?P<column>{_NAME})(?:\s+(?P<way>asc|desc))?\s*", re.IGNORECASE)
_MOST_DIGITS = 400
"""Before or after the point: what a double has, and more than any other number."""
_SAME: dict[str, Comparison] = {"<>": "!=", "==": "="}
_WRITTEN: dict[Kind, str] = {
    "number": "a number",
    "boolean": "true or false",
    "date": "a date, such as 2026-05-16",
    "time": "a time, such as 2026-05-16 06:00:00",
    "text": "a text",
    "bytes": "bytes, such as 0x6162",
}


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A comparison of a column with a value, which rows have to pass."""

    column: str
    comparison: Comparison
    value: str | None = None
    """As somebody wrote it; None where the comparison needs none."""

    def __str__(self) -> str:
        return " ".join([self.column, self.comparison, *([self.value] if self.value else [])])

    @property
    def takes_value(self) -> bool:
        return not self.comparison.endswith("null")


@dataclass(frozen=True, slots=True)
class RowOrder:
    """A column that rows are sorted by; those without a value come last."""

    column: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows that pass all filters, in an order if there is one."""

    filters: tuple[RowFilter, ...] = ()
    order: tuple[RowOrder, ...] = ()
    longest: int | None = None
    """The characters or bytes after which a value is cut, for who only looks at it."""


EVERYTHING = Wanted()


def read_filter(text: str) -> RowFilter:
    """
    >>> read_filter("amount >= 10")
    RowFilter(column='amount', comparison='>=', value='10')
    >>> read_filter("`the city` = ' Rome'"), read_filter("city is not null").comparison
    (RowFilter(column='the city', comparison='=', value=' Rome'), 'is not null')
    """
    found = _FILTER.fullmatch(text)
    if found is None:
        raise FilterRejected(
            f"{shown(text)} compares no column with a value",
            f"write it like 'amount > 10', with {', '.join(COMPARISONS)}",
        )
    sign = " ".join((found["sign"] or found["word"]).lower().split())
    comparison: Comparison = _SAME.get(sign, sign)  # type: ignore[arg-type]
    value = _unquoted(found["value"].strip())
    if comparison.endswith("null"):
        if value:
            raise FilterRejected(f"{shown(text)} has something after {comparison!r}", "drop it")
        return RowFilter(_column(found["column"]), comparison)
    return RowFilter(_column(found["column"]), comparison, value)


def read_order(text: str) -> RowOrder:
    """
    >>> read_order("amount desc"), read_order("`the city`")
    (RowOrder(column='amount', descending=True), RowOrder(column='the city', descending=False))
    """
    found = _ORDER.fullmatch(text)
    if found is None:
        raise FilterRejected(
            f"{shown(text)} is no column to sort by", "write it like 'amount' or 'amount desc'"
        )
    return RowOrder(_column(found["column"]), (found["way"] or "").lower() == "desc")


def _column(text: str) -> str:
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def _unquoted(text: str) -> str:
    """What is in quotes may begin and end with spaces."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def find_column(name: str, columns: tuple[str, ...]) -> str:
    """The column of that name, whatever its case where that is plain."""
    if name in columns:
        return name
    alike = [each for each in columns if each.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    few = ", ".join(columns[:8]) + (" …" if len(columns) > 8 else "")
    raise FilterRejected(f"there is no column {shown(name)}", f"the columns are {few}")


def value_of(given: RowFilter, kind: Kind) -> Any:
    """The value of a filter as one that a column of that kind can be compared with.

    >>> value_of(RowFilter("amount", ">", "1e3"), "number")
    Decimal('1E+3')
    >>> value_of(RowFilter("amount", ">", "ten"), "number")
    Traceback (most recent call last):
    tranche.errors.FilterRejected: 'ten' cannot be compared with amount; it takes a number
    """
    text = given.value or ""
    if given.comparison == "contains":
        return text
    if kind == "nested":
        raise FilterRejected(
            f"{given.column} has parts, which have no order and no one value",
            "use contains, is null or is not null",
        )
    try:
        return _READ[kind](text)
    except (ValueError, OverflowError, InvalidOperation, KeyError):
        raise FilterRejected(
            f"{shown(text)} cannot be compared with {given.column}", f"it takes {_WRITTEN[kind]}"
        ) from None


def _number(text: str) -> Decimal:
    found = Decimal(text.strip())
    # What no column could hold, nothing here could compute with either.
    if found.is_snan() or (found.is_finite() and abs(found.adjusted()) > _MOST_DIGITS):
        raise ValueError(text)
    return found


def _time(text: str) -> datetime:
    found = datetime.fromisoformat(text.strip())
    if found.tzinfo is not None:
        # Near the ends of the calendar, another zone may have no such time.
        found.astimezone(UTC)
    return found


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x").removeprefix("0X"))


_READ: dict[Kind, Any] = {
    "number": _number,
    "boolean": lambda text: {"true": True, "false": False}[text.strip().lower()],
    "date": lambda text: date.fromisoformat(text.strip()),
    "time": _time,
    "text": str,
    "bytes": _bytes,
}
