"""Digests of rows, as text: how many there are, and the sum of their hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

_WORD = 0xFFFFFFFFFFFFFFFF

NO_ROWS = "0-0"


def digest_text(rows: int, total: int) -> str:
    """
    >>> digest_text(1, -1)
    '1-ffffffffffffffff'
    """
    return f"{rows:x}-{total & _WORD:x}"


_SNAPSHOT = "snapshot "


def digest_of_snapshot(snapshot: str | None) -> str | None:
    """Stands for rows that nobody has gone over: another snapshot counts as other rows."""
    return None if snapshot is None else f"{_SNAPSHOT}{snapshot}"


def is_of_rows(digest: str) -> bool:
    """Whether somebody went over the rows for it."""
    return not digest.startswith(_SNAPSHOT)


ColumnDigests: TypeAlias = Mapping[str, tuple[str, ...]]
"""What stands for some columns of the rows, by the id of the set of these columns. First comes the
digest of their values; after it may come what stood for them when nobody had gone over them alone."""


def set_id(columns: Iterable[str]) -> str:
    """What stands for a set of columns, however many they are.

    >>> set_id({"id", "amount"}) == set_id(["amount", "id"]) != set_id(["amountid"])
    True
    """
    text = "\0".join(sorted(set(columns)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Digests:
    """What stands for rows, and for some of their columns."""

    rows: str | None = None
    columns: ColumnDigests = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """What somebody who went over rows has seen of them."""

    rows: int
    digest: str | None
    """None if it could not be told."""
    sets: Mapping[str, str] = field(default_factory=dict)
    """The digests of sets of columns, by their ids."""


def compared(
    seen: Seen, held: Digests, held_rows: int | None, then: Callable[[], Seen | None]
) -> Digests:
    """What stands for rows that take the place of others, for which `held` stands.

    It is the same for what has stayed the same. `then` goes over the rows of then, which it is
    asked for only if they are as many and nobody has done so: None if that cannot be done any more.

    >>> then = lambda: Seen(2, "2-a", {"s": "2-c"})
    >>> compared(Seen(2, "2-b", {"s": "2-c"}), Digests("snapshot 1"), 2, then)
    Digests(rows='2-b', columns={'s': ('2-c', 'snapshot 1')})
    >>> compared(Seen(2, "2-a", {"s": "2-c"}), Digests("snapshot 1"), 2, then)
    Digests(rows='snapshot 1', columns={})
    """
    looked: list[Seen | None] = []

    def earlier() -> Seen | None:
        if not looked:
            looked.append(then() if held_rows == seen.rows else None)
        return looked[0]

    digest = seen.digest
    if held.rows is not None and digest is not None and not is_of_rows(held.rows):
        # It was written when there was nothing to compare with.
        old = earlier()
        digest = held.rows if old is not None and old.digest == digest else digest
    if digest is not None and digest == held.rows:
        return held
    columns: dict[str, tuple[str, ...]] = {}
    for set_, own in seen.sets.items():
        known = held.columns.get(set_)
        if known is None and held.rows is not None and held.rows != own:
            old = earlier()
            same = old is not None and old.sets.get(set_) == own
            columns[set_] = (own, held.rows) if same else (own,)
        else:
            columns[set_] = known if known is not None and known[0] == own else (own,)
    return Digests(digest, columns)


def same_sets(then: Digests, now: Digests) -> frozenset[str]:
    """The ids of the sets of columns that are known to have the values that they had.

    What stands for all columns stands for each set of them of which nothing else is known.

    >>> sorted(same_sets(Digests("snapshot 1"), Digests("2-b", {"s": ("2-c", "snapshot 1")})))
    ['s']
    """
    return frozenset(
        set_
        for set_ in {*then.columns, *now.columns}
        if _standing_for(set_, then) & _standing_for(set_, now)
    )


def _standing_for(set_: str, digests: Digests) -> set[str]:
    known = digests.columns.get(set_)
    if known is not None:
        return set(known)
    return set() if digests.rows is None else {digests.rows}
