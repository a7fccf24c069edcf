"""What an expression is made of, while a query is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tranche.model.lineage import KINDS, Influence, Kind, SourceColumn, Unknown, Why

if TYPE_CHECKING:
    from tranche.script.lineage.relations import Relation

_STRENGTH = {kind: strength for strength, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class Value:
    """The columns that go into a value, those that have a say in it, and what cannot be told."""

    direct: Mapping[SourceColumn, Kind] = field(default_factory=dict)
    indirect: frozenset[Influence] = frozenset()
    unknown: frozenset[Unknown] = frozenset()
    place: SourceColumn | None = None
    """The column or field that it is, or that it is an element of, so that its fields have names."""
    fields: Relation | None = None
    """The fields of a struct, where they are known."""

    def sources(self) -> Iterable[SourceColumn]:
        yield from self.direct
        yield from (influence.source for influence in self.indirect)


NOTHING = Value()


def of_column(source: SourceColumn, fields: Relation | None = None) -> Value:
    return Value({source: "identity"}, place=source, fields=fields)


def merged(values: Iterable[Value], least: Kind = "identity") -> Value:
    """One value of several; what goes in becomes at least of that kind."""
    direct: dict[SourceColumn, Kind] = {}
    indirect: set[Influence] = set()
    unknown: set[Unknown] = set()
    for value in values:
        for source, kind in value.direct.items():
            direct[source] = stronger(direct.get(source, least), stronger(kind, least))
        indirect |= value.indirect
        unknown |= value.unknown
    return Value(direct, frozenset(indirect), frozenset(unknown))


def stronger(one: Kind, other: Kind) -> Kind:
    return one if _STRENGTH[one] >= _STRENGTH[other] else other


def made(value: Value, kind: Kind = "expression") -> Value:
    """The value after something was done to it."""
    return merged([value], kind)


def element(value: Value) -> Value:
    """One of the values in an array or a map: another value, whose fields have the same names."""
    return replace(made(value), place=value.place, fields=value.fields)


def influenced(value: Value, by: Value, why: Why) -> Value:
    """A value in which another has a say."""
    return replace(
        value,
        indirect=value.indirect | influences(by, why),
        unknown=value.unknown | by.unknown,
    )


def influences(value: Value, why: Why) -> frozenset[Influence]:
    """All columns behind a value, in the role that it plays."""
    return frozenset(Influence(source, why) for source in value.sources())


def with_unknown(value: Value, unknown: Unknown) -> Value:
    return replace(value, unknown=value.unknown | {unknown})


def field_of(value: Value, name: str) -> Value:
    """A field of a struct, of each struct in an array, or of the value of a map."""
    if value.fields is not None:
        found = value.fields.find(name)
        if found is not None:
            # Of an element of an array, the fields are no more what the column is.
            kind = value.direct.get(value.place, "identity") if value.place else "identity"
            return replace(
                merged([found], kind),
                indirect=found.indirect | value.indirect,
                unknown=found.unknown | value.unknown,
                place=found.place,
                fields=found.fields,
            )
    if value.place is None or set(value.direct) != {value.place}:
        return made(value)
    place = replace(value.place, path=(*value.place.path, name))
    return replace(value, direct={place: value.direct[value.place]}, place=place, fields=None)
