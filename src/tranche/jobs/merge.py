"""Rows that are merged into a table: what a task returns instead of a frame."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from tranche.errors import MergeRejected

Match: TypeAlias = Literal["matched", "not_matched", "not_matched_by_source"]
Action: TypeAlias = Literal["update", "insert", "delete"]

_POSSIBLE: dict[Match, tuple[Action, ...]] = {
    "matched": ("update", "delete"),
    "not_matched": ("insert",),
    "not_matched_by_source": ("update", "delete"),
}
WITHOUT_ON = (
    "a Merge without on= would not know which rows are the same",
    'add on="id", on=("id", "day"), or on="target.id = source.id"',
)
"""What is wrong with such a Merge, and what to do."""
_COLUMN = re.compile(r"[^\W\d][\w$]*")


@dataclass(frozen=True, slots=True)
class When:
    """What to do with rows of one kind."""

    match: Match
    """Rows of both, rows of the source alone, or rows of the target alone."""
    action: Action
    values: tuple[tuple[str, str], ...] | None = None
    """SQL by column; None is each column from the source."""
    condition: str | None = None
    """SQL that must hold too."""

    def __post_init__(self) -> None:
        if self.action not in _POSSIBLE.get(self.match, ()):
            raise MergeRejected(
                f"{self.action!r} is nothing that can be done with rows that are {self.match!r}",
                "matched rows are updated or deleted, others of the source are inserted",
            )


@dataclass(frozen=True, slots=True)
class Merge:
    """Rows, and how they enter the table of the task. Tables are called `target` and `source`.

    `on` is SQL over both, or the columns whose values are the same in both. Without a clause,
    rows that match are updated and others inserted.

    >>> merge = Merge([], on="id").when_matched_delete("source.gone").when_not_matched_insert_all()
    >>> merge.condition, [when.action for when in merge.when]
    ('target.`id` <=> source.`id`', ['delete', 'insert'])
    """

    rows: Any
    on: str | Sequence[str] | None = field(default=None, kw_only=True)
    when: Sequence[When] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if not self.on:
            raise MergeRejected(*WITHOUT_ON)
        if not isinstance(self.on, str):
            object.__setattr__(self, "on", tuple(self.on))
        object.__setattr__(self, "when", tuple(self.when))
        for part in self.when:
            if not isinstance(part, When):
                raise MergeRejected(
                    f"{part!r} is no clause of a Merge", "use its methods, or tranche.When"
                )

    @property
    def condition(self) -> str:
        """When two rows are the same, as SQL."""
        on = self.on
        if isinstance(on, str) and not _COLUMN.fullmatch(on):
            return on
        columns = (on,) if isinstance(on, str) else on or ()
        quoted = (f"`{name.replace('`', '``')}`" for name in columns)
        return " AND ".join(f"target.{name} <=> source.{name}" for name in quoted)

    @property
    def clauses(self) -> tuple[When, ...]:
        """What is done, in this order: the first that holds for a row counts."""
        return tuple(self.when) or (When("matched", "update"), When("not_matched", "insert"))

    @property
    def inserts_all(self) -> bool:
        """Whether rows enter the table with all columns that they have."""
        return any(when.action == "insert" and when.values is None for when in self.clauses)

    def when_matched_update_all(self, condition: str | None = None) -> Merge:
        return self._with(When("matched", "update", None, condition))

    def when_matched_update(self, set: Mapping[str, str], condition: str | None = None) -> Merge:
        return self._with(When("matched", "update", _values("set", set), condition))

    def when_matched_delete(self, condition: str | None = None) -> Merge:
        return self._with(When("matched", "delete", None, condition))

    def when_not_matched_insert_all(self, condition: str | None = None) -> Merge:
        return self._with(When("not_matched", "insert", None, condition))

    def when_not_matched_insert(
        self, values: Mapping[str, str], condition: str | None = None
    ) -> Merge:
        return self._with(When("not_matched", "insert", _values("values", values), condition))

    def when_not_matched_by_source_update(
        self, set: Mapping[str, str], condition: str | None = None
    ) -> Merge:
        return self._with(When("not_matched_by_source", "update", _values("set", set), condition))

    def when_not_matched_by_source_delete(self, condition: str | None = None) -> Merge:
        return self._with(When("not_matched_by_source", "delete", None, condition))

    def _with(self, when: When) -> Merge:
        return replace(self, when=(*self.when, when))


def _values(name: str, given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, Mapping) or not given:
        raise MergeRejected(
            f"{name}= says no column", f'write {name}={{"amount": "source.amount"}}'
        )
    for column, value in given.items():
        if not isinstance(column, str) or not isinstance(value, str):
            raise MergeRejected(
                f"{name}= has {value!r} for {column!r}, and each column takes SQL as text",
                f'write {name}={{"amount": "source.amount"}}',
            )
    return tuple(given.items())
