"""Changes to a text that are collected first and made at once."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token

from tranche.script.ranges.shape import Span

_BEHIND, _BEFORE, _INSTEAD = range(3)


class Edits:
    """What goes in before, behind and in place of tokens.

    Brackets within brackets come out right if the outer ones are asked for first: of what goes in
    before the same token the first stays first, of what goes in behind it the first comes last.
    """

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self._changes: list[tuple[int, int, int, int, str]] = []

    def before(self, token: int, text: str) -> None:
        start = self.tokens[token].start
        self._changes.append((start, _BEFORE, len(self._changes), start, text))

    def behind(self, token: int, text: str) -> None:
        end = self.tokens[token].end + 1
        self._changes.append((end, _BEHIND, -len(self._changes), end, text))

    def around(self, span: Span, before: str, behind: str) -> None:
        self.before(span.start, before)
        self.behind(span.end - 1, behind)

    def replace(self, span: Span, text: str) -> None:
        start, end = self.tokens[span.start].start, self.tokens[span.end - 1].end + 1
        self._changes.append((start, _INSTEAD, len(self._changes), end, text))

    def words(self, span: Span) -> str:
        """The text of a span as it was."""
        return self.text[self.tokens[span.start].start : self.tokens[span.end - 1].end + 1]

    def made(self, span: Span | None = None) -> str:
        """The changed text, or that of a span. What stands within something replaced is gone."""
        first, last = 0, len(self.text)
        if span is not None:
            first, last = self.tokens[span.start].start, self.tokens[span.end - 1].end + 1
        pieces: list[str] = []
        position = first
        for start, _, _, end, text in sorted(self._changes):
            if start < position or end > last:
                continue
            pieces += (self.text[position:start], text)
            position = end
        pieces.append(self.text[position:last])
        return "".join(pieces)
