"""What names mean inside one SELECT."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tranche.model.asset import AssetUri
from tranche.model.lineage import Influence, Unknown
from tranche.script.lineage.relations import (
    Candidate,
    Column,
    Item,
    Relation,
    Rest,
    candidates,
    without,
)
from tranche.script.lineage.values import NOTHING, Value, field_of, influences, merged, with_unknown


@dataclass(frozen=True, slots=True)
class Source:
    """A relation by the names that its columns can be called with: its alias, or the parts of the
    table's name."""

    names: tuple[str, ...]
    relation: Relation

    def qualified(self, parts: Sequence[str]) -> int:
        """How many parts of a name are the relation's; 0 if they are of something else."""
        sizes = range(min(len(self.names), len(parts)), 0, -1)
        lowered = tuple(part.lower() for part in parts)
        return next((size for size in sizes if lowered[:size] == self.names[-size:]), 0)


@dataclass(slots=True)
class Scope:
    """One SELECT while it is read: what it reads from, and what it has shown so far."""

    parent: Scope | None = None
    """The query around it, whose columns it may use."""
    ctes: Mapping[str, Relation] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    shown: tuple[Item, ...] = ()
    """What `*` shows: all columns, those that a join is by only once."""
    rows: set[Influence] = field(default_factory=set)
    unknown: set[Unknown] = field(default_factory=set)
    aliases: dict[str, Value] = field(default_factory=dict)
    """The columns of the SELECT itself, as far as it was read."""
    windows: dict[str, exp.Expr] = field(default_factory=dict)
    parameters: Mapping[str, Value] = field(default_factory=dict)
    """Those of the lambda functions around."""
    below: Scope | None = None
    """What aggregates see, where the columns of the SELECT can be named too."""

    def inside(self, parameters: Mapping[str, Value]) -> Scope:
        """The same within a lambda function."""
        return replace(self, parameters={**self.parameters, **parameters})

    def over(self, items: Iterable[Item]) -> Scope:
        """Where columns of the SELECT are meant before those that it reads: behind it."""
        return Scope(
            parent=self, ctes=self.ctes, shown=tuple(items), windows=self.windows, below=self
        )

    def add(self, source: Source) -> None:
        self.sources.append(source)
        self.shown = (*self.shown, *source.relation.items)
        self.rows |= source.relation.rows
        self.unknown |= source.relation.unknown

    def join(self, other: Scope) -> None:
        """Takes in what stands beside."""
        self.sources += other.sources
        self.shown = (*self.shown, *other.shown)
        self.take_rows(other)

    def take_rows(self, other: Scope) -> None:
        self.rows |= other.rows
        self.unknown |= other.unknown

    @property
    def stars(self) -> frozenset[AssetUri]:
        """The tables all of whose columns `*` shows."""
        return frozenset(asset for source in self.sources for asset in source.relation.stars)


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it stands in the text."""

    parts: tuple[str, ...]
    line: int | None = None

    def __str__(self) -> str:
        return ".".join(self.parts)

    def unknown(self, what: str) -> Value:
        return Value(unknown=frozenset({Unknown(what, self.line)}))


def resolve(scope: Scope, name: Name, variables: Mapping[str, Value]) -> Value:
    """What a name with or without the name of a table means, and the fields behind it.

    A column of the query itself is meant before one of the query around it, and a column before an
    alias of the same SELECT, and that before a variable.
    """
    if name.parts[0].lower() in scope.parameters:
        return _fields(scope.parameters[name.parts[0].lower()], name.parts[1:])
    doubts: list[Candidate] = []
    level: Scope | None = scope
    while level is not None:
        qualified = _qualified(level, name.parts)
        found = qualified or _unqualified(level, name.parts)
        certain = [each for each in found if each.certain]
        if len(certain) > 1:
            return name.unknown(f"{name} may be any of several columns of that name")
        if certain and qualified:
            # That something nearer has a column which is called like the table is far-fetched, and
            # of a table whose columns are not known every column counts as read.
            return certain[0].value
        if certain:
            return _settled(name, certain[0].value, doubts)
        doubts += found
        alias = level.aliases.get(name.parts[0].lower())
        if alias is not None:
            return _settled(name, _fields(alias, name.parts[1:]), doubts)
        level = level.parent
    variable = variables.get(name.parts[-1].lower())
    if variable is not None and len(name.parts) <= 3:
        return _settled(name, variable, doubts)
    if not doubts:
        return name.unknown(f"nothing that is read has a column {name}")
    same = all(doubt.value.direct == doubts[0].value.direct for doubt in doubts)
    return doubts[0].value if same else _in_doubt(name, doubts)


def _settled(name: Name, value: Value, doubts: list[Candidate]) -> Value:
    """What a name means, unless something nearer may have a column of that name too."""
    others = [doubt for doubt in doubts if doubt.value.direct != value.direct]
    return value if not others else _in_doubt(name, others)


def _in_doubt(name: Name, doubts: list[Candidate]) -> Value:
    where = " or of ".join(dict.fromkeys(doubt.label for doubt in doubts))
    return name.unknown(f"{name} may be a column of {where}, whose columns are not known")


def _qualified(scope: Scope, parts: Sequence[str]) -> list[Candidate]:
    """What a name means that begins with that of a relation."""
    named = [(source, size) for source in scope.sources if (size := source.qualified(parts[:-1]))]
    longest = max((size for _, size in named), default=0)
    return [
        candidate
        for source, size in named
        if size == longest
        for candidate in _of_source(source, parts[size:])
    ]


def _of_source(source: Source, parts: Sequence[str]) -> Iterable[Candidate]:
    first, *fields = parts
    found = candidates(source.relation.items, first)
    if any(each.certain for each in found):
        found = [each for each in found if each.certain]
    elif len(found) == 1:
        # The name of the table stands before it, so that it can be of nothing else.
        found = [replace(found[0], certain=True)]
    hidden = source.relation.hidden(first)
    if not found and hidden is not None:
        found = [Candidate(hidden, certain=True)]
    return [replace(each, value=_fields(each.value, fields)) for each in found]


def _unqualified(scope: Scope, parts: Sequence[str]) -> list[Candidate]:
    first, *fields = parts
    found = candidates(scope.shown, first)
    if not found:
        hidden = [source.relation.hidden(first) for source in scope.sources]
        found = [Candidate(value, certain=True) for value in hidden if value is not None]
    certain = [each for each in found if each.certain]
    # A query that runs has no two columns that an unqualified name could mean.
    return [replace(each, value=_fields(each.value, fields)) for each in certain or found]


def _fields(value: Value, names: Sequence[str]) -> Value:
    for name in names:
        value = field_of(value, name)
    return value


def find_source(scope: Scope, parts: Sequence[str]) -> Source | None:
    """The relation that `t.*` is about, of this query or one around it."""
    level: Scope | None = scope
    while level is not None:
        for source in level.sources:
            if source.qualified(parts) == len(parts):
                return source
        level = level.parent
    return None


def using(scope: Scope, right: Scope, names: Sequence[str], side: str) -> None:
    """Joins by columns of the same name, which are there once then."""
    both: list[Item] = []
    for name in names:
        ours, theirs = _one(scope.shown, name), _one(right.shown, name)
        both.append(Column(name, _joined(ours, theirs, side)))
        for value in (ours, theirs):
            scope.rows |= influences(value, "join")
            scope.unknown |= value.unknown
    shown = (*both, *without(scope.shown, names), *without(right.shown, names))
    scope.join(right)
    scope.shown = shown


def _one(items: Iterable[Item], name: str) -> Value:
    found = candidates(items, name)
    certain = [each for each in found if each.certain]
    if len(certain or found) == 1:
        return (certain or found)[0].value
    return with_unknown(NOTHING, Unknown(f"which column {name} of USING is meant is not known"))


def _joined(ours: Value, theirs: Value, side: str) -> Value:
    match side:
        case "RIGHT":
            return theirs
        case "FULL":
            return merged([ours, theirs], "expression")
        case _:
            return ours


def common_names(one: Iterable[Item], other: Iterable[Item]) -> list[str] | None:
    """The columns of NATURAL JOIN; None if they cannot be told."""
    left, right = list(one), list(other)
    if any(isinstance(item, Rest) for item in (*left, *right)):
        return None
    theirs = {item.name.lower() for item in right if isinstance(item, Column)}
    return [item.name for item in left if isinstance(item, Column) and item.name.lower() in theirs]
