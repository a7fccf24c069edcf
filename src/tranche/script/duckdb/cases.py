"""Texts in another case."""

from __future__ import annotations

from tranche.script.duckdb.pieces import Piece

_UNLIKE_LOWER = "\u1c89\ua7cb\ua7cc\ua7da\ua7dc𐵐-𐵥"
"""Letters, all of them rare, that only one of the engines knows in lower case."""


def lowered(value: Piece) -> Piece:
    """A text in lower case, of which Spark makes two characters of İ, and of Σ one that stands at
    the end of a word."""
    text = f"lower(translate({value.text}, 'İΣ', 'iσ'))"
    return unless_unlike(value, _UNLIKE_LOWER, text)


def unless_unlike(value: Piece, letters: str, text: str) -> Piece:
    """A text in another case that breaks off where the engines disagree about a letter."""
    rare = f"raise_error(concat('the engines write \\'', {value.text}, '\\' in another case'))"
    return Piece(
        f"CASE WHEN {value.tight} RLIKE '[{letters}]' THEN {rare} ELSE {text} END", "string"
    )
