"""A Python script: its header is read here; its code is never imported to be checked."""

from __future__ import annotations

import hashlib
import io
import tokenize
from collections.abc import Iterator

from tranche.errors import Fault, Place
from tranche.model.asset import LakeTable
from tranche.model.script import Script
from tranche.model.trigger import OnAsset
from tranche.script.annotations import CommentLine, read_header
from tranche.script.read import ScriptRead
from tranche.script.tokens import normalized

_SKIPPED = (tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.INDENT, tokenize.DEDENT)


def read_python_script(name: str, path: str, source: str, lakes: frozenset[str]) -> ScriptRead:
    text = normalized(source)
    try:
        top, below = _comments(text)
        compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, tokenize.TokenError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        what = f"the code does not parse: {getattr(error, 'msg', error)}"
        return ScriptRead(None, (Fault(Place(path, line), what, "correct the Python"),))
    header = read_header(path, top, below)
    if not header.marked and not header.faults:
        return ScriptRead(None)
    annotations = header.annotations
    made = (annotations.materialize.asset,) if annotations.materialize else ()
    assets = [(asset, 1) for asset in (*made, *annotations.reads, *annotations.writes)]
    assets += [(t.asset, t.line) for t in annotations.triggers if isinstance(t, OnAsset)]
    faults = [
        *header.faults,
        *(
            Fault(
                Place(path, line), f"unknown lake {asset.lake!r}", f"use {', '.join(sorted(lakes))}"
            )
            for asset, line in assets
            if isinstance(asset, LakeTable) and asset.lake not in lakes
        ),
    ]
    if faults:
        return ScriptRead(None, tuple(sorted(set(faults))))
    return ScriptRead(
        Script(
            name=name,
            path=path,
            language="python",
            annotations=annotations,
            reads=annotations.reads,
            writes=tuple(dict.fromkeys((*made, *annotations.writes))),
            fingerprint=hashlib.sha256(text.encode()).hexdigest()[:32],
            warnings=tuple(header.warnings),
        )
    )


def _comments(text: str) -> tuple[list[CommentLine], list[CommentLine]]:
    top: list[CommentLine] = []
    below: list[CommentLine] = []
    code = False
    for token in _tokens(text):
        if token.type == tokenize.COMMENT:
            line = CommentLine(token.start[0], token.string.lstrip("#"))
            (below if code else top).append(line)
        elif token.type not in _SKIPPED:
            code = True
    return top, below


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)
