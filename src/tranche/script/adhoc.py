"""A statement that somebody types: the names of lakes in it are resolved, the rest stays."""

from __future__ import annotations

from tranche.errors import UsageError
from tranche.script.binding import Values, bind, quoted
from tranche.script.names import Lakes
from tranche.script.source import Source
from tranche.script.statements import read_statement
from tranche.script.tokens import normalized, statements, tokenize


def resolved_statement(text: str, lakes: Lakes) -> str:
    """The text for Spark. What sqlglot cannot parse goes to Spark as it stands."""
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
    statement = read_statement(source, chunks[0], lakes)
    if source.faults:
        raise _rejected(source)
    if statement is None:
        return source.text[chunks[0][0].start : chunks[0][-1].end + 1]
    nothing = Values(None, {}, {})
    return bind(statement, nothing, table=lambda hole: quoted(hole.table), files=_no_files).text


def _rejected(source: Source) -> UsageError:
    return UsageError(source.faults[0].what, source.faults[0].remedy)


def _no_files(_: object) -> str:
    raise UsageError(
        "read_json, read_csv and read_parquet work in scripts only",
        "query a file as json.`path`, csv.`path` or parquet.`path`",
    )
