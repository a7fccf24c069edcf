"""A commit is found in the log of a Delta table without a job of Spark."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tranche.lakes.commit import Commit
from tranche.lakes.delta.commits import ABOUT, commit_settings
from tranche.lakes.delta.log_files import logged
from tranche.lakes.table import ADDED
from tranche.model.run import Attempt

AT = datetime(2026, 5, 16, 12, 0, 0, 250_000, tzinfo=UTC)
OURS = Commit(
    Attempt(id="a1", run="r", position=0, number=1, status="running", started_at=AT), "print"
)
AGAIN = replace(OURS, attempt=replace(OURS.attempt, id="a2", number=2))
OTHERS = replace(OURS, attempt=replace(OURS.attempt, id="b", run="other"))


def write(folder: Path, version: int, commit: Commit | None, *parts: dict[str, Any]) -> Path:
    """A file of the log as Delta writes it."""
    info: dict[str, Any] = {
        "timestamp": 1,
        "operation": "WRITE",
        "operationMetrics": {"numOutputRows": "7", "numOutputBytes": "900"},
    }
    if commit is not None:
        info["userMetadata"] = commit_settings(commit)[ABOUT]
    added = [{"add": {"path": "x", "partitionValues": part}} for part in parts]
    removed = {"remove": {"path": "y", "partitionValues": {"region": "gone"}}}
    lines = [{"commitInfo": info}, {"txn": {"appId": "t", "version": 0}}, *added, removed]
    log = folder / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    file = log / f"{version:020}.json"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(file, (AT.timestamp(), AT.timestamp()))
    return file


def test_what_the_commit_says(tmp_path: Path) -> None:
    write(tmp_path, 0, OTHERS, {"region": "us"})
    write(tmp_path, 1, OURS, {"region": "eu"}, {"region": None})
    found = logged(tmp_path, OURS)
    assert found is not None
    assert (found.snapshot.id, found.snapshot.parent, found.snapshot.at) == ("1", "0", AT)
    assert (found.snapshot.count(ADDED), found.snapshot.own) == (7, True)
    assert found.parts == ({"region": "eu"}, {"region": None})


def test_commits_of_others_since_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, 9, OURS, {"region": "eu"})
    (tmp_path / "_delta_log" / f"{9:020}.checkpoint.parquet").write_bytes(b"")
    write(tmp_path, 10, OTHERS)
    write(tmp_path, 11, None)
    found = logged(tmp_path, OURS)
    assert found is not None and found.snapshot.id == "9"


def test_an_earlier_attempt_of_the_step_is_found_as_such(tmp_path: Path) -> None:
    write(tmp_path, 3, OURS)
    found = logged(tmp_path, AGAIN)
    assert found is not None and not found.snapshot.own


@pytest.mark.parametrize("others", [1, 30])
def test_whoever_does_not_find_it_is_told_so(tmp_path: Path, others: int) -> None:
    """Spark is asked then."""
    if others == 30:
        write(tmp_path, 0, OURS)
    for version in range(1, others + 1):
        write(tmp_path, version, OTHERS)
    assert logged(tmp_path, OURS) is None


def test_what_cannot_be_read_from_here(tmp_path: Path) -> None:
    assert logged(None, OURS) is None
    assert logged(tmp_path / "elsewhere", OURS) is None
    write(tmp_path, 0, OURS).write_text('{"commitInfo": {"oper')
    assert logged(tmp_path, OURS) is None
