"""What the ledger says of code that writes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tranche import service
from tranche.errors import CodeFailed, Place, ResultRejected
from tranche.model.plan import Request
from tranche.model.project import Project
from tranche.planning.plan import build_plan
from tranche.planning.stale import stale_keys
from tranche.ports import Staged, Trial, Work, Written
from tranche.projects.config import parse_settings
from tranche.run.runner import RunResult, run_plan
from tranche.script.lakes import Lakes
from tranche.script.python import read_python_script
from tranche.testing import MemoryEngine, MemoryStore

NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)
A, B = "s3:///a/{partition}.json", "lake://main/b"
TEXT = f"""\
# pipeline
# partitioned daily lookback=1
# writes {A}
# writes {B}
# retry 2
def main(partitions): ...
"""
READER = f"""\
# pipeline
# partitioned daily
# on {B}
# writes s3:///c/{{partition}}.json
def main(b): ...
"""


class CodeEngine(MemoryEngine):
    """Writes nothing, and says that it has."""

    digest = "files 1"
    broken = 0
    tried = 0

    @contextmanager
    def attempt(self, work: Work) -> Iterator[Trial]:
        yield self  # type: ignore[misc]

    def stage(self) -> Staged:
        return Staged()

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        self.tried += 1
        if self.tried <= self.broken:
            raise CodeFailed("main raised ValueError", "correct it", place=Place("s.py", 6))
        return Written(snapshot="7", digest=self.digest)


class Bench:
    def __init__(self) -> None:
        lakes = Lakes(frozenset({"main"}), "main")
        texts = {"s": TEXT, "r": READER}
        reads = [read_python_script(n, f"pipelines/{n}.py", t, lakes) for n, t in texts.items()]
        self.project = Project(
            settings=parse_settings("", Path("/p"), None, {}),
            scripts=tuple(read.script for read in reads if read.script is not None),
        )
        assert len(self.project.scripts) == 2
        self.engine, self.store = CodeEngine(), MemoryStore()

    def run(self, target: str = "s", partition: str = "2026-05-16", **given: bool) -> RunResult:
        asked = Request(target=target, fire_time=NOON, partition=partition, only=True, **given)  # type: ignore[arg-type]
        plan = build_plan(self.project, asked, self.store)
        return run_plan(plan, self.engine, self.store, lambda: NOON, sleep=lambda _: None)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_each_asset_and_key_has_an_entry(bench: Bench) -> None:
    result = bench.run()
    assert result.status == "succeeded"
    # The step tells of its keys once, whatever it writes.
    assert [key.partition for key in result.steps[0].keys] == ["2026-05-15", "2026-05-16"]
    for asset, snapshot in ((A, "7"), (B, None)):
        entries = [
            bench.store.materializations(asset, key, limit=9)
            for key in ("2026-05-15", "2026-05-16")
        ]
        assert [[e.status for e in each] for each in entries] == [["succeeded"]] * 2
        assert {e.snapshot for each in entries for e in each} == {snapshot}
        assert {e.digest for each in entries for e in each} == {"files 1"}


def test_it_fails_for_each_too_and_is_tried_again(bench: Bench) -> None:
    bench.engine.broken = 2
    assert bench.run(exact=True).status == "succeeded"
    bench.engine.broken = 9
    result = bench.run(exact=True)
    assert result.status == "failed"
    assert result.steps[0].record.error == "s.py:6: main raised ValueError; correct it"
    for asset in (A, B):
        latest = bench.store.materializations(asset, "2026-05-16", limit=1)
        assert [entry.status for entry in latest] == ["failed"]


def test_rows_that_cannot_be_written_are_not_asked_for_again(bench: Bench) -> None:
    def publish(leave_out: frozenset[str] = frozenset()) -> Written:
        bench.engine.tried += 1
        raise ResultRejected("main returned a value of the type int", "return a frame")

    bench.engine.publish = publish  # type: ignore[method-assign]
    result = bench.run()
    assert [key.status for key in result.steps[0].keys] == ["failed", "failed"]
    assert bench.engine.tried == 1


def test_what_reads_files_is_stale_once_they_are_others(bench: Bench) -> None:
    bench.run(exact=True)
    bench.run("r")
    reader = bench.project.scripts[1]
    assert bench.run(exact=True).status == "succeeded"
    assert stale_keys(reader, ["2026-05-16"], bench.store) == {}
    bench.engine.digest = "files 2"
    bench.run(exact=True)
    assert stale_keys(reader, ["2026-05-16"], bench.store) == {
        "2026-05-16": f"{A} 2026-05-16 has other rows"
    }


def test_files_can_be_asked_for_their_status(bench: Bench) -> None:
    bench.run()
    for name in (A, B, "s"):
        page = service.partition_status(bench.project, bench.store, name, limit=9)
        assert [state.partition for state in page.partitions] == ["2026-05-15", "2026-05-16"]
