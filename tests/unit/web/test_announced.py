"""Servers that commands of their project find, by a file that only its owner reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tranche.model.project import Project, Settings
from tranche.projects.config import parse_settings
from tranche.service import serving
from tranche.service.serving import Announced, _Scripts, announced, servers_of, settings_hash

URL = "http://127.0.0.1:8321"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return parse_settings("", tmp_path, None, {})


@pytest.fixture
def project(settings: Settings) -> Project:
    return Project(settings=settings, scripts=())


def folder(settings: Settings) -> Path:
    made = serving._folder(settings)
    made.mkdir(parents=True, exist_ok=True)
    return made


def dead() -> int:
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_one_is_found_while_it_is_there(project: Project) -> None:
    with announced(project, "s1", URL, "secret") as one:
        assert servers_of(project.settings) == [one]
        assert (one.server, one.url, one.secret, one.pid) == ("s1", URL, "secret", os.getpid())
    assert servers_of(project.settings) == []
    assert list(folder(project.settings).iterdir()) == []


def test_its_file_is_for_its_owner_alone(project: Project) -> None:
    before = os.umask(0)
    try:
        with announced(project, "s1", URL, "secret"):
            (file,) = folder(project.settings).iterdir()
            assert file.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


def test_a_file_that_is_there_is_not_written_into(project: Project, tmp_path: Path) -> None:
    # Others may read it, or it leads elsewhere.
    elsewhere = tmp_path / "elsewhere"
    (folder(project.settings) / "s1.json").symlink_to(elsewhere)
    with pytest.raises(FileExistsError), announced(project, "s1", URL, "secret"):
        pass
    assert not elsewhere.exists()


def test_the_secret_is_not_in_what_is_printed(project: Project) -> None:
    with announced(project, "s1", URL, "tranche_hidden") as one:
        assert "tranche_hidden" not in repr(one)


def test_the_latest_comes_first(project: Project) -> None:
    with announced(project, "s1", URL, "x"), announced(project, "s2", URL, "y"):
        assert [one.server for one in servers_of(project.settings)] == ["s2", "s1"]


@pytest.mark.parametrize(
    "other",
    [
        {"target": "dev"},
        {"state_url": "sqlite:///other.db"},
        {"secrets": frozenset({"another"})},
        {"default_lake": "other"},
    ],
)
def test_one_with_other_settings_is_not_found(project: Project, other: dict[str, Any]) -> None:
    with announced(project, "s1", URL, "secret"):
        assert servers_of(replace(project.settings, **other)) == []


def test_from_the_hash_of_settings_nobody_learns_any(settings: Settings) -> None:
    assert settings_hash(settings, "a") != settings_hash(settings, "b")
    several = replace(settings, secrets=frozenset("abcdef"))
    again = replace(settings, secrets=frozenset(reversed("abcdef")))
    assert settings_hash(several, "a") == settings_hash(again, "a")


def written(settings: Settings, **change: Any) -> Path:
    one = Announced("s1", URL, "secret", settings_hash(settings, "secret"), os.getpid())
    file = folder(settings) / "s1.json"
    file.write_text(json.dumps(asdict(one) | change))
    return file


def test_one_as_it_should_be_is_found(settings: Settings) -> None:
    written(settings)
    assert len(servers_of(settings)) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"pid": "17"},
        {"pid": None},
        {"pid": 0},
        {"pid": -1},
        {"pid": 10**30},
        {"pid": 1.5},
        {"secret": 5},
        {"server": None},
        {"url": ["x"]},
        {"form": 2},
        {"more": 1},
    ],
)
def test_one_that_is_not_is_passed_over(settings: Settings, change: dict[str, Any]) -> None:
    written(settings, **change)
    assert servers_of(settings) == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"5", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"pid": 1}']
)
def test_a_file_that_is_none_is_passed_over(project: Project, content: bytes) -> None:
    (folder(project.settings) / "s0.json").write_bytes(content)
    assert servers_of(project.settings) == []
    # Nor does it keep a server from being announced.
    with announced(project, "s1", URL, "secret") as one:
        assert servers_of(project.settings) == [one]


def test_one_whose_process_is_gone_is_not_found_and_is_forgotten(project: Project) -> None:
    file = written(project.settings, pid=dead())
    assert servers_of(project.settings) == []
    assert file.exists()
    with announced(project, "s2", URL, "secret"):
        assert not file.exists()


def test_without_a_folder_there_is_none(settings: Settings) -> None:
    assert servers_of(settings) == []


class TestScripts:
    def test_a_change_is_seen_once(self, project: Project, tmp_path: Path) -> None:
        scripts = _Scripts(project)
        (tmp_path / "pipelines").mkdir()
        (tmp_path / "pipelines" / "a.sql").write_text("-- pipeline\nSELECT 1 AS x")
        found = scripts.changed()
        assert found is not None
        assert [script.name for script in found.scripts] == ["a"]
        assert scripts.changed() is None

    @pytest.mark.parametrize("look", [1, 2, 3])
    def test_files_that_go_while_they_are_looked_at_break_nothing(
        self, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: int
    ) -> None:
        (tmp_path / "pipelines").mkdir()
        for name in "ab":
            (tmp_path / "pipelines" / f"{name}.sql").write_text("-- pipeline\nSELECT 1 AS x")
        stat, looks = Path.stat, []

        def goes(path: Path, **how: Any) -> os.stat_result:
            if path.name == "a.sql":
                looks.append(path)
                if len(looks) == look:
                    path.unlink()
            return stat(path, **how)

        monkeypatch.setattr(Path, "stat", goes)
        scripts = _Scripts(project)
        assert "b.sql" in {Path(name).name for name, _, _ in scripts._seen}
