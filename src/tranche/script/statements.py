"""Statements: found by parsing, sorted into setup and query, cut at the holes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from tranche.errors import Fault, Place
from tranche.model.asset import AssetUri, FileSet
from tranche.model.partitioning import Composite, Partitioning
from tranche.model.script import Annotations
from tranche.model.statement import (
    ArgumentHole,
    FileHole,
    KeyHole,
    Part,
    Statement,
    StatementKind,
    TableHole,
    Text,
)
from tranche.model.strategy import PARTITION_COLUMN, Manual
from tranche.script.files import FILE_FUNCTIONS, BadFileRead, read_file_call
from tranche.script.names import FileQuery, Lakes, Names, TableRef, UnknownLake, table_refs
from tranche.script.tokens import SPARK, STRINGS, line_of, statements

_TOKEN = "{partition"
_SETUP = "SET, CREATE TEMPORARY VIEW, CREATE TEMPORARY FUNCTION, DECLARE and ATTACH"


@dataclass(slots=True)
class Body:
    """The statements of a script with what they read and write."""

    setup: list[Statement] = field(default_factory=list)
    query: Statement | None = None
    reads: list[AssetUri] = field(default_factory=list)
    writes: list[AssetUri] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


@dataclass(slots=True)
class _Parsed:
    tokens: list[Token]
    tree: exp.Expression
    kind: StatementKind
    names: Names


def read_body(
    path: str, text: str, tokens: Sequence[Token], annotations: Annotations, lakes: Lakes
) -> Body:
    """Reads all statements; each fault is located, and one does not hide the next."""
    reader = _Reader(path, text, annotations)
    body = reader.body
    manual = annotations.materialize is not None and isinstance(
        annotations.materialize.strategy, Manual
    )
    parsed = list(reader.parse(tokens, lakes))
    if not body.faults:
        reader.check_order(parsed, manual=manual)
    for item in parsed:
        statement = reader.cut(item, pinned=not manual)
        if not manual and item is parsed[-1] and item.kind == "select":
            body.query = statement
            reader.check_projection(item.tree, item.tokens[0].start)
        else:
            body.setup.append(statement)
    body.reads = list(dict.fromkeys(body.reads))
    body.writes = list(dict.fromkeys(body.writes))
    return body


def read_statement(
    path: str, text: str, tokens: list[Token], annotations: Annotations, lakes: Lakes
) -> tuple[Statement | None, list[Fault]]:
    """One statement by itself; None if only Spark can read it."""
    reader = _Reader(path, text, annotations)
    tree = reader.tree(tokens)
    if tree is None:
        return None, []
    names = Names(lakes)
    try:
        list(table_refs(tree, names))
    except (FileQuery, UnknownLake):
        return None, []
    statement = reader.cut(_Parsed(tokens, tree, _kind(tree, tokens), names), pinned=False)
    return statement, reader.body.faults


class _Reader:
    """Reads one script, collecting faults as it goes."""

    def __init__(self, path: str, text: str, annotations: Annotations) -> None:
        self.path = path
        self.text = text
        self.annotations = annotations
        self.body = Body()

    def fault(self, position: int, what: str, remedy: str | None = None) -> None:
        place = Place(self.path, line_of(self.text, position))
        self.body.faults.append(Fault(place, what, remedy))

    def parse(self, tokens: Sequence[Token], lakes: Lakes) -> Iterator[_Parsed]:
        names = Names(lakes)
        for chunk in statements(tokens):
            if chunk[0].text.upper() == "ATTACH":
                names = self.attach(chunk, names)
                continue
            tree = self.tree(chunk)
            if tree is None:
                continue
            yield _Parsed(chunk, tree, _kind(tree, chunk), names)
            created = _temporary_view(tree)
            if created is not None:
                names = replace(names, views=names.views | {created.lower()})

    def tree(self, chunk: list[Token]) -> exp.Expression | None:
        try:
            tree: exp.Expression | None = SPARK.parser().parse(chunk, self.text)[0]
        except ParseError as error:
            first = error.errors[0] if error.errors else {}
            what = str(first.get("description") or "it is no Spark SQL").rstrip(". ")
            near = str(first.get("highlight") or "").strip()
            place = Place(self.path, int(first.get("line") or chunk[0].line))
            at = f" at {near!r}" if near else ""
            self.body.faults.append(
                Fault(place, f"the statement does not parse{at}: {what}", "correct the SQL")
            )
            return None
        except SqlglotError as error:
            self.fault(chunk[0].start, f"the statement does not parse: {error}", "correct the SQL")
            return None
        return tree

    def attach(self, chunk: list[Token], names: Names) -> Names:
        """`ATTACH 'lake://main' AS dl` gives a lake a second name."""
        words = [token for token in chunk[1:] if token.token_type is not TokenType.ALIAS]
        form = "write ATTACH 'lake://<lake>' AS <alias>"
        if not words or words[0].token_type not in STRINGS or len(words) > 2:
            self.fault(chunk[0].start, "ATTACH does not parse", form)
            return names
        scheme, _, lake = words[0].text.partition("://")
        if scheme not in ("lake", "ducklake") or not lake:
            self.fault(words[0].start, f"ATTACH of {words[0].text!r} names no lake", form)
            return names
        if lake not in names.lakes.names:
            self.unknown_lake(lake, words[0].start, names)
            return names
        alias = words[1].text if len(words) == 2 else lake
        return replace(names, aliases={**names.aliases, alias: lake})

    def unknown_lake(self, lake: str, position: int, names: Names) -> None:
        known = sorted({*names.lakes.names, *names.aliases})
        near = get_close_matches(lake, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the lakes are {', '.join(known)}"
        self.fault(position, f"unknown lake {lake!r}", hint)

    def check_order(self, parsed: list[_Parsed], *, manual: bool) -> None:
        if manual:
            if not parsed:
                self.fault(0, "the script holds no statement", "write what it should do")
            return
        if not parsed:
            self.fault(0, "the script has no SELECT", "end it with the SELECT for one slice")
            return
        selects = [item for item in parsed if item.kind == "select"]
        last = parsed[-1]
        for item in parsed[:-1]:
            if item.kind == "select":
                self.fault(
                    item.tokens[0].start,
                    f"the script has {len(selects)} SELECTs",
                    "keep one, at the end; make the others temporary views or CTEs",
                )
        if last.kind != "select":
            self.fault(
                last.tokens[0].start,
                f"the script ends with {_verb(last)}, not with a SELECT",
                "end it with the SELECT for one slice, or declare it materialize manual",
            )
        for item in parsed[:-1]:
            if item.kind == "other":
                self.fault(
                    item.tokens[0].start,
                    f"{_verb(item)} is no setup statement",
                    f"before the SELECT stand only {_SETUP}; or declare it materialize manual",
                )

    def check_projection(self, tree: exp.Expression, position: int) -> None:
        names = tree.named_selects if isinstance(tree, exp.Query) else []
        for name in names:
            if name.lower() == PARTITION_COLUMN:
                self.fault(
                    position,
                    f"the SELECT projects {PARTITION_COLUMN}, which Tranche manages",
                    "leave it out, or give the column another name",
                )
                return

    def cut(self, item: _Parsed, *, pinned: bool) -> Statement:
        """The statement's text with its holes."""
        holes: list[tuple[int, int, Part]] = []
        files = list(self.file_holes(item.tokens))
        for start, end, hole in files:
            holes.append((start, end, hole))
            self.body.reads.append(_file_asset(hole))
        inside = [(start, end) for start, end, _ in files]
        holes += self.value_holes(item.tokens, inside)
        holes += self.table_holes(item, pinned=pinned)
        start, end = item.tokens[0].start, item.tokens[-1].end + 1
        parts: list[Part] = []
        for from_, to, part in sorted(holes, key=lambda hole: hole[0]):
            if from_ > start:
                parts.append(Text(self.text[start:from_]))
            parts.append(part)
            start = to
        if start < end:
            parts.append(Text(self.text[start:end]))
        return Statement(item.kind, tuple(parts), item.tokens[0].line)

    def file_holes(self, tokens: list[Token]) -> Iterator[tuple[int, int, FileHole]]:
        for position, token in enumerate(tokens):
            following = tokens[position + 1 : position + 2]
            called = bool(following) and following[0].token_type is TokenType.L_PAREN
            if not called or token.text.lower() not in FILE_FUNCTIONS:
                continue
            try:
                hole, last = read_file_call(tokens, position, self.dimension)
            except BadFileRead as error:
                self.fault(error.position, error.what, error.remedy)
                continue
            for part in hole.path:
                if isinstance(part, ArgumentHole):
                    self.check_argument(part.name, token.start)
                elif isinstance(part, KeyHole) and self.annotations.partitioning is None:
                    self.no_partitions(token.start)
            yield token.start, tokens[last].end + 1, hole

    def value_holes(
        self, tokens: list[Token], inside: list[tuple[int, int]]
    ) -> Iterator[tuple[int, int, Part]]:
        for position, token in enumerate(tokens):
            if any(start <= token.start < end for start, end in inside):
                continue
            if token.token_type in STRINGS and _TOKEN in token.text:
                hole = self.dimension(token)
                if hole is not None:
                    if self.annotations.partitioning is None:
                        self.no_partitions(token.start)
                    yield token.start, token.end + 1, hole
            elif token.token_type is TokenType.PARAMETER and token.text == "$":
                following = tokens[position + 1 : position + 2]
                if not following or following[0].start != token.end + 1:
                    self.fault(token.start, "a $ stands alone", "write $name")
                    continue
                name = following[0].text
                if self.check_argument(name, token.start):
                    declared = any(a.name == name for a in self.annotations.arguments)
                    part = ArgumentHole(name) if declared else KeyHole()
                    yield token.start, following[0].end + 1, part

    def dimension(self, token: Token) -> KeyHole | None:
        """What a literal that holds the token stands for; a token in a longer text is a fault."""
        text = token.text
        if text == "{partition}":
            return KeyHole()
        partitioning: Partitioning | None = self.annotations.partitioning
        if text.startswith("{partition.") and text.endswith("}"):
            name = text[len("{partition.") : -1]
            if isinstance(partitioning, Composite) and name in dict(partitioning.dimensions):
                return KeyHole(name)
            self.fault(
                token.start,
                f"{text!r} names no dimension of the partitioning",
                "use '{partition}', or name a dimension of the partitioned line",
            )
            return None
        before, found, after = text.partition("{partition}")
        if not found:
            return None
        pieces = [f"'{before}'" if before else "", "'{partition}'", f"'{after}'" if after else ""]
        self.fault(
            token.start,
            f"the token stands inside the longer literal {text!r}",
            f"write {' || '.join(piece for piece in pieces if piece)}",
        )
        return None

    def no_partitions(self, position: int) -> None:
        self.fault(
            position,
            "'{partition}' in a script without partitions",
            "add a partitioned line, as in partitioned daily",
        )

    def check_argument(self, name: str, position: int) -> bool:
        declared = [argument.name for argument in self.annotations.arguments]
        if name in declared:
            return True
        if name == "partition":
            if self.annotations.partitioning is not None:
                return True
            self.no_partitions(position)
            return False
        near = get_close_matches(name, declared, n=1)
        hint = f"did you mean ${near[0]}?" if near else f"add the line ${name} (<type>) at the top"
        self.fault(position, f"${name} is not declared", hint)
        return False

    def table_holes(self, item: _Parsed, *, pinned: bool) -> list[tuple[int, int, Part]]:
        if isinstance(item.tree, exp.Set) or _names_no_table(item.tree):
            return []
        try:
            refs = list(table_refs(item.tree, item.names))
        except UnknownLake as error:
            self.unknown_lake(error.name, error.position, item.names)
            return []
        except FileQuery as error:
            self.fault(
                error.position,
                f"a file is queried as a table of {error.format}",
                "use read_json('…'), read_csv('…') or read_parquet('…')",
            )
            return []
        target = _target(item.tree)
        created = _temporary_view(item.tree)
        holes: list[tuple[int, int, Part]] = []
        for ref in refs:
            if created is not None and ref.written == (created,) and _at(target, ref):
                continue
            written = _at(target, ref)
            (self.body.writes if written else self.body.reads).append(ref.table)
            keep = pinned and not written and not ref.travels and ref.metadata is None
            holes.append((ref.start, ref.end, TableHole(ref.table, pinned=keep)))
            if ref.metadata is not None:
                holes.append((ref.end, ref.end, Text(f".`{ref.metadata}`")))
        holes += _qualifiers(item.tree, refs)
        return holes


def _kind(tree: exp.Expression, tokens: list[Token]) -> StatementKind:
    if isinstance(tree, exp.Query):
        return "select"
    first = tokens[0].text.upper()
    if first in ("SET", "RESET", "DECLARE") or _is_temporary(tree, tokens):
        return "setup"
    return "other"


def _is_temporary(tree: exp.Expression, tokens: list[Token]) -> bool:
    if not isinstance(tree, exp.Create | exp.Command) or tokens[0].text.upper() != "CREATE":
        return False
    words = [token.text.upper() for token in tokens[:6]]
    return bool({"TEMP", "TEMPORARY"} & set(words)) and bool({"VIEW", "FUNCTION"} & set(words))


def _temporary_view(tree: exp.Expression) -> str | None:
    if not isinstance(tree, exp.Create) or tree.kind != "VIEW":
        return None
    if tree.find(exp.TemporaryProperty) is None:
        return None
    target = _target(tree)
    return target.name if target is not None else None


def _names_no_table(tree: exp.Expression) -> bool:
    """Statements about schemas look to the parser as if they named tables."""
    if isinstance(tree, exp.Use):
        return True
    kind = str(tree.args.get("kind") or "").upper()
    return isinstance(tree, exp.Create | exp.Drop) and kind in ("SCHEMA", "DATABASE", "NAMESPACE")


def _target(tree: exp.Expression) -> exp.Table | None:
    """The table that a statement writes, if it writes one."""
    if isinstance(tree, exp.Query):
        return None
    target = tree.this
    while isinstance(target, exp.Schema | exp.Alias):
        target = target.this
    return target if isinstance(target, exp.Table) else None


def _at(target: exp.Table | None, ref: TableRef) -> bool:
    return target is not None and target.parts[0].meta.get("start") == ref.start


def _qualifiers(tree: exp.Expression, refs: list[TableRef]) -> Iterator[tuple[int, int, Part]]:
    """Columns that repeat a table's whole name keep only its last part, as Spark knows it."""
    named = {ref.written for ref in refs if len(ref.written) > 1}
    for column in tree.find_all(exp.Column):
        *qualifier, _ = column.parts
        if tuple(part.name for part in qualifier) in named:
            start, end = qualifier[0].meta.get("start"), qualifier[-1].meta.get("start")
            if start is not None and end is not None:
                yield start, end, Text("")


def _verb(item: _Parsed) -> str:
    words = [token.text.upper() for token in item.tokens[:2]]
    return " ".join(word for word in words if word.isalpha())


def _file_asset(hole: FileHole) -> FileSet:
    """The files as the graph shows them, with the token standing for each key."""
    text = ""
    for part in hole.path:
        match part:
            case Text(piece):
                text += piece
            case KeyHole(dimension):
                text += "{partition}" if dimension is None else f"{{partition.{dimension}}}"
            case ArgumentHole(name):
                text += f"${name}"
    scheme, separator, rest = text.partition("://")
    return FileSet(scheme, rest) if separator else FileSet("file", text)
