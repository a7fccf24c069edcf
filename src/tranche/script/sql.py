"""A SQL script: its text becomes a value, or a list of faults."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from tranche.model.script import Annotations, Dialect, Script
from tranche.script.annotations import read_header
from tranche.script.defining import fingerprint, made_assets, unique
from tranche.script.lakes import Lakes, unknown_lakes
from tranche.script.read import ScriptRead
from tranche.script.source import Source
from tranche.script.statements import Body, read_body
from tranche.script.tokens import comments, dialect_of, normalized, statements, tokenize


def read_sql_script(
    name: str, path: str, text: str, lakes: Lakes, dialect: Dialect = "spark"
) -> ScriptRead:
    """The script of a file; `dialect` is that of a project, for scripts that say none."""
    source = Source(path, normalized(text))
    said = dialect_of(source, dialect)
    tokens, complete = tokenize(source, said)
    found = comments(source, tokens)
    header = read_header(path, found.top, found.below, said)
    if not header.marked and not header.faults:
        return ScriptRead(None)
    annotations = header.annotations
    if not complete:
        body = Body()
    elif said == "duckdb":
        body = _translated_body(source, tokens, annotations, lakes)
    else:
        body = read_body(source, tokens, annotations, lakes)
    faults = {*header.faults, *source.faults, *unknown_lakes(path, header, lakes)}
    if faults:
        return ScriptRead(None, tuple(sorted(faults)))
    reads = unique([*body.reads, *annotations.reads])
    code = (_code(source.text, statement) for statement in statements(tokens))
    return ScriptRead(
        Script(
            name=name,
            path=path,
            language="sql",
            annotations=annotations,
            setup=tuple(body.setup),
            query=body.query,
            reads=reads,
            writes=unique([*made_assets(annotations), *body.writes, *annotations.writes]),
            fingerprint=fingerprint(annotations, reads, code),
            warnings=(*header.warnings, *source.warnings),
            columns=body.columns,
            columns_read=body.columns_read,
        )
    )


def _translated_body(
    source: Source, tokens: list[Token], annotations: Annotations, lakes: Lakes
) -> Body:
    """The statements as Spark SQL, on the lines of the script."""
    # Most projects need no other dialect.
    from tranche.script.duckdb.translating import translated

    before = len(source.faults)
    text = translated(source, tokens)
    if len(source.faults) > before:
        return Body()
    said = Source(source.path, text, source.faults, source.warnings, source.script)
    return read_body(said, tokenize(said)[0], annotations, lakes)


def _code(text: str, statement: list[Token]) -> str:
    """The user's own words, so that no parser's opinion of them goes in."""
    return "\x1e".join(text[token.start : token.end + 1] for token in statement)
