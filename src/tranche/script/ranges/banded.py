"""Where a row is compared with both ends of a period.

`at >= '{partition}' AND at < …` would be compared for each row with each key. Time is cut into bands,
as wide as the periods mostly are: a key has the few bands that its period touches, a row has one, and
only keys and rows of the same band are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tranche.script.ranges.computed import conjuncts
from tranche.script.ranges.shape import Select, Span
from tranche.script.ranges.walking import flat

if TYPE_CHECKING:
    from tranche.script.ranges.threaded import Threader

_LOWER = (">", ">=")


@dataclass(frozen=True, slots=True)
class Band:
    """A column that is compared with a lower and an upper end."""

    number: int
    """The comparison beside which the band is asked for."""
    numbers: tuple[int, ...]
    """All comparisons of the column."""
    probe: str
    """A query that shows of which type it is."""
    place: str
    """The column of the relation of keys that has the band."""


def banded(threader: Threader, select: Select) -> tuple[int, ...]:
    """The comparisons of one column that bound it on both sides, if all rows must meet them."""
    relations = flat(select.relations)
    if select.where is None or any(r.kind in ("right", "full") for r in relations):
        # Rows that have no other side have no key beside them, and so no band.
        return ()
    found = conjuncts(threader, select.where)
    columns: dict[str, list[int]] = {}
    for number, each in enumerate(threader.compared):
        if each.whole in found and all(operator != "=" for operator, _ in each.limits):
            columns.setdefault(_text(threader, each.column), []).append(number)
    for numbers in columns.values():
        sides = {
            operator in _LOWER
            for number in numbers
            for operator, _ in threader.compared[number].limits
        }
        if len(sides) == 2:
            return tuple(numbers)
    return ()


def _text(threader: Threader, span: Span) -> str:
    return " ".join(word.text.lower() for word in threader.within(span))
