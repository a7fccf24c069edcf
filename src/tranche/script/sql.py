"""A SQL script: its text becomes a value, or a list of faults."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from tranche.model.script import Script
from tranche.script.annotations import read_header
from tranche.script.defining import fingerprint, made_assets, unique
from tranche.script.lakes import Lakes, unknown_lakes
from tranche.script.read import ScriptRead
from tranche.script.source import Source
from tranche.script.statements import Body, read_body
from tranche.script.tokens import comments, normalized, statements, tokenize


def read_sql_script(name: str, path: str, text: str, lakes: Lakes) -> ScriptRead:
    source = Source(path, normalized(text))
    tokens, complete = tokenize(source)
    found = comments(source, tokens)
    header = read_header(path, found.top, found.below)
    if not header.marked and not header.faults:
        return ScriptRead(None)
    annotations = header.annotations
    body = read_body(source, tokens, annotations, lakes) if complete else Body()
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


def _code(text: str, statement: list[Token]) -> str:
    """The user's own words, so that no parser's opinion of them goes in."""
    return "\x1e".join(text[token.start : token.end + 1] for token in statement)
