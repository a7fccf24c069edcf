"""Golden files: a script, then what it must become.

`tests/cases/bind/*.sql` end with the statements that Spark gets and the values beside them,
`tests/cases/faults/*.sql` with the messages of `tranche check`. Those in
`tests/cases/duckdb/becomes` are written in DuckDB's SQL.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tranche.script.binding import Values, bind, file_path, quoted
from tranche.script.lakes import Lakes
from tranche.script.sql import read_sql_script

CASES = Path(__file__).parents[2] / "cases"
BECOMES = "-- ===> becomes\n"
LAKES = Lakes(frozenset({"main", "other"}), "main")
KEY = "2026-05-16"


def files(kind: str) -> list[Path]:
    found = sorted((CASES / kind).glob("*.sql"))
    assert found
    return found


def outcome(text: str, name: str) -> str:
    """Each statement, then the values of its markers, then what is read and written."""
    read = read_sql_script(name, f"{name}.sql", text, LAKES)
    if read.script is None:
        return "".join(f"{fault}\n" for fault in read.faults)
    script = read.script
    values = Values(
        KEY,
        {a.name: KEY if a.name == "partition" else a.default for a in script.annotations.arguments},
        {a.name: a.type for a in script.annotations.arguments},
    )
    lines: list[str] = []
    for statement in [*script.setup, *([script.query] if script.query else [])]:
        bound = bind(
            statement,
            values,
            table=lambda hole: quoted(hole.table) + (" VERSION AS OF 1" if hole.pinned else ""),
            files=lambda hole: f"<{hole.format} {file_path(hole, values)} {dict(hole.options)}>",
        )
        lines.append(f"{bound.text};")
        lines += [f"-- :{name} = {value!r}" for name, value in bound.parameters.items()]
    lines += [f"-- reads {asset}" for asset in script.reads]
    lines += [f"-- writes {asset}" for asset in script.writes]
    lines += [f"-- warning {warning}" for warning in script.warnings]
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    "file", [*files("bind"), *files("faults"), *files("duckdb/becomes")], ids=lambda file: file.stem
)
def test_a_script_becomes(file: Path) -> None:
    text, becomes, expected = file.read_text(encoding="utf-8").partition(BECOMES)
    assert becomes
    assert outcome(text, file.stem) == expected
