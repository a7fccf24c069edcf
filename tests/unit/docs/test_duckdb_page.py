"""What the page about DuckDB's SQL lists is what the translation knows and refuses.

`python tests/unit/docs/test_duckdb_page.py` writes the lists anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tranche.script.duckdb import translating
from tranche.script.duckdb.aggregates import AGGREGATES, WINDOWS
from tranche.script.duckdb.calls import DECLINED, FUNCTIONS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "duckdb.md"
CASES = ROOT / "tests" / "cases" / "duckdb"
_FAMILIES = {
    "functions_texts": "texts",
    "functions_numbers": "numbers and choices",
    "functions_times": "dates and times",
    "functions_lists": "lists, structs and maps",
}


def functions() -> str:
    """The functions that are translated, by what they are about."""
    found: dict[str, list[str]] = {family: [] for family in _FAMILIES.values()}
    for name, (build, _, _) in FUNCTIONS.items():
        module = build.__module__.rpartition(".")[2]
        family = _FAMILIES.get(module)
        if family is None:
            family = _family_of(name)
        found[family].append(name)
    found["aggregates"] = list(AGGREGATES)
    found["windows"] = list(WINDOWS)
    lines = ["| about | functions |", "|---|---|"]
    for family, names in found.items():
        lines.append(f"| {family} | {' '.join(f'`{name}`' for name in sorted(names))} |")
    return "\n".join(lines)


def _family_of(name: str) -> str:
    """Of a function that is only a template, by the module that gives it."""
    for module, family in _FAMILIES.items():
        text = (ROOT / "src/tranche/script/duckdb" / f"{module}.py").read_text()
        if re.search(rf'"[^"]*\b{name}\b[^"]*",', text):
            return family
    raise AssertionError(name)


def declined() -> str:
    """The functions that are left out, with the reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in DECLINED.items():
        reasons.setdefault(reason, []).append(name)
    lines = ["| functions | why, and what to do |", "|---|---|"]
    lines += [
        f"| {' '.join(f'`{name}`' for name in names)} | {reason} |"
        for reason, names in reasons.items()
    ]
    return "\n".join(lines)


def refused(file: str) -> str:
    """What is refused, as the corpus has it."""
    lines = ["| for example | is refused with |", "|---|---|"]
    for block in (CASES / file).read_text().split("\n\n"):
        remark, _, query = block.strip().partition("\n")
        query = " ".join(query.removesuffix(";").split()).replace("|", "\\|")
        lines.append(f"| `{query}` | {remark.removeprefix('-- ')} |")
    return "\n".join(lines)


LISTS = {
    "functions": functions,
    "declined": declined,
    "refused": lambda: refused("refused.sql"),
    "refused by type": lambda: refused("refused_by_type.sql"),
}


def renewed(text: str) -> str:
    for name, made in LISTS.items():
        text = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)",
            lambda match, made=made: f"{match[1]}{made()}\n{match[2]}",
            text,
            flags=re.DOTALL,
        )
    return text


@pytest.mark.parametrize("name", LISTS)
def test_the_page_lists_what_there_is(name: str) -> None:
    assert translating
    assert f"<!-- {name} -->\n{LISTS[name]()}\n<!-- end of {name} -->" in PAGE.read_text()


def test_no_function_is_both_translated_and_refused() -> None:
    known = [*FUNCTIONS, *AGGREGATES, *WINDOWS]
    assert not set(known) & set(DECLINED)
    assert len(known) == len(set(known))


def test_every_function_is_in_the_corpus() -> None:
    """What nobody has compared with DuckDB is not translated."""
    files = [*CASES.glob("expressions/*.sql"), *CASES.glob("queries/*.sql")]
    text = "\n".join(file.read_text() for file in files).lower()
    known = [*FUNCTIONS, *AGGREGATES, *WINDOWS]
    assert [name for name in known if not re.search(rf"\b{name}\(", text)] == []


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
