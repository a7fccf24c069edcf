"""A data test by script: a file with one SELECT that returns the rows which violate a rule."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from tranche.errors import Fault, Place
from tranche.model.asset import SLICE_TOKEN
from tranche.model.script import Script, ViolationQuery
from tranche.model.statement import SliceHole
from tranche.script.annotations import read_header
from tranche.script.binding import SLICE_VIEW
from tranche.script.holes import Parsed, cut
from tranche.script.lakes import Lakes
from tranche.script.names import Names
from tranche.script.parsing import Unparsed, kind_of, parse
from tranche.script.read import DataTestRead
from tranche.script.source import Source
from tranche.script.tokens import (
    STRINGS,
    comments,
    dialect_of,
    normalized,
    statements,
    tokenize,
)

_FORM = "write one SELECT of the violating rows, as in SELECT * FROM {slice} WHERE …"


def read_violation_query(
    name: str, path: str, text: str, script: Script, lakes: Lakes
) -> DataTestRead:
    """Reads the file for one script: its key and its arguments mean something in there too."""
    source = Source(path, normalized(text), script=script.path)
    dialect = dialect_of(source, script.annotations.dialect)
    tokens, complete = tokenize(source, dialect)
    found = comments(source, tokens)
    if read_header(path, found.top, found.below).marked:
        return DataTestRead(None, is_pipeline=True)
    if complete and dialect == "duckdb":
        source, tokens = _translated(source, _with_slice(tokens))
    item = _parsed(source, _with_slice(tokens), lakes) if complete and not source.faults else None
    query = None
    if item is not None:
        # Tables that the SELECT under test reads too are seen as it saw them.
        done = cut(source, script.annotations, item, pinned=True)
        query = ViolationQuery(name, path, done.statement)
        if not any(isinstance(part, SliceHole) for part in done.statement.parts):
            source.warn(
                item.start,
                f"the data test does not look at {SLICE_TOKEN}, so that it says nothing about the"
                " rows which are about to be published",
            )
    if source.faults:
        return DataTestRead(None, tuple(sorted(set(source.faults))))
    return DataTestRead(query, warnings=tuple(source.warnings))


def _translated(source: Source, tokens: list[Token]) -> tuple[Source, list[Token]]:
    """The data test in Spark SQL, on its lines."""
    # Most projects need no other dialect.
    from tranche.script.duckdb.translating import translated

    text = translated(source, tokens)
    said = Source(source.path, text, source.faults, source.warnings, source.script)
    return said, tokenize(said)[0]


def _with_slice(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with one that is a name in place of `{slice}`."""
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        words = [token.text for token in tokens[at : at + 3]]
        if words == ["{", "slice", "}"] and tokens[at].token_type is TokenType.L_BRACE:
            first, last = tokens[at], tokens[at + 2]
            found.append(
                Token(TokenType.VAR, SLICE_VIEW, first.line, first.col, first.start, last.end, [])
            )
            at += 3
        else:
            found.append(tokens[at])
            at += 1
    return found


def _parsed(source: Source, tokens: Sequence[Token], lakes: Lakes) -> Parsed | None:
    chunks = list(statements(tokens))
    if not chunks:
        source.fault(0, "the data test holds no statement", _FORM)
        return None
    if len(chunks) > 1:
        what = f"the data test holds {len(chunks)} statements"
        source.fault(chunks[1][0].start, what, _FORM)
        return None
    chunk = chunks[0]
    for token in chunk:
        if token.token_type in STRINGS and token.text == SLICE_TOKEN:
            source.fault(token.start, f"{SLICE_TOKEN} stands in quotes", "it is no text, but rows")
    try:
        tree = parse(chunk, source.text)
    except Unparsed as error:
        place = Place(source.path, error.line or source.line(chunk[0].start))
        source.faults.append(Fault(place, error.what, "correct the SQL"))
        return None
    names = Names(lakes, views=frozenset({SLICE_VIEW}))
    item = Parsed(chunk, tree, kind_of(tree, chunk), names)
    if item.kind != "select":
        source.fault(item.start, f"the data test is {item.verb}, not a SELECT", _FORM)
        return None
    return item
