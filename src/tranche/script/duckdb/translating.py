"""A whole script in DuckDB's SQL, as one of Spark SQL.

Each statement begins on its line, and each of its words stands on its own line or, where words
change places, on a later one. So whatever is said of a line of the translation, by Tranche or by
Spark, is true of the script.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot.tokenizer_core import Token

from tranche.script.duckdb import (  # noqa: F401
    aggregates,
    arithmetic,
    casts,
    functions_lists,
    functions_numbers,
    functions_texts,
    functions_times,
    operators,
    queries,
)
from tranche.script.duckdb.pieces import MARK, Refused
from tranche.script.duckdb.rules import LINE
from tranche.script.duckdb.statements import statement
from tranche.script.duckdb.syntax import parse
from tranche.script.duckdb.temporary import Temporary
from tranche.script.duckdb.variables import check_variables
from tranche.script.source import Source
from tranche.script.tokens import statements

_MARKS = re.compile(rf"{MARK}(\d+){MARK}|{LINE}(\d+){LINE}|\n")


def translated(source: Source, tokens: Sequence[Token]) -> str:
    """The script in Spark SQL, without its comments; what cannot be said in it becomes a fault."""
    text = ""
    line = 1
    before = Temporary()
    for chunk in statements(tokens):
        try:
            tree = parse(chunk, source.text)
            before.meet(tree)
            check_variables(tree)
            said = statement(tree)
            before.remember(tree)
        except Refused as refused:
            source.fault(refused.position, refused.what, refused.remedy)
            continue
        if said is None:
            continue
        placed = _placed(source, f"{MARK}{chunk[0].start}{MARK}{said};", line)
        text += placed
        line += placed.count("\n")
    return text


def _placed(source: Source, said: str, line: int) -> str:
    """The text with line ends before the words that stand further down in the script."""
    found: list[str] = []
    at = 0
    for mark in _MARKS.finditer(said):
        found.append(said[at : mark.start()])
        at = mark.end()
        if mark[1] is not None:
            wanted = source.line(int(mark[1]))
            found.append("\n" * max(wanted - line, 0))
            line = max(line, wanted)
        elif mark[2] is not None:
            found.append(str(source.line(int(mark[2]))))
        else:
            found.append(" ")
    return "".join([*found, said[at:]])
