"""Which table a name in SQL means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tranche.model.asset import DEFAULT_SCHEMA, LakeTable

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


@dataclass(frozen=True, slots=True)
class Lakes:
    """The names of a project's lakes, and which of them is meant when none is named."""

    names: frozenset[str]
    default: str


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
    written: tuple[str, ...]
    """The parts of the name as they stand in the text."""
    metadata: str | None = None
    travels: bool = False
    """Whether the text itself says which snapshot it reads."""


class UnknownLake(Exception):
    """A name whose first part is no lake."""

    def __init__(self, name: str, position: int) -> None:
        super().__init__(name)
        self.name = name
        self.position = position


class FileQuery(Exception):
    """A file that is queried by its path as if it were a table."""

    def __init__(self, format_: str, position: int) -> None:
        super().__init__(format_)
        self.format = format_
        self.position = position


def table_refs(tree: exp.Expression, names: Names) -> Iterator[TableRef]:
    """The lake tables that a statement names, without its CTEs and temporary views."""
    for node in tree.find_all(exp.Table):
        parts = node.parts
        if not parts or not all(isinstance(part, exp.Identifier) for part in parts):
            continue
        if not all("start" in part.meta for part in parts):
            continue
        if len(parts) == 1 and (parts[0].name.lower() in names.views or _is_cte(node)):
            continue
        yield _resolve(node, [part.name for part in parts], names)


def _resolve(node: exp.Table, parts: list[str], names: Names) -> TableRef:
    identifiers = node.parts
    start, end = identifiers[0].meta["start"], identifiers[-1].meta["end"] + 1
    travels = node.args.get("version") is not None or node.args.get("when") is not None
    written = tuple(parts)
    if len(parts) == 2 and parts[0].lower() in FILE_FORMATS and identifiers[-1].args.get("quoted"):
        raise FileQuery(parts[0].lower(), start)
    lake = names.lake(parts[0]) if len(parts) > 1 else names.lakes.default
    rest = parts[1:] if len(parts) > 1 and lake is not None else parts
    metadata = None
    if len(rest) > 1 and rest[-1].lower() in METADATA_TABLES and (lake or len(rest) > 2):
        metadata, rest = rest[-1], rest[:-1]
    if len(rest) > 2:
        raise UnknownLake(parts[0], start)
    schema = rest[0] if len(rest) == 2 else DEFAULT_SCHEMA
    table = LakeTable(lake or names.lakes.default, rest[-1], schema)
    return TableRef(table, start, end, written, metadata, travels)


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
