"""Whose process has ended, with processes that really end, and really race."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from filelock import FileLock

from tranche.model.run import Attempt, Run, StepRecord
from tranche.state import liveness
from tranche.state.liveness import FileLives
from tranche.state.liveness_sessions import SessionLives
from tranche.state.opening import open_store
from tranche.state.sql_store import SqlStore

NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)
RUN = Run(id="r1", target="t", status="running", fire_time=NOON, started_at=NOON)
STEPS = [
    StepRecord(
        run="r1",
        position=position,
        script="s",
        asset="a",
        partition=None,
        ordinal=None,
        strategy="replace",
        status="waiting",
    )
    for position in range(8)
]
ATTEMPT = Attempt(id="a1", run="r1", position=0, number=1, status="running", started_at=NOON)

NewStore = Callable[[], SqlStore]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state.db"
    address: str = request.getfixturevalue("postgres")
    return address


@pytest.fixture
def new_store(url: str) -> Iterator[NewStore]:
    with ExitStack() as stack:

        def new() -> SqlStore:
            store = SqlStore(url)
            stack.callback(store.close)
            return store

        yield new


COMMON = """
import pathlib, sys, time
from datetime import UTC, datetime
from tranche.model.run import *
from tranche.state.sql_store import SqlStore
url, folder, name = sys.argv[1:]
folder = pathlib.Path(folder)
now = datetime.now(UTC)
store = SqlStore(url)
def meet():
    (folder / name).touch()
    while not (folder / "go").exists():
        time.sleep(0.001)
"""

BEGIN = """
step = StepRecord(run="r1", position=0, script="s", asset="a", partition="k", ordinal=None,
    strategy="replace", status="waiting")
store.begin_run(Run(id="r1", target="t", status="running", fire_time=now, started_at=now), [step])
attempt = Attempt(id="a1", run="r1", position=0, number=1, status="running", started_at=now)
assert not store.begin_attempt(attempt, asset="a", keys=["k"])
store.stage("a1", [Materialization(id="m1", asset="a", partition="k", ordinal=None, run="r1",
    status="succeeded", attempt="a1", fingerprint="f", started_at=now, finished_at=now)])
print("begun", flush=True)
sys.stdin.read()
"""

ADOPT = """
store.open()
meet()
print(store.adopt("r1"), flush=True)
sys.stdin.read()
"""

# Whoever has the key alone adds one to a number, in a way that loses numbers if it is not alone.
CLAIM = """
import random
position, number = int(name), 0
tries = 0
store.open()
meet()
while number < 12:
    tries += 1
    attempt = Attempt(id=f"{name}-{tries}", run="r1", position=position, number=tries,
        status="running", started_at=now)
    keys = random.choice([[None], ["k"], [f"k{position}-{n}" for n in range(600)] + ["k"]])
    if store.begin_attempt(attempt, asset="a", keys=keys):
        time.sleep(random.random() / 100)
        continue
    count = int((folder / "count").read_text())
    time.sleep(0.002)
    (folder / "count").write_text(str(count + 1))
    number += 1
    store.finish_attempt(attempt)
print("done", flush=True)
"""


@contextmanager
def processes(
    code: str, url: str, folder: Path, names: list[str]
) -> Iterator[list[subprocess.Popen[str]]]:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", COMMON + code, url, str(folder), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate(timeout=30)


def let_go(folder: Path, names: list[str]) -> None:
    """Waits until all are there, and lets them go at once."""
    assert eventually(lambda: all((folder / name).exists() for name in names))
    (folder / "go").touch()


def eventually(true: Callable[[], bool]) -> bool:
    """A server takes a moment to see that somebody has gone."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.01)
    return False


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_run_whose_process_was_killed_is_abandoned(
    url: str, new_store: NewStore, tmp_path: Path
) -> None:
    store = new_store()
    with processes(BEGIN, url, tmp_path, ["killed"]) as (process,):
        assert line(process) == "begun"
        assert store.abandoned() == ()
        assert not store.adopt("r1")
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
    assert eventually(lambda: [run.id for run in store.abandoned()] == ["r1"])

    # What it had begun is all there for whoever takes it over.
    assert store.adopt("r1")
    assert [entry.id for entry in store.staged("a1")] == ["m1"]
    retry = Attempt(id="a2", run="r1", position=0, number=2, status="running", started_at=NOON)
    (claim,) = store.begin_attempt(retry, asset="a", keys=["k"])
    assert (claim.run, claim.attempt) == ("r1", "a1")
    (attempt,) = store.attempts("r1")
    store.finish_step(store.steps("r1")[0], store.staged("a1"), attempt=attempt)
    assert store.begin_attempt(retry, asset="a", keys=["k"]) == ()
    store.finish_run("r1", "failed", at=NOON)
    assert store.abandoned() == ()
    assert list(tmp_path.glob("state.db.runs/*")) == []


def test_of_many_processes_one_adopts(url: str, new_store: NewStore, tmp_path: Path) -> None:
    first = new_store()
    first.begin_run(RUN, [])
    first.close()
    names = ["1", "2", "3", "4"]
    with processes(ADOPT, url, tmp_path, names) as started:
        let_go(tmp_path, names)
        assert sorted(line(process) for process in started) == ["False"] * 3 + ["True"]
        assert new_store().abandoned() == ()
    assert eventually(lambda: new_store().abandoned() == (RUN,))


def test_of_many_processes_one_has_the_key(url: str, new_store: NewStore, tmp_path: Path) -> None:
    new_store().begin_run(RUN, STEPS)
    (tmp_path / "count").write_text("0")
    names = ["1", "2", "3"]
    with processes(CLAIM, url, tmp_path, names) as started:
        let_go(tmp_path, names)
        assert [line(process) for process in started] == ["done"] * 3
    assert (tmp_path / "count").read_text() == "36"


class TestFiles:
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path}/state.db"

    def test_a_run_has_a_file_until_it_ends(self, new_store: NewStore, tmp_path: Path) -> None:
        store = new_store()
        store.begin_run(RUN, [])
        assert len(list(tmp_path.glob("state.db.runs/*.lock"))) == 1
        store.finish_run("r1", "succeeded", at=NOON)
        assert list(tmp_path.glob("state.db.runs/*")) == []

    def test_looking_makes_no_files(self, url: str, new_store: NewStore, tmp_path: Path) -> None:
        store = new_store()
        store.begin_run(RUN, [])
        store.close()
        for file in tmp_path.glob("state.db.runs/*"):
            file.unlink()
        (tmp_path / "state.db.runs").rmdir()
        reader = open_store(url, create=False)
        assert reader.abandoned() == (RUN,)
        assert not reader.adopt("nobody")
        reader.close()
        assert not (tmp_path / "state.db.runs").exists()

    def test_who_comes_late_leaves_no_file(
        self, new_store: NewStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, late = new_store(), new_store()
        first.begin_run(RUN, [])
        asked = late._is_running

        def ends_in_between(run: str) -> bool:
            found = asked(run)
            first.finish_run("r1", "succeeded", at=NOON)
            return found

        monkeypatch.setattr(late, "_is_running", ends_in_between)
        assert not late.adopt("r1")
        assert list(tmp_path.glob("state.db.runs/*")) == []

    def test_a_link_to_the_database_leads_to_the_same_runs(
        self, new_store: NewStore, tmp_path: Path
    ) -> None:
        first = new_store()
        first.open()
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "link.db").symlink_to(tmp_path / "state.db")
        store = SqlStore(f"sqlite:///{tmp_path}/elsewhere/link.db")
        store.begin_run(RUN, [])
        assert first.abandoned() == ()
        store.close()
        assert first.abandoned() == (RUN,)

    def test_a_look_at_a_run_does_not_pass_for_its_keeper(self, tmp_path: Path) -> None:
        lives = FileLives(tmp_path / "state.db")
        assert lives.take("r1")
        lives.close()
        look = FileLock(lives._file("r1"), thread_local=False)
        look.acquire()
        over = threading.Timer(0.05, look.release)
        over.start()
        assert lives.take("r1")
        over.join()
        lives.close()

    def test_a_file_of_another_user_counts_as_held(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lives = FileLives(tmp_path / "state.db")
        assert lives.take("r1")
        lives.close()

        def refused(*_: object) -> None:
            raise PermissionError

        monkeypatch.setattr(liveness, "_locked", refused)
        assert lives.dead(["r1", "r2"]) == {"r2"}


class TestSessions:
    @pytest.fixture
    def url(self, postgres: str) -> str:
        return postgres

    def test_only_who_begins_a_run_has_a_session_for_it(self, new_store: NewStore) -> None:
        store = new_store()
        assert isinstance(store._lives, SessionLives)
        assert store.abandoned() == ()
        store.begin_run(replace(RUN, id="r0", status="failed"), [])
        assert store._lives._connection is None
        store.begin_run(RUN, [])
        assert store._lives._connection is not None
        store.close()
        assert store._lives._connection is None

    def test_a_run_does_not_depend_on_the_pool(self, new_store: NewStore) -> None:
        store, other = new_store(), new_store()
        store.begin_run(RUN, [])
        store._engine.dispose()
        assert other.abandoned() == ()
        assert not other.adopt("r1")

    def test_a_lost_session_is_made_good_at_the_next_write(
        self, url: str, new_store: NewStore
    ) -> None:
        store, other = new_store(), new_store()
        store.begin_run(RUN, STEPS)
        store.begin_run(replace(RUN, id="r2"), [])
        _cut_all(url)
        assert eventually(lambda: len(other.abandoned()) == 2)
        store.begin_attempt(ATTEMPT, asset="a", keys=["k"])
        assert other.abandoned() == ()
        _cut_all(url)
        assert store.abandoned() == (), "one's own runs are taken again before looking"
        assert other.abandoned() == ()

    def test_a_lost_session_fails_nothing(self, url: str, new_store: NewStore) -> None:
        store = new_store()
        for n in range(3):
            store.begin_run(replace(RUN, id=f"r{n}"), [])
        _cut_all(url)
        store.finish_run("r0", "succeeded", at=NOON)
        _cut_all(url)
        store.begin_run(replace(RUN, id="r3"), [])
        _cut_all(url)
        store.close()
        assert {run.id for run in new_store().abandoned()} == {"r1", "r2", "r3"}

    def test_a_run_that_was_adopted_in_the_meantime_stays_with_the_adopter(
        self, url: str, new_store: NewStore
    ) -> None:
        store, other = new_store(), new_store()
        store.begin_run(RUN, STEPS)
        _cut_all(url)
        assert eventually(lambda: other.adopt("r1"))
        store.begin_attempt(ATTEMPT)
        other.finish_run("r1", "failed", at=NOON)
        store.finish_run("r1", "succeeded", at=NOON)
        assert store.abandoned() == other.abandoned() == ()


def _cut_all(url: str) -> None:
    """What a restart of the server does to its clients."""
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
