"""Every script in the documents does what the document says about it."""

from __future__ import annotations

import doctest

import pytest
from pages import DOCS, ROOT, Block, blocks

from tranche.script.lakes import Lakes
from tranche.script.python import read_python_script
from tranche.script.read import ScriptRead
from tranche.script.sql import read_sql_script

NAMES = [
    "README.md",
    "docs/annotations.md",
    *sorted(str(path.relative_to(ROOT)) for path in (DOCS / "guides").glob("*.md")),
]
LAKES = Lakes(frozenset({"main"}), "main")
_FAULTS = "faults\n"
SCRIPTS = [
    block
    for name in NAMES
    for block in blocks(name, "sql")
    if block.text.startswith("-- pipeline") or (block.remark or "").startswith(_FAULTS)
]


def read(block: Block) -> ScriptRead:
    return read_sql_script("script", "script.sql", block.text, LAKES)


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) > 40
    assert all(blocks(name, "sql") or blocks(name, "python") for name in NAMES)


@pytest.mark.parametrize("block", SCRIPTS, ids=str)
def test_a_script_has_the_faults_that_are_announced(block: Block) -> None:
    expected: list[str] = []
    if block.remark is not None and block.remark.startswith(_FAULTS):
        expected = block.remark.removeprefix(_FAULTS).splitlines()
    found = [str(fault).removeprefix("script.sql:") for fault in read(block).faults]
    assert found == expected


@pytest.mark.parametrize("block", SCRIPTS, ids=str)
def test_a_good_script_gives_no_warnings(block: Block) -> None:
    script = read(block).script
    assert script is None or script.warnings == ()


PYTHON = [
    block
    for name in NAMES
    for block in blocks(name, "python")
    if block.text.startswith("# pipeline")
]


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_scripts_are_sound(block: Block) -> None:
    found = read_python_script("script", "script.py", block.text, LAKES)
    assert [str(fault) for fault in found.faults] == []
    assert found.script is not None
    assert found.script.warnings == ()


@pytest.mark.parametrize("block", [b for name in NAMES for b in blocks(name, "pycon")], ids=str)
def test_python_in_the_documents_says_what_they_say(block: Block) -> None:
    example = doctest.DocTestParser().get_doctest(block.text, {}, str(block), None, block.line)
    assert doctest.DocTestRunner().run(example) == doctest.TestResults(0, len(example.examples))


def test_the_scripts_of_the_first_project_are_those_of_init() -> None:
    from tranche.projects import scaffold

    texts = [block.text for block in SCRIPTS]
    assert scaffold._INGEST in texts
    assert scaffold._DAILY in texts
