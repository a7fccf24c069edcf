"""The corpus of plans: frames, each with what EXPLAIN said of it and where its columns come from.

A case of `tests/cases/plans` has the code that makes the frame, behind `-- frame:`, lines of what
is expected as those of `tests/cases/lineage`, and the text of the plan. The tables and files that
are read are those of `TABLES`, in a project that lies in `/shop`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tranche.model.asset import AssetUri, FileSet, LakeTable
from tranche.script.lineage.plans import Assets

from .lineage_cases import Told

FOLDER = Path(__file__).parents[2] / "cases" / "plans"
ROOT = "/shop"
WAREHOUSE = f"{ROOT}/.tranche/warehouse/delta"
TABLES = (
    "CREATE TABLE main.default.orders (id BIGINT, day DATE, amount DOUBLE,"
    " customer STRUCT<name: STRING, city: STRING>, tags ARRAY<STRING>, attrs MAP<STRING, INT>,"
    " lines ARRAY<STRUCT<sku: STRING, price: DOUBLE>>)",
    "CREATE TABLE main.default.customers (id BIGINT, name STRING, country STRING)",
    "CREATE SCHEMA main.raw",
    "CREATE TABLE main.raw.events (id INT, kind STRING)",
)


@dataclass(frozen=True)
class Case:
    file: str
    name: str
    frame: str
    expected: Told
    plan: str

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"

    @property
    def columns(self) -> list[str]:
        return [name for name in self.expected if name not in ("rows", "unknown")]


def cases() -> list[Case]:
    return [case for file in sorted(FOLDER.glob("*.txt")) for case in _cases(file)]


def _cases(file: Path) -> Iterator[Case]:
    for text in file.read_text(encoding="utf-8").split("-- name: ")[1:]:
        name, _, rest = text.partition("\n")
        head, heading, plan = rest.partition("== Analyzed")
        frame, told = "", Told(rows=set())
        for line in head.splitlines():
            if line.startswith("-- frame: "):
                frame = line.removeprefix("-- frame: ")
            elif line.startswith("-- > "):
                column, _, parts = line[5:].partition(" =")
                told.setdefault(column, set()).update(_parts(column, parts))
        yield Case(file.stem, name, frame, told, heading + plan)


def _parts(column: str, text: str) -> Iterator[str]:
    if column == "unknown":
        yield text.strip()
        return
    for part in filter(None, (part.strip() for part in text.split(";"))):
        how, *names = part.split()
        yield from (f"{how} {name}" for name in names)


def table(name: tuple[str, ...]) -> AssetUri | None:
    match name:
        case ("main", schema, table):
            return LakeTable("main", table, schema)
        case ("spark_catalog", "delta", path) if path.startswith(f"{WAREHOUSE}/"):
            schema, table = path.removeprefix(f"{WAREHOUSE}/").split("/")
            return LakeTable("delta", table, schema)
    return None


def files(path: str) -> AssetUri | None:
    place = path.removeprefix("file:").removeprefix(f"{ROOT}/")
    return FileSet("file", place)


ASSETS = Assets(table, files, {"given": FileSet("file", "data/given.parquet")})
