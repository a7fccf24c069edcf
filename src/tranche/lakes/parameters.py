"""Statements with values in them, whoever has to bind these.

On a server of Spark Connect, parameters go through the parsers of all extensions that it was started
with, and some drop them (delta-io/delta#7640). So values stand in the text there, each as a complete
literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.utils import is_remote

from tranche.model.statement import ImpliedHole
from tranche.script.binding import Bound, text_literal

_MARKER = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|(?<!:):(?P<name>\w+)""", re.DOTALL
)
"""A place where a value goes, or a text in which nothing is one."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def asked(session: SparkSession, text: str, parameters: Mapping[str, Any]) -> DataFrame:
    """What a statement of ours gives."""
    if parameters and is_remote():
        return session.sql(with_literals(text, parameters))
    return session.sql(text, args=dict(parameters))


def spelled_out(implied: Callable[[ImpliedHole], Bound]) -> Callable[[ImpliedHole], Bound]:
    """The same, with values in the text."""

    def found(hole: ImpliedHole) -> Bound:
        bound = implied(hole)
        return Bound(with_literals(bound.text, bound.parameters), {})

    return found


def with_literals(text: str, parameters: Mapping[str, Any]) -> str:
    """A statement of ours with its values in it.

    >>> with_literals("SELECT :a, ':a', `:a`, :b, x::b, v:c", {"a": "it's", "b": 1})
    "SELECT CAST(X'69742773' AS STRING), ':a', `:a`, 1, x::b, v:c"
    """

    def value(found: re.Match[str]) -> str:
        name = found["name"]
        return _literal(parameters[name]) if name in parameters else found[0]

    return _MARKER.sub(value, text)


def _literal(value: Any) -> str:
    """
    >>> _literal(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)), _literal(date(2026, 5, 1))
    ('timestamp_micros(1000005)', "DATE'2026-05-01'")
    >>> _literal(None), _literal(True), _literal(1.5)
    ('NULL', 'true', "CAST('1.5' AS DOUBLE)")
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int() | Decimal():
            return str(value)
        case str():
            return text_literal(value)
        case float():
            return f"CAST('{value}' AS DOUBLE)"
        case datetime():
            return f"timestamp_micros({(value - _EPOCH) // timedelta(microseconds=1)})"
        case date():
            return f"DATE'{value.isoformat()}'"
        case _:
            raise AssertionError(f"a value of the type {type(value)} has no literal")
