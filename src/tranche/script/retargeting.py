"""Expressions of a Merge, whose `target` is a table by its own name."""

from __future__ import annotations

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from tranche.errors import MergeRejected

_TARGET = "target"


def retargeted(text: str, name: str) -> str:
    """The user's own text, with columns of the target under the name that the table has.

    >>> retargeted("target.id = source.id AND 'target.x' <> source.`gone by`", "`main`.`s`.`t`")
    "`main`.`s`.`t`.id = source.id AND 'target.x' <> source.`gone by`"
    """
    try:
        tokens = Spark().tokenize(text)
    except TokenError as error:
        what = str(error).partition("\n")[0]
        raise MergeRejected(
            f"{text!r} of a Merge does not parse: {what}",
            "write SQL over target.<column> and source.<column>",
        ) from None
    found, end = "", 0
    for number, token in enumerate(tokens):
        before = tokens[number - 1].token_type if number else None
        after = tokens[number + 1].token_type if number + 1 < len(tokens) else None
        is_name = token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
        if (
            is_name
            and token.text.lower() == _TARGET
            and before != TokenType.DOT
            and after == TokenType.DOT
        ):
            found += text[end : token.start] + name
            end = token.end + 1
    return found + text[end:]
