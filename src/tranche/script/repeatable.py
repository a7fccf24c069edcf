"""Whether a script gives the same rows whenever it reads the same."""

from __future__ import annotations

import re

from tranche.model.script import Script
from tranche.model.statement import Statement, Text

RANDOM = frozenset(
    {
        *("java_method", "monotonically_increasing_id", "rand", "randn", "random", "randstr"),
        *("reflect", "shuffle", "spark_partition_id", "try_reflect", "uniform", "uuid"),
    }
)
"""Functions that give other values in each row, whatever they are given."""
_OF_NOW = {
    *("ai_query", "curdate", "current_date", "current_time", "current_timestamp", "current_user"),
    *("http_request", "localtimestamp", "now", "session_user", "unix_timestamp", "user"),
}
_OTHERS = {"limit", "sample", "tablesample"}
_WORDS = re.compile(rf"\b({'|'.join(sorted(RANDOM | _OF_NOW | _OTHERS))})\b", re.IGNORECASE)


def repeatable(script: Script) -> bool:
    """Whether the same tables make the same rows, as far as the text tells.

    Arguments and setup statements may change what a query means.
    """
    if script.setup or script.annotations.arguments or script.query is None:
        return False
    return _WORDS.search(_text(script.query)) is None


def _text(statement: Statement) -> str:
    return " ".join(part.text for part in statement.parts if isinstance(part, Text))
