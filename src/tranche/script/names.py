"""Which table a name in SQL means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tranche.model.asset import DEFAULT_SCHEMA, LakeTable
from tranche.script.lakes import Lakes
from tranche.script.parsing import is_written, named_tables

__all__ = ["BadName", "Lakes", "Names", "TableRef", "resolve", "table_refs"]

FILE_FORMATS = ("json", "csv", "parquet", "orc", "text", "binaryfile", "avro")
METADATA_TABLES = (
    "all_data_files",
    "all_entries",
    "all_files",
    "all_manifests",
    "data_files",
    "delete_files",
    "entries",
    "files",
    "history",
    "manifests",
    "metadata_log_entries",
    "partitions",
    "position_deletes",
    "refs",
    "snapshots",
)
_SESSION = ("global_temp", "session", "system")
"""Where Spark keeps what belongs to a session; such names are left to it."""


@dataclass(frozen=True, slots=True)
class Names:
    """What names mean at one point of a script: lakes, their aliases, and temporary views."""

    lakes: Lakes
    aliases: Mapping[str, str] = field(default_factory=dict)
    views: frozenset[str] = frozenset()

    def lake(self, name: str) -> str | None:
        if name in self.aliases:
            return self.aliases[name]
        return name if name in self.lakes.names else None


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table as the text names it: where the name stands, and what it means."""

    table: LakeTable
    start: int
    end: int
    parts: tuple[str, ...]
    """The parts of the name as they stand in the text."""
    metadata: str | None = None
    travels: bool = False
    """Whether the text itself says which snapshot it reads."""
    written: bool = False
    aliased: bool = False
    """Whether the text gives it another name."""


@dataclass(frozen=True, slots=True)
class BadName:
    """A name that means no table, what is wrong with it, and what to write."""

    position: int
    what: str
    remedy: str


def table_refs(tree: exp.Expr, names: Names) -> Iterator[TableRef | BadName]:
    """The lake tables that a statement names, without its CTEs and temporary views."""
    for node in named_tables(tree):
        identifiers = node.parts
        if not all(
            isinstance(part, exp.Identifier) and "start" in part.meta for part in identifiers
        ):
            continue
        parts = tuple(part.name for part in identifiers)
        if not parts or _is_of_session(parts, names) or (len(parts) == 1 and _is_cte(node)):
            continue
        start, end = identifiers[0].meta["start"], identifiers[-1].meta["end"] + 1
        quoted = bool(identifiers[-1].args.get("quoted"))
        bad = _no_table(parts, start, quoted=quoted)
        if bad is not None:
            yield bad
            continue
        travels = node.args.get("version") is not None or node.args.get("when") is not None
        found = resolve(parts, start, end, names, travels=travels, written=is_written(node))
        aliased = bool(node.alias)
        yield replace(found, aliased=aliased) if isinstance(found, TableRef) else found


def _no_table(parts: tuple[str, ...], start: int, *, quoted: bool) -> BadName | None:
    """What looks like a table to the parser and is something else to Spark."""
    if len(parts) == 2 and parts[0].lower() in FILE_FORMATS and quoted:
        return BadName(
            start,
            f"a file is queried as a table of {parts[0].lower()}",
            "use read_json('…'), read_csv('…') or read_parquet('…')",
        )
    if len(parts) == 1 and parts[0].upper() == "TABLE" and not quoted:
        return BadName(start, "TABLE stands for a query", "write SELECT * FROM <table>")
    return None


def resolve(
    parts: tuple[str, ...],
    start: int,
    end: int,
    names: Names,
    *,
    travels: bool = False,
    written: bool = False,
) -> TableRef | BadName:
    """What a name of one to four parts means: `[<lake>.[<schema>.]]<table>[.<metadata>]`."""
    lake = names.lake(parts[0]) if len(parts) > 1 else names.lakes.default
    if lake is None:
        what, hint = names.lakes.unlike(parts[0], tuple(names.aliases))
        if not hint.startswith("did you mean"):
            hint += f"; a table of the default lake is {'.'.join((names.lakes.default, *parts))}"
        return BadName(start, what, hint)
    rest = parts[1:] if len(parts) > 1 else parts
    metadata = None
    if len(rest) > 1 and rest[-1].lower() in METADATA_TABLES:
        metadata, rest = rest[-1], rest[:-1]
    if len(rest) > 2:
        name = ".".join(parts)
        return BadName(start, f"{name!r} has too many parts", "write <lake>.<schema>.<table>")
    schema = rest[0] if len(rest) == 2 else DEFAULT_SCHEMA
    table = LakeTable(lake, rest[-1], schema)
    return TableRef(table, start, end, parts, metadata, travels, written)


def _is_of_session(parts: tuple[str, ...], names: Names) -> bool:
    if len(parts) == 1:
        return parts[0].lower() in names.views
    return parts[0].lower() in _SESSION and names.lake(parts[0]) is None


def _is_cte(table: exp.Table) -> bool:
    """Whether a name means a CTE that is visible where it stands.

    The body of a CTE sees only those before it, so `WITH orders AS (SELECT … FROM orders)` reads
    the table.
    """
    name = table.name.lower()
    inside: exp.Expr = table
    parent = table.parent
    own: exp.Expr | None = None
    while parent is not None:
        if isinstance(parent, exp.CTE):
            own = parent
        with_ = parent.args.get("with_")
        if isinstance(with_, exp.With) and parent is not with_:
            visible = with_.expressions
            if own is not None and inside is with_:
                position = visible.index(own)
                visible = visible[: position + 1 if with_.recursive else position]
            if any(cte.alias.lower() == name for cte in visible):
                return True
            own = None
        inside, parent = parent, parent.parent
    return False
