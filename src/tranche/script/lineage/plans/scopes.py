"""What the numbers in a plan stand for: the columns that a node is given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tranche.model.lineage import Influence, Unknown
from tranche.script.lineage.values import Value

_NUMBER = re.compile(r"#(\d+)L?")
_COLUMN = re.compile(r"(?<!lambda )\b\w+$|`$")
_SUBQUERY = re.compile(r"(?:scalar-subquery|exists|list|lateral-subquery)#(\d+) \[[^\]]*\]")
"""A subquery, with the columns around it that it uses."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of a node."""

    number: int | None
    """None where the text of the plan does not tell it."""
    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Given:
    """What a node gives: columns in their order, and what has a say in which rows there are."""

    columns: tuple[Attribute, ...] = ()
    rows: frozenset[Influence] = frozenset()
    unknown: frozenset[Unknown] = frozenset()
    closed: Unknown | None = None
    """Why it is not known which columns it has, if it is not."""

    def values(self) -> Iterator[Value]:
        return (column.value for column in self.columns)


@dataclass(frozen=True, slots=True)
class Reference:
    """A place in a text where a value is used."""

    start: int
    end: int
    value: Value
    column: bool = True
    """Whether it is a column, and no subquery."""
    sure: bool = True
    """Whether it is known what is used."""

    def covers(self, other: Reference) -> bool:
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that expressions of a node can use."""

    given: tuple[Given, ...]
    outer: Scope | None = None
    subqueries: Mapping[int, Value] = field(default_factory=dict)
    numbers: Mapping[int, Attribute] = field(init=False)
    numberless: tuple[Attribute, ...] = field(init=False)

    def __post_init__(self) -> None:
        columns = [column for given in self.given for column in given.columns]
        # Of two of one number, which have the same value, it is the first.
        numbers = {c.number: c for c in reversed(columns) if c.number is not None}
        object.__setattr__(self, "numbers", numbers)
        numberless = tuple(column for column in columns if column.number is None)
        object.__setattr__(self, "numberless", numberless)

    def references(self, text: str) -> Iterator[Reference]:
        """All that a text uses: columns from the last to the first, then subqueries."""
        subqueries = [
            Reference(found.start(), found.end(), self.subqueries[int(found[1])], column=False)
            for found in _SUBQUERY.finditer(text)
            if int(found[1]) in self.subqueries
        ]
        columns = [
            reference
            for found in _NUMBER.finditer(text)
            if (reference := self._column(text, found)) is not None
        ]
        first = len(text)
        for each in reversed(columns):
            # A name may hold what looks like another.
            if each.start < first and not any(other.covers(each) for other in subqueries):
                yield each
                first = min(first, each.start) if each.sure else first
        yield from subqueries

    def uses(self, text: str) -> bool:
        """Whether something of it is used for certain."""
        return any(reference.sure for reference in self.references(text))

    def column(self, name: str, number: int) -> Value | None:
        """The value of a column of that name and number, if there is one."""
        found = self._numbered(number)
        if found is None and not self._closed():
            found = self._named(name)
        return found.value if found is not None and found.name.lower() == name.lower() else None

    def exactly(self, text: str) -> Value | None:
        """The value of a column, if the text is that and nothing else."""
        found = list(self.references(text))
        whole = len(found) == 1 and (found[0].start, found[0].end) == (0, len(text))
        return found[0].value if whole and found[0].column else None

    def _column(self, text: str, found: re.Match[str]) -> Reference | None:
        number, before = int(found[1]), text[: found.start()]
        closed = self._closed()
        attribute = self._numbered(number) or (None if closed else self._named(before))
        if attribute is not None:
            name = _ending(before, attribute.name)
            if name is not None:
                return Reference(found.start() - len(name), found.end(), attribute.value)
        if attribute is None and not closed and not _COLUMN.search(before):
            # The number of a function of Python, or of what a function calls an element.
            return None
        if attribute is not None or not closed:
            # A value that looks like a column, most likely.
            lost = _last(before) + found[0]
            closed = frozenset({Unknown(f"what {lost} is in the plan of the frame is not known")})
        return Reference(found.start(), found.end(), Value(unknown=closed), sure=False)

    def _numbered(self, number: int) -> Attribute | None:
        found = self.numbers.get(number)
        return found if found or self.outer is None else self.outer._numbered(number)

    def _named(self, before: str) -> Attribute | None:
        """A column whose number the plan does not tell."""
        for column in self.numberless:
            if re.search(rf"\b{column.name}$", before):
                return column
        return None if self.outer is None else self.outer._named(before)

    def _closed(self) -> frozenset[Unknown]:
        own = frozenset(given.closed for given in self.given if given.closed is not None)
        return own if self.outer is None else own | self.outer._closed()


def _ending(text: str, name: str) -> str | None:
    """The name at the end of a text, which may be told in another case."""
    names = [name, name.rpartition(" AS ")[2]]
    ends = (each for each in names if text[-len(each) :].lower() == each.lower())
    return next(ends, None)


def _last(text: str) -> str:
    found = re.search(r"\w*$", text)
    return found[0] if found else ""
