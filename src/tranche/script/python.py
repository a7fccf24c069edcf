"""A Python script: its header is read here; its code is never imported to be checked."""

from __future__ import annotations

import hashlib
import io
import tokenize
import warnings
from collections.abc import Iterator

from tranche.errors import Fault, Place
from tranche.model.script import Script
from tranche.script.annotations import CommentLine, read_header
from tranche.script.lakes import Lakes, unknown_lakes
from tranche.script.read import ScriptRead

_SKIPPED = (tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.INDENT, tokenize.DEDENT)


def read_python_script(name: str, path: str, source: str, lakes: Lakes) -> ScriptRead:
    text = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        _check_syntax(text, path)
        top, below = _comments(text)
    except (SyntaxError, tokenize.TokenError, ValueError) as error:
        return ScriptRead(None, (_broken(path, error),))
    header = read_header(path, top, below)
    if not header.marked and not header.faults:
        return ScriptRead(None)
    faults = {*header.faults, *unknown_lakes(path, header, lakes)}
    if faults:
        return ScriptRead(None, tuple(sorted(faults)))
    annotations = header.annotations
    made = (annotations.materialize.asset,) if annotations.materialize else ()
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


def _check_syntax(text: str, path: str) -> None:
    with warnings.catch_warnings():
        # What Python thinks of the user's code beyond its syntax is not ours to print.
        warnings.simplefilter("ignore")
        compile(text, path, "exec", dont_inherit=True)


def _broken(path: str, error: Exception) -> Fault:
    line = getattr(error, "lineno", None)
    if line is None and isinstance(error, tokenize.TokenError):
        line = error.args[1][0]
    what = error.msg if isinstance(error, SyntaxError) else error.args[0]
    return Fault(Place(path, line or 1), f"the code does not parse: {what}", "correct the Python")


def _comments(text: str) -> tuple[list[CommentLine], list[CommentLine]]:
    top: list[CommentLine] = []
    below: list[CommentLine] = []
    code = False
    for token in _tokens(text):
        if token.type == tokenize.COMMENT:
            if token.line[: token.start[1]].strip():
                continue
            line = CommentLine(token.start[0], token.string.lstrip("#"))
            (below if code else top).append(line)
        elif token.type not in _SKIPPED:
            code = True
    return top, below


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)
