"""The commits of a Parquet table, noted beside it.

A commit is one small file. Once it is there, the commit is made: whoever finds that its files are
not all in their places yet puts them there, also when the process that made it has died.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, TypeAlias

from filelock import FileLock

from tranche.errors import CommitLost
from tranche.lakes.commit import Commit
from tranche.lakes.parquet.exchange import move_into, put_in_place, remove

Kind: TypeAlias = Literal["replace", "append"]
_LONGEST_RUN = timedelta(days=3)
"""How long before an attempt another one of its step may have committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What was staged, and what a commit says of it."""

    kind: Kind
    attempt: str
    run: str
    publication: str
    fingerprint: str = ""
    partition: str | None = None
    folders: tuple[str, ...] | None = None
    """The folders of its slice; None for the whole table."""
    rows: int = 0
    rows_by_key: Mapping[str, int] = field(default_factory=dict)
    based_on: int = 0
    """The commit that the table had when it was staged."""
    columns: str | None = None
    """The columns that the table has since, if they are others."""
    layout: str | None = None
    number: int = 0
    at: str = ""
    done: bool = False

    @property
    def time(self) -> datetime:
        return datetime.fromisoformat(self.at)


class TableLog:
    """The folder of what belongs to a table, and the folder of its files."""

    def __init__(self, own: Path, files: Path) -> None:
        self.own = own
        self.files = files
        self.commits = own / "commits"

    # What was staged

    def staged_folder(self, attempt: str) -> Path:
        return self.own / f"staged-{attempt}"

    def note_staged(self, entry: Entry) -> None:
        _write(self.own / f"staged-{entry.attempt}.json", _text(entry))

    def staged(self, attempt: str) -> Entry | None:
        return _read(self.own / f"staged-{attempt}.json")

    def forget(self, attempt: str) -> None:
        shutil.rmtree(self.staged_folder(attempt), ignore_errors=True)
        (self.own / f"staged-{attempt}.json").unlink(missing_ok=True)

    # What was committed

    def latest(self) -> int:
        """The number of the last commit; 0 if there was none."""
        try:
            names = os.listdir(self.commits)
        except FileNotFoundError:
            return 0
        return max((int(name[:-5]) for name in names if name[:-5].isdigit()), default=0)

    def entry(self, number: int) -> Entry | None:
        return _read(self.commits / f"{number:09}.json")

    def backwards(self) -> Iterator[Entry]:
        for number in range(self.latest(), 0, -1):
            entry = self.entry(number)
            if entry is not None:
                yield entry

    def find(self, commit: Commit, *, alone: bool) -> Entry | None:
        """The latest commit of an attempt, or if it is not alone, of any attempt of its step."""
        since = commit.attempt.started_at - _LONGEST_RUN
        for entry in self.backwards():
            if entry.attempt == commit.attempt.id:
                return entry
            if not alone and entry.publication == commit.publication:
                return entry
            if entry.time < since:
                break
        return None

    def has(self, publication: str) -> bool:
        """Whether an attempt of a step that is still running has been published."""
        since = datetime.now(UTC) - _LONGEST_RUN
        recent = takewhile(lambda entry: entry.time >= since, self.backwards())
        return any(entry.publication == publication for entry in recent)

    def settle(self) -> None:
        """Finishes the last commit, if whoever made it has not, and waits for one that is made."""
        entry = self.entry(self.latest())
        if entry is not None and not entry.done:
            with self.locked():
                pass

    def publish(self, entry: Entry) -> Entry:
        """Makes a staged entry a commit, and puts its files in their places."""
        with self.locked():
            latest = self.latest()
            self.check_unchanged(entry, latest)
            made = replace(entry, number=latest + 1, at=datetime.now(UTC).isoformat())
            _write(self.commits / f"{made.number:09}.json", _text(made))
            return self.finish(made)

    def check_unchanged(self, entry: Entry, latest: int) -> None:
        """Nobody may have changed the slice since, unless rows just come to it, nor the columns."""
        mine = None if entry.folders is None else set(entry.folders)
        for number in range(entry.based_on + 1, latest + 1):
            other = self.entry(number)
            if other is None:
                continue
            if None not in (entry.columns, other.columns) and entry.columns != other.columns:
                raise CommitLost("another writer changed the columns", "run it again")
            if entry.kind == "append":
                continue
            if mine is None or other.folders is None or mine & set(other.folders):
                raise CommitLost("another writer changed the same slice", "run it again")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Alone with the table, whose last commit is finished."""
        self.own.mkdir(parents=True, exist_ok=True)
        with FileLock(self.own / "commit.lock"):
            entry = self.entry(self.latest())
            if entry is not None and not entry.done:
                self.finish(entry)
            yield

    def finish(self, entry: Entry) -> Entry:
        """Puts the files of a commit in their places; it may be done again."""
        staged = self.staged_folder(entry.attempt)
        if entry.columns is not None:
            _write(self.own / "table.json", json.dumps(_about(entry)))
        self.files.mkdir(parents=True, exist_ok=True)
        marker = f"_tranche-{entry.number}"
        if entry.kind == "append":
            move_into(staged, self.files)
        elif entry.folders is None:
            _mark(staged, marker)
            put_in_place(staged, self.files, marker)
        else:
            for name in entry.folders:
                new, old = staged / name, self.files / name
                if new.exists():
                    _mark(new, marker)
                    put_in_place(new, old, marker)
                elif not (old / marker).exists():
                    remove(old, self.own / f"gone-{entry.number}")
        done = replace(entry, done=True)
        _write(self.commits / f"{entry.number:09}.json", _text(done))
        self.forget(entry.attempt)
        return done

    # What the table is

    def about(self) -> dict[str, Any] | None:
        """What is noted of the table: its columns, its layout, its properties."""
        try:
            found: dict[str, Any] = json.loads((self.own / "table.json").read_text())
        except FileNotFoundError:
            return None
        return found

    def change(self, act: Callable[[dict[str, Any]], None]) -> None:
        """Changes what is noted of the table."""
        with self.locked():
            about = self.about() or {}
            act(about)
            _write(self.own / "table.json", json.dumps(about))


def _about(entry: Entry) -> dict[str, Any]:
    assert entry.columns is not None
    return {"columns": json.loads(entry.columns), "layout": entry.layout, "properties": {}}


def _mark(folder: Path, marker: str) -> None:
    """A name with an underscore, which readers of such folders pass over."""
    if folder.exists():
        (folder / marker).touch()


def _text(entry: Entry) -> str:
    return json.dumps(asdict(entry))


def _read(path: Path) -> Entry | None:
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    if found["folders"] is not None:
        found["folders"] = tuple(found["folders"])
    return Entry(**found)


def _write(path: Path, text: str) -> None:
    """All of it or nothing, and on the disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
