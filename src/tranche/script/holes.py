"""A statement cut at its holes: where the key, arguments, tables and files go in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tranche.model.asset import PARTITION_TOKEN, SLICE_TOKEN, AssetUri, FileSet
from tranche.model.partitioning import Composite
from tranche.model.script import Annotations
from tranche.model.statement import (
    ArgumentHole,
    FileHole,
    KeyHole,
    SliceHole,
    Statement,
    StatementKind,
    TableHole,
    Text,
)
from tranche.script.asof import with_asof_joins
from tranche.script.binding import SLICE_VIEW
from tranche.script.files import FILE_FUNCTIONS, BadFileRead, read_file_call
from tranche.script.names import BadName, Names, TableRef, resolve, table_refs
from tranche.script.parsing import command_target, is_temporary
from tranche.script.source import Source
from tranche.script.splice import Hole, spliced
from tranche.script.tokens import STRINGS

_DIMENSION = "{partition."
_TYPED = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement's tokens with what they mean; the tree is None if only Spark can read them."""

    tokens: list[Token]
    tree: exp.Expr | None
    kind: StatementKind
    names: Names

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def verb(self) -> str:
        """The words that it begins with, as people call it."""
        words = [token.text.upper() for token in self.tokens[:2]]
        return " ".join(word for word in words if word.isalpha())


@dataclass(frozen=True, slots=True)
class Cut:
    """A statement ready to be bound, with the assets that it reads and writes."""

    statement: Statement
    reads: tuple[AssetUri, ...]
    writes: tuple[AssetUri, ...]


def cut(source: Source, annotations: Annotations, item: Parsed, *, pinned: bool) -> Cut:
    """The user's own text with holes. Tables that are read are `pinned` to one snapshot."""
    values = _Values(source, annotations)
    files = list(values.files(item.tokens))
    holes: list[Hole] = [*files, *values.outside(item.tokens, files)]
    if holes and _is_plain_set(item.tokens):
        source.fault(
            item.start, "SET takes no key and no argument", "use SET VAR after DECLARE VARIABLE"
        )
    refs = list(_refs(source, item))
    for ref in refs:
        keep = pinned and not (ref.written or ref.travels or ref.metadata)
        alias = ref.parts[-1] if keep and not ref.aliased else None
        holes.append((ref.start, ref.end, TableHole(ref.table, pinned=keep, alias=alias)))
        if ref.metadata is not None:
            holes.append((ref.end, ref.end, Text(f".`{ref.metadata}`")))
    if item.tree is not None:
        holes += _qualifiers(item.tree, refs)
        holes = with_asof_joins(source, item.tokens, item.tree, holes)
    reads: list[AssetUri] = [file_asset(hole) for _, _, hole in files]
    reads += [ref.table for ref in refs if not ref.written]
    parts = spliced(source.text, item.start, item.tokens[-1].end + 1, holes)
    return Cut(
        Statement(item.kind, tuple(parts), source.line(item.start)),
        tuple(reads),
        tuple(ref.table for ref in refs if ref.written),
    )


def _is_plain_set(tokens: list[Token]) -> bool:
    words = [token.text.upper() for token in tokens[:2]]
    return words[0] == "SET" and words[1:] not in (["VAR"], ["VARIABLE"])


def _refs(source: Source, item: Parsed) -> Iterator[TableRef]:
    temporary = is_temporary(item.tree, item.tokens)
    if item.tree is None or isinstance(item.tree, exp.Command):
        found = _command_ref(item)
    else:
        found = table_refs(item.tree, item.names)
    for ref in found:
        if isinstance(ref, BadName):
            source.fault(ref.position, ref.what, ref.remedy)
        elif not (temporary and ref.written):
            yield ref


def _command_ref(item: Parsed) -> Iterator[TableRef | BadName]:
    parts = command_target(item.tokens)
    names = tuple(part.text for part in parts)
    if parts and not (len(names) == 1 and names[0].lower() in item.names.views):
        yield resolve(names, parts[0].start, parts[-1].end + 1, item.names, written=True)


class _Values:
    """Finds the key and the arguments in a statement's tokens."""

    def __init__(self, source: Source, annotations: Annotations) -> None:
        self.source = source
        self.partitioning = annotations.partitioning
        # A line that does not parse has its own fault; no more are needed about it.
        self.partitioned = annotations.partitioning is not None or "partitioned" in dict(
            annotations.lines
        )
        self.declared = [argument.name for argument in annotations.arguments]

    def files(self, tokens: list[Token]) -> Iterator[tuple[int, int, FileHole]]:
        for at, token in enumerate(tokens):
            following = tokens[at + 1 : at + 2]
            called = bool(following) and following[0].token_type is TokenType.L_PAREN
            if not called or token.text.lower() not in FILE_FUNCTIONS:
                continue
            try:
                hole, last = read_file_call(tokens, at, self.literal, self.parameter)
            except BadFileRead as error:
                if error.what is not None:
                    self.source.fault(error.position, error.what, error.remedy)
                continue
            yield token.start, tokens[last].end + 1, hole

    def outside(
        self, tokens: list[Token], files: list[tuple[int, int, FileHole]]
    ) -> Iterator[Hole]:
        """The holes that stand outside the calls that read files."""
        for at, token in enumerate(tokens):
            if any(start <= token.start < end for start, end, _ in files):
                continue
            if token.token_type in STRINGS:
                hole = self.literal(tokens, at)
                if hole is not None:
                    yield from _typed(tokens, at, hole)
            elif token.token_type is TokenType.PARAMETER and token.text == "$":
                part = self.parameter(tokens, at)
                if part is not None:
                    yield token.start, tokens[at + 1].end + 1, part
            elif is_slice(self.source, token):
                yield token.start, token.end + 1, SliceHole()
            else:
                self.check_unquoted(tokens, at)

    def literal(self, tokens: list[Token], at: int) -> KeyHole | None:
        """What a literal stands for that is the token; within a longer text it is a fault."""
        token = tokens[at]
        text = token.text
        if text.startswith(_DIMENSION) and text.endswith("}"):
            return self.dimension(token)
        if PARTITION_TOKEN not in text:
            return None
        neighbours = _neighbours(tokens, at)
        if text == PARTITION_TOKEN and len(neighbours) == 1:
            return self.key(token.start)
        whole = "".join(neighbour.text for neighbour in neighbours)
        if token is next(n for n in neighbours if PARTITION_TOKEN in n.text):
            self.source.fault(
                token.start,
                f"the token stands inside the longer literal {whole!r}",
                f"write {_concatenated(whole)}",
            )
        return None

    def dimension(self, token: Token) -> KeyHole | None:
        name = token.text[len(_DIMENSION) : -1]
        if isinstance(self.partitioning, Composite) and name in self.partitioning.names:
            return KeyHole(name, self.partitioning.names.index(name))
        self.source.fault(
            token.start,
            f"{token.text!r} names no dimension of the partitioning",
            f"use '{PARTITION_TOKEN}', or name a dimension of the partitioned line",
        )
        return None

    def key(self, position: int) -> KeyHole | None:
        if self.partitioned:
            return KeyHole()
        where = "a script" if self.source.script is None else f"a test of {self.source.script},"
        self.source.fault(
            position,
            f"'{PARTITION_TOKEN}' in {where} without partitions",
            "add a partitioned line, as in partitioned daily",
        )
        return None

    def parameter(self, tokens: list[Token], at: int) -> KeyHole | ArgumentHole | None:
        """What `$name` stands for."""
        position = tokens[at].start
        following = tokens[at + 1 : at + 2]
        adjacent = bool(following) and following[0].start == tokens[at].end + 1
        name = following[0].text if adjacent else ""
        if not name.isidentifier():
            self.source.fault(position, "a $ stands alone", "write $name")
            return None
        if name in self.declared:
            return ArgumentHole(name)
        if name == "partition":
            return self.key(position)
        near = get_close_matches(name, self.declared, n=1)
        top = "at the top" if self.source.script is None else f"at the top of {self.source.script}"
        hint = f"did you mean ${near[0]}?" if near else f"add the line ${name} (<type>) {top}"
        self.source.fault(position, f"${name} is not declared", hint)
        return None

    def check_unquoted(self, tokens: list[Token], at: int) -> None:
        """The token outside of quotes, or in a name, would go to Spark as it stands."""
        token = tokens[at]
        words = [following.text for following in tokens[at : at + 3]]
        if words == ["{", "partition", "}"]:
            what, remedy = "the token stands without quotes", f"write '{PARTITION_TOKEN}'"
        elif token.token_type is TokenType.IDENTIFIER and PARTITION_TOKEN in token.text:
            what = f"the token stands in the name {token.text!r}"
            remedy = "a key is a value; compare a column with it"
        elif words == ["{", "slice", "}"]:
            what = f"{SLICE_TOKEN} stands for the rows under test, and this is no data test"
            remedy = "name a table"
        else:
            return
        self.source.fault(token.start, what, remedy)


def is_slice(source: Source, token: Token) -> bool:
    """Whether a token is the one that stands for `{slice}`."""
    return token.text == SLICE_VIEW and source.text.startswith("{", token.start)


def _neighbours(tokens: list[Token], at: int) -> list[Token]:
    """The literals in a row that Spark reads as one."""
    first = last = at
    while first > 0 and tokens[first - 1].token_type in STRINGS:
        first -= 1
    while last + 1 < len(tokens) and tokens[last + 1].token_type in STRINGS:
        last += 1
    return tokens[first : last + 1]


def _concatenated(text: str) -> str:
    """
    >>> _concatenated("it's {partition}.json")
    "'it\\\\'s ' || '{partition}' || '.json'"
    """
    pieces: list[str] = []
    for number, piece in enumerate(text.split(PARTITION_TOKEN)):
        if number:
            pieces.append(f"'{PARTITION_TOKEN}'")
        if piece:
            escaped = piece.replace("\\", "\\\\").replace("'", "\\'")
            pieces.append(f"'{escaped}'")
    return " || ".join(pieces)


def _typed(tokens: list[Token], at: int, hole: KeyHole) -> Iterator[Hole]:
    """`DATE '{partition}'` takes a literal only, so that it becomes a cast."""
    start, end = tokens[at].start, tokens[at].end + 1
    before = tokens[at - 1] if at else None
    if before is None or before.text.upper() not in _TYPED:
        yield start, end, hole
        return
    yield before.start, start, Text("CAST(")
    yield start, end, hole
    yield end, end, Text(f" AS {before.text.upper()})")


def _qualifiers(tree: exp.Expr, refs: list[TableRef]) -> Iterator[Hole]:
    """Columns that repeat a table's name get the name under which Spark reads the table."""
    named = {ref.parts: ref.table for ref in refs if len(ref.parts) > 1}
    for column in tree.find_all(exp.Column):
        parts = column.parts
        names = tuple(part.name for part in parts)
        for size in range(len(parts) - 1, 1, -1):
            table = named.get(names[:size])
            if table is None:
                continue
            start, end = parts[0].meta.get("start"), parts[size - 1].meta.get("end")
            if start is not None and end is not None:
                yield start, end + 1, TableHole(table, pinned=False, qualifies=True)
            break


def file_asset(hole: FileHole) -> FileSet:
    """The files as the graph shows them, with the token standing for each key."""
    text = ""
    for part in hole.path:
        match part:
            case Text(piece):
                text += piece
            case KeyHole(dimension):
                text += PARTITION_TOKEN if dimension is None else f"{_DIMENSION}{dimension}}}"
            case ArgumentHole(name):
                text += f"${name}"
    scheme, separator, rest = text.partition("://")
    return FileSet(scheme, rest) if separator else FileSet("file", text)
