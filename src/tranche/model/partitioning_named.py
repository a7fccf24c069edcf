"""Partitionings whose keys are names: a fixed list of them, or whatever payloads bring."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import ClassVar

from tranche.errors import KeyRejected, PartitioningError
from tranche.model.partitioning_text import option, shown, unstorable

_LISTED = 12


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Static:
    """A fixed list of keys, which have no order among them.

    >>> Static(["us", "eu"]).describe()
    'static keys="us,eu"'
    >>> Static(["us", "eu"]).validate("EU")
    Traceback (most recent call last):
    tranche.errors.KeyRejected: 'EU' is no static key; use 'eu'; the keys are 'us', 'eu'
    """

    kind: ClassVar[str] = "static"

    values: tuple[str, ...]

    def __init__(self, keys: Iterable[str]) -> None:
        if isinstance(keys, str) or not isinstance(keys, Iterable):
            raise PartitioningError(
                f"static keys {shown(keys)} are no list", 'use a list such as ["us", "eu"]'
            )
        values = tuple(keys)
        if not values:
            raise PartitioningError("a static partitioning without keys", "give at least one key")
        for value in values:
            if reason := _unlistable(value):
                raise PartitioningError(
                    f"{shown(value)} cannot be a static key: {reason}", "give it another name"
                )
        if len(set(values)) < len(values):
            twice = next(value for i, value in enumerate(values) if value in values[:i])
            raise PartitioningError(
                f"static keys hold {shown(twice)} more than once", "give each key once"
            )
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return f"Static({list(self.values)!r})"

    def describe(self) -> str:
        """The annotation's text for this partitioning."""
        return f"{self.kind} {option('keys', ','.join(self.values))}"

    def example(self) -> str:
        """Some key, to show what keys look like."""
        return self.values[0]

    def validate(self, key: str) -> str:
        """The key itself, or KeyRejected."""
        if key in self.values:
            return key
        known = ", ".join(repr(value) for value in self.values[:_LISTED])
        if len(self.values) > _LISTED:
            known += f" and {len(self.values) - _LISTED} more"
        remedy = f"the keys are {known}"
        if near := self._near(key):
            remedy = f"use {near!r}; {remedy}"
        raise KeyRejected(f"{shown(key)} is no static key", remedy)

    def ordinal(self, key: str) -> datetime | None:
        """None: static keys have no order."""
        self.validate(key)
        return None

    def keys(
        self,
        start: str | date | None = None,
        end: str | date | None = None,
        now: datetime | None = None,
    ) -> Sequence[str]:
        """All keys. They have no order, so there is nothing between a start and an end."""
        if start is not None or end is not None:
            raise PartitioningError("static keys have no order", "leave start and end out")
        return self.values

    def _near(self, key: object) -> str | None:
        from difflib import get_close_matches

        folded = {value.casefold(): value for value in self.values}
        near = get_close_matches(str(key).casefold()[:100], folded, n=1)
        return folded[near[0]] if near else None


@dataclass(frozen=True, slots=True)
class Dynamic:
    """Keys that come from payloads: the value at a path such as ``$.order.tenant``.

    >>> Dynamic("$.order.tenant").path
    ('order', 'tenant')
    """

    kind: ClassVar[str] = "dynamic"

    key: str

    def __post_init__(self) -> None:
        if reason := _not_a_path(self.key):
            raise PartitioningError(
                f"dynamic key {shown(self.key)} is no path: {reason}",
                "use names with dots between them, such as '$.order.tenant'",
            )

    @property
    def path(self) -> tuple[str, ...]:
        """The names that lead to the key in a payload."""
        return tuple(self.key.split(".")[1:])

    def describe(self) -> str:
        """The annotation's text for this partitioning."""
        return f"{self.kind} {option('key', self.key)}"

    def example(self) -> str:
        """Some key, to show what keys look like."""
        return "acme"

    def validate(self, key: str) -> str:
        """The key itself, or KeyRejected."""
        if not isinstance(key, str):
            reason: str | None = "a key is text"
        else:
            reason = unstorable(key) if key else "it is empty"
        if reason is None:
            return key
        raise KeyRejected(
            f"{shown(key)} is no dynamic key: {reason}", f"keys look like {self.example()!r}"
        )

    def ordinal(self, key: str) -> datetime | None:
        """None: dynamic keys have no order."""
        self.validate(key)
        return None

    def keys(
        self,
        start: str | date | None = None,
        end: str | date | None = None,
        now: datetime | None = None,
    ) -> Sequence[str]:
        """PartitioningError: nobody knows them beforehand."""
        raise PartitioningError(
            "dynamic keys come from payloads and cannot be listed", "name the keys"
        )


def _unlistable(value: object) -> str | None:
    """Why an annotation's comma-separated list cannot hold this key, or None."""
    if not isinstance(value, str):
        return "it is no text"
    if not value:
        return "it is empty"
    if value != value.strip():
        return "it has space around it"
    if "," in value:
        return "commas separate the keys"
    if any(char < " " or char in "\x7f\x85\u2028\u2029" for char in value) and "\0" not in value:
        return "it holds a control character"
    return unstorable(value)


def _not_a_path(key: object) -> str | None:
    if not isinstance(key, str):
        return "it is no text"
    if key == "$":
        return "it names the whole payload"
    if not key.startswith("$."):
        return "it does not begin with '$.'"
    if "?" in key or "(" in key or "@" in key:
        return "filters are not supported"
    if "*" in key:
        return "wildcards are not supported"
    if "[" in key or "]" in key:
        return "array indexes and brackets are not supported"
    if "" in key.split(".")[1:]:
        return "a name between the dots is empty"
    if re.search(r"[\s\x00-\x1f\x7f'\"$\\]", key[1:]):
        return "it holds a space, a quote or the like"
    return unstorable(key)
