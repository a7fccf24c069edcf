"""The corpus of lineage: queries, each with where its columns come from.

Files of `tests/cases/lineage` begin with the tables that are known, as `-- table name (a, b)`; a
table that is not named there is one whose columns nobody has captured. A case is a query and lines
that begin with `-- >`: a column of the result with what goes into it and what has a say in it,
`rows` with what has a say in all of them, and `unknown` for each thing that cannot be told. A
column of the one table that has it needs no name of the table before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tranche.model.asset import AssetUri, LakeTable
from tranche.model.columns import Columns
from tranche.model.lineage import ScriptLineage, SourceColumn
from tranche.model.script import Script
from tranche.script.lakes import Lakes
from tranche.script.lineage import script_lineage
from tranche.script.sql import read_sql_script

FOLDER = Path(__file__).parents[2] / "cases" / "lineage"
LAKES = Lakes(frozenset({"main", "other"}), "main")
HEADER = (
    '-- pipeline\n-- partitioned daily start="2026-01-01"\n-- $least (int) = 1\n'
    "-- materialize lake://main/result\n"
)
_TABLE = re.compile(r"-- table (\w+) \((.*)\)")

Told = dict[str, set[str]]
"""What is told of each column, of the rows, and what is unknown."""


@dataclass
class Case:
    file: str
    name: str
    query: str
    expected: Told
    tables: dict[str, Columns] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


def cases() -> list[Case]:
    return [case for file in sorted(FOLDER.glob("*.sql")) for case in _cases(file)]


def _cases(file: Path) -> Iterator[Case]:
    head, *texts = file.read_text(encoding="utf-8").split("-- name: ")
    tables = {name: columns(text) for name, text in _TABLE.findall(head)}
    for text in texts:
        name, _, rest = text.partition("\n")
        lines = rest.splitlines()
        query = "\n".join(line for line in lines if not line.startswith("-- >"))
        told: Told = {"rows": set()}
        for line in lines:
            if line.startswith("-- >"):
                column, _, parts = line[4:].partition(" =")
                told.setdefault(column.strip(), set()).update(_parts(column, parts, tables))
        yield Case(file.stem, name, query.strip(), told, tables)


def columns(text: str) -> Columns:
    """`a, b struct<c: int, d: int>` as names and types.

    >>> columns("a, b struct<c: int, d: int>")
    (('a', 'int'), ('b', 'struct<c: int, d: int>'))
    """
    found = []
    for each in re.findall(r"(?:[^,<]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)+", text):
        name, _, type_ = each.strip().partition(" ")
        found.append((name, type_ or "int"))
    return tuple(found)


def _parts(column: str, text: str, tables: dict[str, Columns]) -> Iterator[str]:
    if column.strip() == "unknown":
        yield text.strip()
        return
    for part in filter(None, (part.strip() for part in text.split(";"))):
        how, *names = part.split()
        for name in names:
            yield f"{how} {_whole(name, tables)}"


def _whole(name: str, tables: dict[str, Columns]) -> str:
    if "." in name:
        return name
    [table] = [table for table, each in tables.items() if name in dict(each)]
    return f"{table}.{name}"


def script_of(query: str, header: str = HEADER) -> Script:
    read = read_sql_script("s", "s.sql", header + query, LAKES)
    assert read.script is not None, [str(fault) for fault in read.faults]
    return read.script


def lineage_of(query: str, tables: dict[str, Columns], header: str = HEADER) -> ScriptLineage:
    def columns_of(asset: AssetUri) -> Columns | None:
        known = isinstance(asset, LakeTable) and asset.lake == "main"
        return tables.get(asset.table) if known and isinstance(asset, LakeTable) else None

    return script_lineage(script_of(query, header), columns_of)


def told(found: ScriptLineage) -> Told:
    result: Told = {"rows": {f"{each.why} {shown(each.source)}" for each in found.rows}}
    unknown = {each.what for each in found.unknown}
    for column in found.columns:
        parts = {f"{origin.kind} {shown(origin.source)}" for origin in column.direct}
        parts |= {f"{each.why} {shown(each.source)}" for each in column.indirect}
        result[column.column] = parts
        unknown |= {each.what for each in column.unknown}
    if unknown:
        result["unknown"] = unknown
    return result


def shown(source: SourceColumn) -> str:
    return str(source).removeprefix("lake://main/")
