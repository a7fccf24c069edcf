"""Commits of Parquet tables: whole, once, and finished by others where their process died."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tranche.errors import CommitLost, KeyRejected
from tranche.lakes.alone import this_process_alone
from tranche.lakes.commit import Commit
from tranche.lakes.parquet import exchange, log
from tranche.lakes.parquet.log import Entry, Kind, TableLog
from tranche.lakes.parquet.paths import key_folder
from tranche.model.run import Attempt

NOW = datetime.now(UTC)


class Crash(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def table(tmp_path: Path) -> TableLog:
    return TableLog(tmp_path / "_tranche" / "t", tmp_path / "default" / "t")


def stage(
    table: TableLog,
    attempt: str,
    files: dict[str, str],
    *,
    kind: Kind = "replace",
    folders: tuple[str, ...] | None = ("a", "b"),
) -> Entry:
    """Files are paths below the table, with what is in them."""
    staged = table.staged_folder(attempt)
    staged.mkdir(parents=True)
    for path, text in files.items():
        (staged / path).parent.mkdir(parents=True, exist_ok=True)
        (staged / path).write_text(text)
    entry = Entry(kind=kind, attempt=attempt, run="r", publication=attempt, folders=folders)
    entry = replace(entry, based_on=table.latest())
    table.note_staged(entry)
    return entry


def content(table: TableLog) -> dict[str, str]:
    """What readers see: they pass over names that begin with an underscore."""
    return {
        path.relative_to(table.files).as_posix(): path.read_text()
        for path in sorted(table.files.rglob("*"))
        if path.is_file() and not path.name.startswith("_")
    }


def test_a_slice_is_replaced_as_a_whole(table: TableLog) -> None:
    table.publish(stage(table, "1", {"a/1": "x", "a/2": "y", "b/1": "z"}))
    assert content(table) == {"a/1": "x", "a/2": "y", "b/1": "z"}
    table.publish(stage(table, "2", {"a/3": "new"}, folders=("a",)))
    assert content(table) == {"a/3": "new", "b/1": "z"}
    table.publish(stage(table, "3", {}, folders=("b",)))
    assert content(table) == {"a/3": "new"}
    assert [entry.attempt for entry in table.backwards()] == ["3", "2", "1"]
    assert sorted(path.name for path in table.own.iterdir()) == ["commit.lock", "commits"]


def test_a_whole_table_is_replaced(table: TableLog) -> None:
    table.publish(stage(table, "1", {"1": "x", "2": "y"}, folders=None))
    table.publish(stage(table, "2", {"3": "z"}, folders=None))
    assert content(table) == {"3": "z"}


def test_rows_come_to_those_that_are_there(table: TableLog) -> None:
    table.publish(stage(table, "1", {"a/1": "x"}))
    table.publish(stage(table, "2", {"a/2": "y", "c/1": "z"}, kind="append"))
    assert content(table) == {"a/1": "x", "a/2": "y", "c/1": "z"}


def test_what_another_has_changed_is_not_overwritten(table: TableLog) -> None:
    late = stage(table, "late", {"a/1": "old"}, folders=("a",))
    table.publish(stage(table, "1", {"b/1": "x"}, folders=("b",)))
    table.publish(late)
    table.publish(stage(table, "beside", {"b/9": "y"}, folders=("b",)))
    other = replace(stage(table, "other", {"a/1": "older"}, folders=("a",)), based_on=1)
    with pytest.raises(CommitLost, match="another writer changed the same slice"):
        table.publish(other)
    assert content(table) == {"a/1": "old", "b/9": "y"}


@pytest.mark.parametrize("swaps", [True, False])
@pytest.mark.parametrize("point", range(12))
def test_whoever_comes_next_finishes_a_commit(
    table: TableLog, monkeypatch: pytest.MonkeyPatch, point: int, swaps: bool
) -> None:
    """The process ends after each single step of the file system."""
    table.publish(stage(table, "1", {"a/1": "x", "b/1": "y", "c/1": "z"}, folders=("a", "b", "c")))
    entry = stage(table, "2", {"a/2": "new", "d/1": "d"}, folders=("a", "b", "d"))
    done = 0

    def counted(act):  # type: ignore[no-untyped-def]
        def step(*given: object, **more: object) -> object:
            nonlocal done
            if done == point:
                raise Crash
            done += 1
            return act(*given, **more)

        return step

    with monkeypatch.context() as patched:
        if not swaps:
            patched.setattr(exchange, "exchange", lambda one, other: False)
        else:
            patched.setattr(exchange, "exchange", counted(exchange.exchange))
        for name in ("rename", "touch"):
            patched.setattr(Path, name, counted(getattr(Path, name)))
        patched.setattr(exchange.shutil, "rmtree", counted(exchange.shutil.rmtree))
        patched.setattr(log.os, "replace", counted(log.os.replace))
        with suppress(Crash):
            table.publish(entry)
    again = TableLog(table.own, table.files)
    again.settle()
    if again.latest() == 2:
        assert content(again) == {"a/2": "new", "c/1": "z", "d/1": "d"}
        found = again.entry(2)
        assert found is not None and found.done
    else:
        assert content(again) == {"a/1": "x", "b/1": "y", "c/1": "z"}
    again.publish(stage(again, "3", {"c/2": "last"}, folders=("c",)))
    assert content(again)["c/2"] == "last"


def test_an_attempt_is_found_again(table: TableLog) -> None:
    table.publish(stage(table, "a1", {"a/1": "x"}))
    attempt = Attempt(id="a1", run="r", position=0, number=1, status="running", started_at=NOW)
    found = table.find(Commit(attempt), alone=True)
    assert found is not None and found.number == 1 and table.has("a1")
    assert table.find(Commit(replace(attempt, id="a2")), alone=True) is None
    assert not table.has("a2")


@given(st.text(min_size=1, max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_key_is_the_name_of_one_folder(key: str) -> None:
    name = key_folder(key)
    assert "/" not in name and name.startswith("_tranche_partition=")
    assert name not in (".", "..")


def test_a_key_may_not_be_taken_for_none() -> None:
    with pytest.raises(KeyRejected, match="means NULL as the name of a folder; use another key"):
        key_folder("__HIVE_DEFAULT_PARTITION__")


def test_a_key_may_be_too_long_for_a_folder() -> None:
    with pytest.raises(KeyRejected, match="is too long for a folder of a Parquet table"):
        key_folder("ä" * 120)


def test_threads_of_a_process_hold_a_lock_together(tmp_path: Path) -> None:
    held: list[int] = []
    both = threading.Barrier(2, timeout=10)

    def hold() -> None:
        with this_process_alone(tmp_path / "own" / "lock"):
            held.append(1)
            both.wait()

    threads = [threading.Thread(target=hold) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert held == [1, 1]
    with this_process_alone(tmp_path / "own" / "lock"):
        pass


@pytest.mark.parametrize("kind", ["append", "replace"])
def test_columns_that_another_writer_has_added_are_not_lost(table: TableLog, kind: Kind) -> None:
    """Two writers of different slices know the same columns, and one of them brings another."""
    first = replace(stage(table, "1", {"a/1": "x"}, folders=("a",)), columns='["n"]')
    second = replace(stage(table, "2", {"b/1": "y"}, folders=("b",), kind=kind), columns='["n"]')
    table.publish(replace(first, columns='["n", "m"]'))
    with pytest.raises(CommitLost, match="another writer changed the columns"):
        table.publish(second)
    assert (table.about() or {})["columns"] == ["n", "m"]
    table.publish(replace(second, columns='["n", "m"]'))
    assert content(table) == {"a/1": "x", "b/1": "y"}
