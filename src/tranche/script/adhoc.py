"""A statement that somebody types: the names of lakes in it are resolved, the rest stays."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token

from tranche.errors import ScriptFaults, UsageError
from tranche.model.script import Annotations
from tranche.script.binding import Values, bind, quoted
from tranche.script.names import Lakes
from tranche.script.statements import read_statement
from tranche.script.tokens import normalized, statements, tokenize

_PLACE = "statement"


def resolved_statement(source: str, lakes: Lakes) -> str:
    """The text for Spark. What sqlglot cannot parse goes to Spark as it stands."""
    text = normalized(source)
    tokens, broken = tokenize(_PLACE, text)
    if broken is not None:
        raise UsageError(broken.what, broken.remedy)
    chunks: Sequence[list[Token]] = list(statements(tokens))
    if not chunks:
        raise UsageError("there is no statement", "give one, as in tranche sql 'SELECT 1'")
    if len(chunks) > 1:
        raise UsageError(
            f"there are {len(chunks)} statements", "give one at a time; a script may hold several"
        )
    statement, faults = read_statement(_PLACE, text, chunks[0], Annotations(), lakes)
    if faults:
        raise ScriptFaults(faults)
    if statement is None:
        return text[chunks[0][0].start : chunks[0][-1].end + 1]
    nothing = Values(None, {}, {})
    return bind(statement, nothing, table=lambda hole: quoted(hole.table), files=_no_files).text


def _no_files(_: object) -> str:
    raise UsageError(
        "read_json, read_csv and read_parquet work in scripts only",
        "query a file as json.`path`, csv.`path` or parquet.`path`",
    )
