"""The statements of a script: found by parsing, sorted into setup and query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tranche.errors import Fault, Place
from tranche.model.asset import AssetUri
from tranche.model.script import Annotations, ColumnRead
from tranche.model.statement import Statement
from tranche.model.strategy import PARTITION_COLUMN, Manual
from tranche.script.column_reads import column_reads, returned_columns
from tranche.script.holes import Parsed, cut
from tranche.script.names import BadName, Lakes, Names, table_refs
from tranche.script.parsing import Unparsed, created_view, is_balanced, kind_of, parse
from tranche.script.source import Source
from tranche.script.tokens import STRINGS, statements

_SETUP = "SET, CREATE TEMPORARY VIEW, CREATE TEMPORARY FUNCTION, DECLARE and ATTACH"
_ATTACH = "write ATTACH 'lake://<lake>' AS <alias>"


@dataclass(slots=True)
class Body:
    """The statements of a script with what they read and write."""

    setup: list[Statement] = field(default_factory=list)
    query: Statement | None = None
    reads: list[AssetUri] = field(default_factory=list)
    writes: list[AssetUri] = field(default_factory=list)
    columns: tuple[str, ...] | None = None
    columns_read: tuple[ColumnRead, ...] = ()


def read_body(
    source: Source, tokens: Sequence[Token], annotations: Annotations, lakes: Lakes
) -> Body:
    """Reads all statements; each fault is located, and one does not hide the next."""
    made = annotations.materialize
    manual = made is not None and isinstance(made.strategy, Manual)
    before = len(source.faults)
    parsed = list(_parse_all(source, tokens, lakes, manual=manual))
    if len(source.faults) == before:
        _check_manual(source, parsed) if manual else _check_order(source, parsed)
    body = Body()
    for item in parsed:
        done = cut(source, annotations, item, pinned=not manual)
        body.reads += done.reads
        body.writes += done.writes
        if not manual and item is parsed[-1] and item.kind == "select":
            body.query = done.statement
            body.columns = returned_columns(item.tree)
            # A name that is no column may be a variable.
            if not any(other.verb.startswith("DECLARE") for other in parsed):
                body.columns_read = tuple(dict.fromkeys(column_reads(source, item)))
        else:
            body.setup.append(done.statement)
    if body.query is not None and made is not None:
        _check_projection(source, parsed[-1])
    return body


def read_statement(source: Source, tokens: list[Token], lakes: Lakes) -> Statement | None:
    """One statement by itself; None if only Spark can read it."""
    names = Names(lakes)
    try:
        tree = parse(tokens, source.text)
    except Unparsed:
        return None
    if any(isinstance(ref, BadName) for ref in table_refs(tree, names)):
        return None
    item = Parsed(tokens, tree, kind_of(tree, tokens), names)
    return cut(source, Annotations(), item, pinned=False).statement


def _parse_all(
    source: Source, tokens: Sequence[Token], lakes: Lakes, *, manual: bool
) -> Iterator[Parsed]:
    names = Names(lakes)
    for chunk in statements(tokens):
        if chunk[0].text.upper() == "ATTACH":
            names = _attach(source, chunk, names)
            continue
        try:
            tree = parse(chunk, source.text)
        except Unparsed as error:
            if manual and is_balanced(chunk):
                source.warn(
                    chunk[0].start,
                    "the statement goes to Spark as it stands, because Tranche cannot read it;"
                    " write out its tables as <lake>.<schema>.<table>",
                )
                yield Parsed(chunk, None, "other", names)
            else:
                place = Place(source.path, error.line or source.line(chunk[0].start))
                source.faults.append(Fault(place, error.what, "correct the SQL"))
            continue
        yield Parsed(chunk, tree, kind_of(tree, chunk), names)
        view = created_view(tree, chunk)
        if view is not None:
            names = replace(names, views=names.views | {view.lower()})


def _attach(source: Source, chunk: list[Token], names: Names) -> Names:
    """`ATTACH 'lake://main' AS dl` gives a lake a second name."""
    words = [token for token in chunk[1:] if token.token_type is not TokenType.ALIAS]
    if not words or words[0].token_type not in STRINGS or len(words) > 2:
        source.fault(chunk[0].start, "ATTACH does not parse", _ATTACH)
        return names
    scheme, _, lake = words[0].text.partition("://")
    if scheme not in ("lake", "ducklake") or not lake:
        source.fault(words[0].start, f"ATTACH of {words[0].text!r} names no lake", _ATTACH)
        return names
    if lake not in names.lakes.names:
        source.fault(words[0].start, *names.lakes.unlike(lake))
        return names
    alias = words[1].text if len(words) == 2 else lake
    return replace(names, aliases={**names.aliases, alias: lake})


def _check_manual(source: Source, parsed: list[Parsed]) -> None:
    if not parsed:
        source.fault(0, "the script holds no statement", "write what it should do")


def _check_order(source: Source, parsed: list[Parsed]) -> None:
    """Setup statements, then the one SELECT."""
    if not parsed:
        source.fault(0, "the script has no SELECT", "end it with the SELECT for one slice")
        return
    selects = sum(item.kind == "select" for item in parsed)
    *setup, last = parsed
    for item in setup:
        if item.kind == "select":
            source.fault(
                item.start,
                f"the script has {selects} SELECTs",
                "keep one, at the end; make the others temporary views or CTEs",
            )
        elif item.kind == "other":
            source.fault(
                item.start,
                f"{item.verb} is no setup statement",
                f"before the SELECT stand only {_SETUP}; or declare it materialize manual",
            )
    if last.kind != "select":
        source.fault(
            last.start,
            f"the script ends with {last.verb}, not with a SELECT",
            "end it with the SELECT for one slice, or declare it materialize manual",
        )


def _check_projection(source: Source, item: Parsed) -> None:
    """The managed column is added by Tranche; a SELECT that projects it would make two."""
    if not isinstance(item.tree, exp.Query):
        return
    for column in item.tree.selects:
        if column.output_name.lower() != PARTITION_COLUMN:
            continue
        starts = [name.meta["start"] for name in column.find_all(exp.Identifier) if name.meta]
        source.fault(
            max(starts, default=item.start),
            f"the SELECT projects {PARTITION_COLUMN}, which Tranche manages",
            "leave it out, or give the column another name",
        )
