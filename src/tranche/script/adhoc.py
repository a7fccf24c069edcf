"""A statement that somebody types: the names of lakes in it are resolved, the rest stays."""

from __future__ import annotations

import re

from sqlglot.tokenizer_core import Token

from tranche.errors import UsageError
from tranche.model.layout import SetLayout
from tranche.model.statement import Statement, Text
from tranche.script.materialize import parse_layout
from tranche.script.names import BadName, Lakes, Names, resolve
from tranche.script.parsing import command_target
from tranche.script.source import Source
from tranche.script.statements import read_statement
from tranche.script.tokens import normalized, statements, tokenize
from tranche.script.words import Malformed

_LAYOUT = re.compile(r"(RE)?SET\s+PARTITIONED\s+BY\b\s*(.*)", re.IGNORECASE | re.DOTALL)
_REMEDY = (
    "write ALTER TABLE <table> SET PARTITIONED BY (bucket(8, user_id), month(ts)),"
    " or ALTER TABLE <table> RESET PARTITIONED BY"
)


def resolved_statement(text: str, lakes: Lakes) -> Statement | SetLayout:
    """A statement with its tables, or what Spark has no statement for. What sqlglot cannot parse
    goes to Spark as it stands."""
    source = Source("statement", normalized(text))
    tokens, complete = tokenize(source)
    if not complete:
        raise _rejected(source)
    chunks = list(statements(tokens))
    if not chunks:
        raise UsageError("there is no statement", "give one, as in tranche sql 'SELECT 1'")
    if len(chunks) > 1:
        raise UsageError(
            f"there are {len(chunks)} statements", "give one at a time; a script may hold several"
        )
    layout = _layout(source, chunks[0], lakes)
    if layout is not None:
        return layout
    statement = read_statement(source, chunks[0], lakes)
    if source.faults:
        raise _rejected(source)
    if statement is None:
        text = source.text[chunks[0][0].start : chunks[0][-1].end + 1]
        return Statement("other", (Text(text),), 1)
    if any(statement.files()):
        raise UsageError(
            "read_json, read_csv and read_parquet work in scripts only",
            "query a file as json.`path`, csv.`path` or parquet.`path`",
        )
    return statement


def _layout(source: Source, tokens: list[Token], lakes: Lakes) -> SetLayout | None:
    """`ALTER TABLE <table> SET PARTITIONED BY (…)`, which is DuckLake's, or its RESET."""
    if tokens[0].text.upper() != "ALTER":
        return None
    parts = command_target(tokens)
    if not parts:
        return None
    action = _LAYOUT.fullmatch(source.text[parts[-1].end + 1 : tokens[-1].end + 1].strip())
    if action is None:
        return None
    found = resolve(tuple(part.text for part in parts), parts[0].start, 0, Names(lakes))
    if isinstance(found, BadName):
        raise UsageError(found.what, found.remedy)
    if found.metadata is not None:
        raise UsageError(f"{found.metadata} of {found.table} is no table that has a layout")
    if action[1]:
        if action[2]:
            raise UsageError(f"unexpected {action[2]!r} after RESET PARTITIONED BY", _REMEDY)
        return SetLayout(found.table)
    if not (action[2].startswith("(") and action[2].endswith(")")):
        raise UsageError("SET PARTITIONED BY does not parse", _REMEDY)
    try:
        return SetLayout(found.table, parse_layout(action[2][1:-1]))
    except Malformed as error:
        raise UsageError(error.what, error.remedy) from None


def _rejected(source: Source) -> UsageError:
    return UsageError(source.faults[0].what, source.faults[0].remedy)
