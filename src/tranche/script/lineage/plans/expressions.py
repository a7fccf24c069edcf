"""What an expression of a plan is made of.

No grammar of it is written down anywhere. So all columns that stand in it are found by their
numbers, and then it is looked for places where they have a say and are no values.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tranche.model.lineage import Kind, Unknown, Why
from tranche.script.lineage.plans.scopes import Reference, Scope
from tranche.script.lineage.plans.text import Unreadable, arguments, closing
from tranche.script.lineage.relations import Column, Relation
from tranche.script.lineage.values import (
    NOTHING,
    Value,
    element,
    field_of,
    influenced,
    made,
    merged,
    with_unknown,
)
from tranche.script.ranges.aggregates import AGGREGATES

_ODD = Unknown("an expression of the plan has a form that is not known")
_CALL = re.compile(r"(\w+)\(")
_SAYING: tuple[tuple[re.Pattern[str], Why], ...] = (
    (re.compile(r"\bwindowspecdefinition(?=\()"), "window"),
    (re.compile(r"\bif (?=\()"), "conditional"),
    (re.compile(r" FILTER (?=\(WHERE )"), "filter"),
)
"""What stands before brackets in which columns have a say."""
_CASE = re.compile(r"\b(CASE WHEN|WHEN|THEN|END)\b")
_ORDER = re.compile(r" (?:ASC|DESC) NULLS (?:FIRST|LAST)$")
_OF_ANOTHER_ROW = frozenset({"first", "first_value", "last", "last_value"})
_FIELD = re.compile(r"\.(\w+)")
_BEHIND = re.compile(r"$|[^\w. ]| (?:[^\w]|(?:AND|OR|AS|as|IN|ASC|DESC|THEN|ELSE|WHEN|END|LIKE)\b)")
"""What can follow the name of a field; otherwise the name may have more words."""
_STRUCT = re.compile(r"(?:named_struct|struct)(?=\()")
_CAST = re.compile(r"cast\((.*) as [\w<>:,() ]+\)", re.DOTALL)
_ELEMENT = re.compile(r"(.*)\[\w*\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a text in which columns have a say, or go into one value of many rows."""

    start: int
    end: int
    why: Why | None = None
    """None for an aggregate."""

    def holds(self, reference: Reference) -> bool:
        return self.start <= reference.start and reference.end <= self.end


def value_of(
    text: str, scope: Scope, *, groups: Collection[str] | None = None, windowed: bool = False
) -> Value:
    """What goes into an expression; `groups` are what an aggregate's rows are grouped by."""
    whole = _plain(text, scope)
    if whole is not None:
        return whole
    struct = _struct(text, scope, groups)
    if struct is not None:
        return struct
    try:
        regions = [*_saying(text), *_conditions(text), *_calls(text, windowed=windowed)]
    except Unreadable:
        # A value may hold brackets, so that it is not known where something ends.
        return with_unknown(merged((r.value for r in _found(text, scope)), "expression"), _ODD)
    direct: list[Value] = []
    saying: list[Value] = []
    for reference in _found(text, scope):
        around = [region for region in regions if region.holds(reference)]
        says = max((r for r in around if r.why), key=lambda r: r.end - r.start, default=None)
        if says is not None and says.why is not None:
            saying.append(influenced(NOTHING, reference.value, says.why))
            continue
        kind: Kind = "expression"
        if around or (groups is not None and not _grouped(text, reference, groups)):
            kind = "aggregation"
        direct.append(made(reference.value, kind))
    return merged([*direct, *saying])


def uncast(text: str) -> str:
    """An expression without what gives it a type, as views do with all of their columns.

    >>> uncast("cast(id#1 as bigint)")
    'id#1'
    """
    found = _CAST.fullmatch(text)
    return found[1] if found else text


def _plain(text: str, scope: Scope) -> Value | None:
    """A column, a field or an element of one, or what a subquery gives, as it is."""
    found = list(_found(text, scope))
    if len(found) == 1 and (found[0].start, found[0].end) == (0, len(text)):
        return found[0].value
    part = _ELEMENT.fullmatch(text)
    inner = None if part is None else _plain(part[1], scope)
    return None if inner is None else element(inner)


def _found(text: str, scope: Scope) -> Iterator[Reference]:
    """What an expression uses, with the fields of it."""
    for reference in scope.references(text):
        end, value, names = reference.end, reference.value, []
        while reference.column and (field := _FIELD.match(text, end)):
            names.append(field[1])
            end = field.end()
        if not names or not _BEHIND.match(text, end):
            yield reference
            continue
        for name in names:
            value = field_of(value, name)
        yield Reference(reference.start, end, value)


def _struct(text: str, scope: Scope, groups: Collection[str] | None) -> Value | None:
    """A struct, whose fields are known one by one."""
    found = _STRUCT.match(text)
    if found is None:
        return None
    try:
        parts = [text[start:end] for start, end in arguments(text, found.end())]
        if closing(text, found.end()) != len(text) - 1 or len(parts) % 2:
            return None
    except Unreadable:
        return None
    pairs = zip(parts[::2], parts[1::2], strict=True)
    columns = tuple(Column(name, value_of(each, scope, groups=groups)) for name, each in pairs)
    whole = merged((column.value for column in columns), "expression")
    return Value(whole.direct, whole.indirect, whole.unknown, fields=Relation(columns))


def _saying(text: str) -> Iterator[Region]:
    for pattern, why in _SAYING:
        for found in pattern.finditer(text):
            yield Region(found.end(), closing(text, found.end()), why)


def _conditions(text: str) -> Iterator[Region]:
    """What stands between WHEN and THEN."""
    waiting: list[int | None] = []
    for found in _CASE.finditer(text):
        match found[1]:
            case "CASE WHEN":
                waiting.append(found.end())
            case "WHEN" if waiting:
                waiting[-1] = found.end()
            case "THEN" if waiting:
                start = waiting[-1]
                if start is None:
                    raise Unreadable("a THEN without a WHEN")
                yield Region(start, found.start(), "conditional")
                waiting[-1] = None
            case "END" if waiting:
                waiting.pop()
    if waiting:
        raise Unreadable("a CASE does not end")


def _calls(text: str, *, windowed: bool) -> Iterator[Region]:
    """Functions that make one value of many rows, or pick one of several."""
    for found in _CALL.finditer(text):
        name, opens = found[1].lower(), found.end() - 1
        if name in ("nvl2", "decode", "pivotfirst", "max_by", "min_by"):
            yield from _picking(name, arguments(text, opens))
        if name in AGGREGATES and not (windowed and name in _OF_ANOTHER_ROW):
            yield Region(opens, closing(text, opens))
            for start, end in arguments(text, opens):
                if _ORDER.search(text[start:end]):
                    yield Region(start, end, "order")


def _picking(name: str, given: Sequence[tuple[int, int]]) -> Iterator[Region]:
    """The arguments by which a function picks."""
    if name in ("max_by", "min_by"):
        yield from (Region(*each, "order") for each in given[1:])
        return
    conditions = [*given[:1]]
    if name == "decode" and len(given) > 2:
        # `decode(value, search, result, …, default)`.
        conditions += given[1 : len(given) - 1 : 2]
    yield from (Region(*each, "conditional") for each in conditions)


def _grouped(text: str, reference: Reference, groups: Collection[str]) -> bool:
    """Whether a column is used as a part of what rows are grouped by."""
    for group in groups:
        at = text.find(group)
        while group and at >= 0:
            if at <= reference.start and reference.end <= at + len(group):
                return True
            at = text.find(group, at + 1)
    return False
