"""A Python script: its header and its syntax tree are read; its code is never imported for that."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tranche.errors import Fault, Place
from tranche.model.asset import AssetUri
from tranche.model.code import Code, Loaded
from tranche.model.script import Annotations, Script
from tranche.model.strategy import Manual, Materialize
from tranche.model.trigger import OnAsset
from tranche.script.annotations import CommentLine, read_header
from tranche.script.defining import fingerprint, made_assets, unique
from tranche.script.lakes import Lakes, unknown_lakes
from tranche.script.python_files import CodeFiles, code_files
from tranche.script.python_main import MainReader
from tranche.script.python_names import names_of
from tranche.script.read import ScriptRead

_SKIPPED = (tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.INDENT, tokenize.DEDENT)


def read_python_script(name: str, path: str, source: str, lakes: Lakes) -> ScriptRead:
    text = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        tree = _parsed(text, path)
        comments = _comments(text)
    except (SyntaxError, tokenize.TokenError, ValueError) as error:
        return ScriptRead(None, (_broken(path, error),))
    header = read_header(path, comments.top, comments.below)
    if not header.marked and not header.faults:
        return ScriptRead(None)
    names = names_of(tree)
    reader = MainReader(path, names, header.annotations)
    code = reader.read(tree, header.annotations.line("pipeline"))
    files = code_files(path, text, tree, names)
    faults = {
        *header.faults,
        *reader.faults,
        *files.faults,
        *unknown_lakes(path, header, lakes),
    }
    if faults or code is None:
        return ScriptRead(None, tuple(sorted(faults)))
    declared = header.annotations
    written = unique([*made_assets(declared), *declared.writes, *files.writes])
    annotations = _with_made(declared, written)
    reads = unique([*declared.reads, *_loaded(code), *files.reads])
    return ScriptRead(
        Script(
            name=name,
            path=path,
            language="python",
            annotations=annotations,
            code=code,
            reads=reads,
            writes=written,
            fingerprint=fingerprint(annotations, reads, [comments.code]),
            warnings=(*header.warnings, *_unclassified(path, files, declared)),
        )
    )


def _with_made(annotations: Annotations, written: tuple[AssetUri, ...]) -> Annotations:
    """A script without a materialize line makes what it writes by itself, the first of it foremost."""
    if annotations.materialize is not None or not written:
        return annotations
    return replace(annotations, materialize=Materialize(written[0], Manual()))


def _loaded(code: Code) -> Iterator[AssetUri]:
    return (p.value.asset for p in code.parameters if isinstance(p.value, Loaded))


def _unclassified(path: str, files: CodeFiles, annotations: Annotations) -> Iterator[str]:
    """Constants that nobody can say anything about, and no line settles."""
    awaited = (on.asset for on in annotations.triggers if isinstance(on, OnAsset))
    made = made_assets(annotations)
    settled = {*annotations.reads, *annotations.writes, *awaited, *made}
    for name, asset, line in files.unknown:
        if asset not in settled:
            yield (
                f"{Place(path, line)}: {name} is an address, and the code does not show whether it"
                f" is read or written; add the line '# writes {asset}' or '# reads {asset}'"
            )


def _parsed(text: str, path: str) -> ast.Module:
    with warnings.catch_warnings():
        # What Python thinks of the user's code beyond its syntax is not ours to print.
        warnings.simplefilter("ignore")
        tree = ast.parse(text, path)
        # Some faults show only then, such as a return outside a function.
        compile(tree, path, "exec", dont_inherit=True)
    return tree


def _broken(path: str, error: Exception) -> Fault:
    line = getattr(error, "lineno", None)
    if line is None and isinstance(error, tokenize.TokenError):
        line = error.args[1][0]
    what = error.msg if isinstance(error, SyntaxError) else error.args[0]
    return Fault(Place(path, line or 1), f"the code does not parse: {what}", "correct the Python")


@dataclass(slots=True)
class _Comments:
    """The lines that are comments only, and the code without any."""

    top: list[CommentLine] = field(default_factory=list)
    below: list[CommentLine] = field(default_factory=list)
    code: str = ""


def _comments(text: str) -> _Comments:
    found = _Comments()
    lines = text.split("\n")
    within: set[int] = set()
    code = False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
            if lines[row - 1].strip():
                continue
            line = CommentLine(row, token.string.lstrip("#"))
            (found.below if code else found.top).append(line)
        elif token.type not in _SKIPPED:
            code = True
            # Empty lines within a text are part of it.
            within.update(range(token.start[0], token.end[0]))
    kept = (line for row, line in enumerate(lines, 1) if line.strip() or row in within)
    found.code = "\n".join(kept)
    return found
