"""Addresses in the code of a Python script: which of them it reads, and which it writes.

Nothing is imported or run. An address counts as read or written where the code shows it: where it
is given to `read_file` or `write_file`, itself or with its token replaced. What the code does not
show is not guessed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tranche.errors import Fault, FileRejected, Place
from tranche.model.asset import (
    PARTITION_TOKEN,
    AssetUri,
    BadAddress,
    FileSet,
    parse_address,
)
from tranche.model.storage import check_path
from tranche.script.python_names import PythonNames, in_scope, top_level

_ADDRESS = re.compile(r"(?:s3:///|file:|lake://|ducklake://)[^\s]+")
_READS = frozenset({"tranche.read_file", "tranche.files.read_file"})
_WRITES = frozenset({"tranche.write_file", "tranche.files.write_file"})
_KEEPING = ("replace", "format", "format_map", "strip")
"""Methods of a text that leave an address what it is, but for its token."""
_KEY = "partition"
_MOST_TEXTS = 100
"""An expression that could be more texts than that is taken for one that nobody knows."""


@dataclass(slots=True)
class CodeFiles:
    """What the code of a script reads and writes by address."""

    reads: list[AssetUri] = field(default_factory=list)
    writes: list[AssetUri] = field(default_factory=list)
    unknown: list[tuple[str, AssetUri, int]] = field(default_factory=list)
    """Constants of which the code does not show what they are for: name, address and line."""
    faults: list[Fault] = field(default_factory=list)


def code_files(path: str, text: str, tree: ast.Module, names: PythonNames) -> CodeFiles:
    """The addresses in the code of a file."""
    found = CodeFiles()
    constants = _Texts()
    lines: dict[str, int] = {}
    for statement in top_level(tree.body):
        for name, value in _assigned(statement):
            texts = constants.of(value)
            constants.known[name] = texts
            lines[name] = statement.lineno
    for part in _with_calls(text, tree, names):
        _look(path, part, names, constants, found)
    classified = {*found.reads, *found.writes}
    for name, texts in constants.known.items():
        if name in constants.built_upon:
            continue
        for asset in _addresses(texts):
            if asset not in classified:
                found.unknown.append((name, asset, lines[name]))
    return found


def _with_calls(text: str, tree: ast.Module, names: PythonNames) -> list[ast.Module]:
    """The statements of a file that may read or write by address; most do not."""
    words = {name for name, full in names.imported.items() if full in _READS | _WRITES}
    words |= {full.rpartition(".")[2] for full in _READS | _WRITES}
    lines = [n for n, line in enumerate(text.split("\n"), 1) if any(w in line for w in words)]
    return [
        ast.Module([each], [])
        for each in tree.body
        if any(each.lineno <= line <= (each.end_lineno or line) for line in lines)
    ]


def _look(path: str, node: ast.AST, names: PythonNames, texts: _Texts, found: CodeFiles) -> None:
    """Goes through a scope; functions inside it have names of their own."""
    for each in in_scope(node):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner = _Texts({**texts.known}, texts.built_upon)
            for _ in range(2):
                # What is assigned further down may be used above, as in a loop.
                for part in in_scope(each):
                    for name, value in _assigned(part):
                        inner.known[name] = inner.known.get(name, frozenset()) | inner.of(value)
            _look(path, each, names, inner, found)
        elif isinstance(each, ast.Call):
            _look_at_call(path, each, names, texts, found)


def _look_at_call(
    path: str, call: ast.Call, names: PythonNames, texts: _Texts, found: CodeFiles
) -> None:
    name = names.full(call.func)
    if name not in _READS | _WRITES:
        return
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "address")]
    for asset in _addresses(texts.of(given[0]) if given else ()):
        if not isinstance(asset, FileSet):
            what = "write_file" if name in _WRITES else "read_file"
            remedy = (
                f"return the rows from main, and add '# materialize {asset}'"
                if name in _WRITES
                else f"add '# reads {asset}', and a parameter for its rows"
            )
            found.faults.append(
                Fault(
                    Place(path, call.lineno), f"{what} takes files, and {asset} is a table", remedy
                )
            )
            continue
        try:
            check_path(asset)
        except FileRejected as error:
            found.faults.append(Fault(Place(path, call.lineno), error.what, error.remedy))
            continue
        into = found.writes if name in _WRITES else found.reads
        if asset not in into:
            into.append(asset)


@dataclass(slots=True)
class _Texts:
    """What texts expressions can be, as far as constants tell."""

    known: dict[str, frozenset[str]] = field(default_factory=dict)
    built_upon: set[str] = field(default_factory=set)
    """Names that are only pieces of others."""

    def of(self, node: ast.expr) -> frozenset[str]:
        match node:
            case ast.Constant(value=str(text)):
                return frozenset({text})
            case ast.Name(id=name):
                return self.known.get(name, frozenset())
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _KEEPING:
                return self.of(owner)
            case ast.IfExp(body=body, orelse=other):
                return self.of(body) | self.of(other)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return frozenset(text for item in items for text in self.of(item))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.joined([left, right])
            case ast.JoinedStr(values=values):
                return self.joined(values)
            case ast.FormattedValue(value=value):
                return self.of(value) or _key(value)
            case _:
                return frozenset()

    def joined(self, parts: Iterable[ast.expr]) -> frozenset[str]:
        found = frozenset({""})
        for part in parts:
            inside = part.value if isinstance(part, ast.FormattedValue) else part
            texts = self.of(part) or _key(inside)
            if len(found) * len(texts) > _MOST_TEXTS:
                return frozenset()
            found = frozenset(start + text for start in found for text in texts)
            if isinstance(inside, ast.Name) and inside.id in self.known:
                self.built_upon.add(inside.id)
        return found


def _key(node: ast.expr) -> frozenset[str]:
    """The parameter `partition` in a text stands for the token."""
    named = isinstance(node, ast.Name) and node.id == _KEY
    return frozenset({PARTITION_TOKEN} if named else ())


def _assigned(statement: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match statement:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name, value
        case ast.For(target=ast.Name(id=name), iter=value):
            yield name, value


def _addresses(texts: Iterable[str]) -> Iterator[AssetUri]:
    for text in sorted(texts):
        if not _ADDRESS.fullmatch(text):
            continue
        try:
            yield parse_address(text)
        except BadAddress:
            continue
