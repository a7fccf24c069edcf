"""How files are laid out inside a table, besides the slice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tranche.model.asset import LakeTable

TransformName: TypeAlias = Literal["identity", "bucket", "year", "month", "day", "hour"]

TIMES: tuple[TransformName, ...] = ("year", "month", "day", "hour")
"""The transforms of a time, each finer than the one before."""


@dataclass(frozen=True, slots=True)
class Transform:
    """One field of a layout.

    >>> str(Transform("bucket", "user_id", 8))
    'bucket(8, user_id)'
    """

    name: TransformName
    column: str
    buckets: int | None = None

    def __str__(self) -> str:
        if self.name == "identity":
            return self.column
        if self.buckets is not None:
            return f"bucket({self.buckets}, {self.column})"
        return f"{self.name}({self.column})"


@dataclass(frozen=True, slots=True)
class SetLayout:
    """`ALTER TABLE … SET PARTITIONED BY (…)`; without transforms, `RESET PARTITIONED BY`."""

    table: LakeTable
    transforms: tuple[Transform, ...] = ()


def finest(transforms: Iterable[Transform]) -> tuple[Transform, ...]:
    """Of several times of one column, the finest, which says what the others say.

    >>> [str(t) for t in finest((Transform("year", "a"), Transform("month", "a")))]
    ['month(a)']
    """
    given = tuple(dict.fromkeys(transforms))
    return tuple(one for one in given if not any(_is_finer(other, one) for other in given))


def canonical(transforms: Sequence[Transform]) -> str:
    """The same text for the same layout, in whatever order it is written."""
    return ", ".join(sorted(str(transform) for transform in transforms))


def _is_finer(one: Transform, other: Transform) -> bool:
    return (
        one.column == other.column
        and one.name in TIMES
        and other.name in TIMES
        and TIMES.index(one.name) > TIMES.index(other.name)
    )
