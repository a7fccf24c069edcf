"""Sessions that wait on a server for whoever comes next."""

from __future__ import annotations

from pathlib import Path

import pytest

from tranche.lakes.kept_sessions import KeptSessions, kind_of


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_each_is_given_to_one(tmp_path: Path) -> None:
    file = tmp_path / "home" / "sessions.json"
    clock = Clock()
    assert KeptSessions(file, clock).take("a") is None
    assert KeptSessions(file, clock).keep("a", ["1", "2"])
    KeptSessions(file, clock).keep("b", ["3"])
    assert [KeptSessions(file, clock).take("a") for _ in range(3)] == ["2", "1", None]
    assert file.stat().st_mode & 0o077 == 0
    clock.now += 3600
    assert KeptSessions(file, clock).take("b") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": [1]}', '{"a": 1}'])
def test_a_file_that_is_no_good_is_passed_over(tmp_path: Path, text: str) -> None:
    file = tmp_path / "sessions.json"
    file.write_text(text)
    kept = KeptSessions(file)
    assert kept.take("a") is None
    assert kept.keep("a", ["1"])
    assert kept.take("a") == "1"


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file, not a folder")
    kept = KeptSessions(tmp_path / "home" / "sessions.json")
    assert not kept.keep("a", ["1"])
    assert kept.take("a") is None


def test_kinds() -> None:
    one = kind_of("sc://h", "me", {"spark.a": "1", "spark.b": "hunter2"})
    assert one == kind_of("sc://h", "me", {"spark.b": "hunter2", "spark.a": "1"})
    assert one != kind_of("sc://h", "me", {"spark.a": "1", "spark.b": "other"})
    assert "hunter2" not in one
