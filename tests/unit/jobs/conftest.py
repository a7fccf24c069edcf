"""Projects of job files in a temporary folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tranche.model.project import Project
from tranche.model.script import Script
from tranche.projects.config import load_settings
from tranche.projects.load import load_project


class Folder:
    """A project that a test writes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "pipelines").mkdir()

    def write(self, name: str, text: str) -> Folder:
        file = self.root / "pipelines" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return self

    def load(self) -> Project:
        return load_project(load_settings(self.root, None, {}))

    def sound(self) -> Project:
        """The project, which must have no faults."""
        project = self.load()
        assert [str(fault) for fault in project.faults] == []
        return project

    def faults(self) -> list[str]:
        return [str(fault) for fault in self.load().faults]

    def script(self, name: str) -> Script:
        script = self.sound().script(name)
        assert script is not None
        return script


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def jobs(folder: Folder) -> Callable[[str], Project]:
    """The project of one file of jobs, which begins with all that Tranche has."""

    def _jobs(text: str) -> Project:
        return folder.write("shop.py", f"from tranche import *\n{text}").sound()

    return _jobs
