"""Where the rows of a task are kept, whatever their format."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from tranche.lakes.commit import Commit
from tranche.lakes.outputs.parts import in_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What came of a write."""

    rows: int | None
    snapshot: str | None = None
    parts: frozenset[str] = frozenset()
    """The parts that rows were written to."""


class Place(ABC):
    """The table or the files of one task."""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def columns(self) -> StructType | None:
        """None if nothing was ever kept there."""

    @abstractmethod
    def published(self, commit: Commit) -> Kept | None:
        """What an attempt of the same step has written, if one has."""

    @abstractmethod
    def create(self, rows: DataFrame, by: Sequence[str], commit: Commit) -> None:
        """Makes it of these rows, divided by columns; an error if another has made it meanwhile."""

    @abstractmethod
    def made(self, commit: Commit, by: Sequence[str]) -> Kept:
        """What a commit that was just made has written."""


class DividedPlace(Place):
    """One that columns of the rows may divide."""

    @abstractmethod
    def divided_by(self) -> Collection[str] | None:
        """The columns that divide what is there; None if nobody knows."""

    @abstractmethod
    def rows(self) -> DataFrame: ...

    @abstractmethod
    def replace_all(self, rows: DataFrame, commit: Commit) -> None:
        """Makes it of these rows, which no columns divide; whatever was there goes."""

    @abstractmethod
    def append(self, rows: DataFrame, by: Sequence[str], commit: Commit) -> None: ...

    @abstractmethod
    def replace_written(self, rows: DataFrame, by: Sequence[str], commit: Commit) -> None:
        """Rows take the place of all that is in their parts, and in no others."""

    @abstractmethod
    def replace_where(
        self, rows: DataFrame, by: Sequence[str], parts: Collection[str], commit: Commit
    ) -> None:
        """Rows take the place of all that is in these parts, which theirs are among."""

    def forget(self, commit: Commit) -> None:
        """Removes what an attempt has left that published nothing."""

    def of_parts(self, parts: Collection[str]) -> DataFrame:
        columns = self.columns()
        assert columns is not None, f"nothing is kept in {self}"
        return self.rows().where(in_parts(parts, columns))


_CREATING: dict[str, threading.Lock] = {}


def created(place: Place, rows: DataFrame, by: Sequence[str], commit: Commit) -> bool:
    """Whether a place that was not there was made of these rows.

    Keys of a task run at once: the first of them makes it, while the others wait to come to it.
    """
    if place.columns() is not None:
        return False
    with _CREATING.setdefault(str(place), threading.Lock()):
        if place.columns() is not None:
            return False
        place.create(rows, by, commit)
        return True
