"""What stands behind FROM: columns with the values that they have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tranche.model.asset import AssetUri
from tranche.model.lineage import Influence, SourceColumn, Unknown
from tranche.script.lineage.values import NOTHING, Value, of_column

_HIDDEN = frozenset(
    {
        *("_metadata", "_file", "_pos", "_spec_id", "_partition", "_deleted"),
        *("_row_id", "_last_updated_sequence_number"),
    }
)
"""Columns that Spark and Iceberg give to every table, and that `*` does not show."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its name."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Rest:
    """Columns of which nobody knows the names: those of a table, of a struct, or of a function."""

    asset: AssetUri | None = None
    place: SourceColumn | None = None
    value: Value = NOTHING
    without: frozenset[str] = frozenset()

    def column(self, name: str) -> Value | None:
        """What a column of that name would be; None if it is none of these."""
        if name.lower() in self.without:
            return None
        if self.asset is not None:
            return of_column(SourceColumn(self.asset, name))
        if self.place is not None:
            place = replace(self.place, path=(*self.place.path, name))
            return of_column(place)
        return self.value

    @property
    def label(self) -> str:
        """How people know where these columns come from."""
        if self.asset is not None:
            return str(self.asset)
        return str(self.place) if self.place is not None else "a function"


Item: TypeAlias = Column | Rest


@dataclass(frozen=True, slots=True)
class Relation:
    """Columns in their order, and what has a say in which rows there are."""

    items: tuple[Item, ...] = ()
    rows: frozenset[Influence] = frozenset()
    unknown: frozenset[Unknown] = frozenset()
    table: AssetUri | None = None
    """The table that it is."""
    stars: frozenset[AssetUri] = frozenset()
    """The tables all of whose columns are among these, whichever they are."""

    def find(self, name: str) -> Value | None:
        """The column of that name, if just one can be meant."""
        found = candidates(self.items, name)
        certain = [each for each in found if each.certain]
        if len(certain) == 1:
            return certain[0].value
        return found[0].value if len(found) == 1 else None

    def hidden(self, name: str) -> Value | None:
        """A column that a table has beside those that it was made with."""
        if self.table is None or name.lower() not in _HIDDEN:
            return None
        return of_column(SourceColumn(self.table, name.lower()))

    def values(self) -> Iterable[Value]:
        return (item.value for item in self.items if isinstance(item, Column))

    @property
    def is_open(self) -> bool:
        return any(isinstance(item, Rest) for item in self.items)

    def renamed(self, names: Sequence[str]) -> Relation:
        """The columns under other names, in their order."""
        if self.is_open or len(names) != len(self.items):
            values = list(self.values()) if not self.is_open else []
            values += [NOTHING] * len(names)
            lost = Unknown(f"which columns are called {', '.join(names)} is not known")
            columns = zip(names, values, strict=False)
            return replace(
                self,
                items=tuple(
                    Column(name, replace(value, unknown=value.unknown | {lost}))
                    for name, value in columns
                ),
            )
        values = [item.value for item in self.items if isinstance(item, Column)]
        named = zip(names, values, strict=True)
        return replace(self, items=tuple(Column(name, value) for name, value in named))


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a name may mean."""

    value: Value
    certain: bool
    """Whether there is a column of that name; else there may be one."""
    label: str = ""
    """Where a column comes from of which it is not known whether it is there."""


def candidates(items: Iterable[Item], name: str) -> list[Candidate]:
    wanted = name.lower()
    found: list[Candidate] = []
    for item in items:
        if isinstance(item, Column):
            if item.name.lower() == wanted:
                found.append(Candidate(item.value, certain=True))
        else:
            value = item.column(name)
            if value is not None:
                found.append(Candidate(value, certain=False, label=item.label))
    return found


def without(items: Iterable[Item], names: Iterable[str]) -> tuple[Item, ...]:
    """The columns but for some."""
    gone = frozenset(name.lower() for name in names)
    return tuple(
        replace(item, without=item.without | gone) if isinstance(item, Rest) else item
        for item in items
        if isinstance(item, Rest) or item.name.lower() not in gone
    )
