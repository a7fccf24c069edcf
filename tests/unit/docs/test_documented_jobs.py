"""The jobs in the documents load, and the tests in them pass."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from pages import DOCS, ROOT, Block, blocks

from tranche.projects.config import load_settings
from tranche.projects.load import load_project

NAMES = sorted(str(path.relative_to(ROOT)) for path in (DOCS / "guides").glob("*.md"))
JOBS = [block for name in NAMES for block in blocks(name, "python") if "@job" in block.text]
TESTS = [block for block in JOBS if "def test_" in block.text]


def test_there_are_jobs() -> None:
    assert len(JOBS) > 5
    assert TESTS


@pytest.mark.parametrize("block", JOBS, ids=str)
def test_a_documented_job_loads(block: Block, tmp_path: Path) -> None:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "shop.py").write_text(block.text)
    project = load_project(load_settings(tmp_path, None, {}))
    assert [str(fault) for fault in project.faults] == []
    assert project.scripts


@pytest.mark.parametrize("block", TESTS, ids=str)
def test_a_documented_test_passes(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "documented.py"
    file.write_text(block.text)
    spec = importlib.util.spec_from_file_location("documented", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, test in vars(module).items():
        if name.startswith("test_") and not test.__code__.co_argcount:
            test()
