"""How a slice's rows enter a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from tranche.model.asset import AssetUri

PARTITION_COLUMN = "_tranche_partition"
"""The managed column that says which slice a row belongs to."""

HISTORY_COLUMNS = ("valid_from", "valid_to", "is_current")

CURRENT_SUFFIX = "_current"
"""What the name of a history's current rows ends with."""

SchemaPolicy: TypeAlias = Literal["fail", "warn", "sync", "ignore"]


@dataclass(frozen=True, slots=True)
class Replace:
    """The slice becomes exactly what the SELECT returned."""

    name: ClassVar[str] = "replace"


@dataclass(frozen=True, slots=True)
class Merge:
    """Rows are upserted on a key; rows that the SELECT did not return stay."""

    name: ClassVar[str] = "merge"
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Append:
    """Rows are inserted, nothing else is touched."""

    name: ClassVar[str] = "append"


@dataclass(frozen=True, slots=True)
class History:
    """Every version of every row is kept, with the time for which it held."""

    name: ClassVar[str] = "history"
    key: tuple[str, ...]
    track: tuple[str, ...] = ()
    close_deleted: bool = False
    at: str | None = None
    """A column, or "partition"; the run's fire time when absent."""


@dataclass(frozen=True, slots=True)
class Manual:
    """The script writes by itself; Tranche records that it did."""

    name: ClassVar[str] = "manual"


@dataclass(frozen=True, slots=True)
class Nothing:
    """There are no rows: that the work was done is all there is to record."""

    name: ClassVar[str] = "nothing"


Strategy: TypeAlias = Replace | Merge | Append | History | Manual | Nothing


@dataclass(frozen=True, slots=True)
class Materialize:
    """What a script makes, and how."""

    asset: AssetUri
    strategy: Strategy
    on_schema_change: SchemaPolicy | None = None
