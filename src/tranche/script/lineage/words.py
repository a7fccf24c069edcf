"""Words of a statement that the parser has taken for something else than columns.

In `date_trunc(u, at)`, `u` may become a unit in the tree, and a format that is a column may be
dropped. What stands in the text and is no name in the tree must be a function, a type or a keyword.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tranche.model.lineage import Unknown

_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_UNITS = frozenset(
    {
        *(
            "YEAR",
            "YEARS",
            "QUARTER",
            "QUARTERS",
            "MONTH",
            "MONTHS",
            "WEEK",
            "WEEKS",
            "DAY",
            "DAYS",
        ),
        *("HOUR", "HOURS", "MINUTE", "MINUTES", "SECOND", "SECONDS", "MILLISECOND"),
        *("MILLISECONDS", "MICROSECOND", "MICROSECONDS", "NANOSECOND", "NANOSECONDS", "DAYOFWEEK"),
        *("DAYOFYEAR", "DOW", "DOY", "ISODOW", "ISOYEAR", "YEAROFWEEK", "EPOCH"),
    }
)
_TAKES_UNIT = frozenset(
    {"DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF", "EXTRACT", "TIMESTAMPADD", "TIMESTAMPDIFF"}
)
_KNOWN = frozenset(
    {
        *("CURRENT", "PRECEDING", "FOLLOWING", "UNBOUNDED", "NULLS", "LAST", "IGNORE", "RESPECT"),
        *("WITHIN", "INCLUDE", "EXCLUDE", "BOTH", "LEADING", "TRAILING", "PLACING", "AT", "ZONE"),
        *("VERSION", "OF", "BUCKET", "VAR", "VARIABLE", "IF"),
    }
)
"""Words of the grammar that stand beside other words."""
_BEFORE = (TokenType.L_PAREN, TokenType.COMMA)
_BEHIND = (TokenType.R_PAREN, TokenType.COMMA)


def misread(tokens: Sequence[Token], tree: exp.Expr, line: int) -> Iterator[Unknown]:
    """The words that may be columns and are not in the tree; `line` is that of the first token."""
    named = {node.meta.get("start") for node in tree.find_all(exp.Identifier)}
    typed = {name for node in tree.find_all(exp.DataType) for name in _type_words(node)}
    for at, token in enumerate(tokens):
        if token.token_type not in _NAMES or token.start in named:
            continue
        if _is_behind_colon(tokens, at):
            continue
        following = tokens[at + 1].token_type if at + 1 < len(tokens) else None
        if following in (TokenType.L_PAREN, TokenType.FARROW):
            continue
        if token.token_type is TokenType.VAR and _is_word(tokens, at, typed):
            continue
        yield Unknown(f"what {token.text} means is not known", line + token.line - 1)


def _is_behind_colon(tokens: Sequence[Token], at: int) -> bool:
    """Whether it is a marker for a value, or in the path of a variant: `v:a.b`."""
    while at > 1 and tokens[at - 1].token_type is TokenType.DOT:
        at -= 2
    return at > 0 and tokens[at - 1].token_type is TokenType.COLON


def _type_words(node: exp.DataType) -> set[str]:
    return {word.upper() for word in node.sql("spark").replace("<", " ").split()}


def _is_word(tokens: Sequence[Token], at: int, typed: set[str]) -> bool:
    """Whether it is a word of the grammar where it stands, a unit, or part of a type.

    What stands alone among the arguments of a function may be a column, whatever it is called.
    """
    word = tokens[at].text.upper()
    before = tokens[at - 1] if at else None
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if before is None or following is None:
        return word in typed or word in _UNITS
    if before.token_type in _BEFORE and following.token_type in _BEHIND:
        opened = before.token_type is TokenType.L_PAREN and at > 1
        return word in _UNITS and opened and tokens[at - 2].text.upper() in _TAKES_UNIT
    return word in _KNOWN or word in _UNITS or word in typed or before.text.upper() == "COLLATE"
