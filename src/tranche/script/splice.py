"""Text with other things in it: the pieces of a text between its holes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from tranche.model.statement import Part, Text

Hole: TypeAlias = tuple[int, int, Part]
"""From where to where in the text something else goes in, and what."""


def spliced(text: str, start: int, end: int, holes: Iterable[Hole]) -> Iterator[Part]:
    """The text from `start` to `end`. What goes in at the same place keeps its order."""
    for from_, to, part in sorted(holes, key=lambda hole: hole[:2]):
        if from_ > start:
            yield Text(text[start:from_])
        yield part
        start = to
    if start < end:
        yield Text(text[start:end])
