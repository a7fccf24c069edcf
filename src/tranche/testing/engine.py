"""An engine in memory, with the contract of the real one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from tranche.errors import NotBuiltYet, SourceMissing, UnknownSnapshot
from tranche.jobs.declared import Task
from tranche.model.asset import AssetUri, LakeTable
from tranche.model.columns import Columns
from tranche.model.digest import Digests, Seen, compared, set_id
from tranche.model.explanation import Scanned
from tranche.model.layout import SetLayout
from tranche.model.plan import Step
from tranche.model.rows import Rows
from tranche.model.run import Attempt
from tranche.model.snapshot import Preview, SeenSnapshot, Snapshots
from tranche.model.statement import Statement
from tranche.model.wanted import EVERYTHING, Wanted
from tranche.ports import Maintained, Staged, Trial, Upkeep, Work, Written, WrittenKey
from tranche.testing.filtering import wanted_records
from tranche.testing.kept import Kept, Record, Slices
from tranche.testing.tasks import TaskTrial

Answer: TypeAlias = Callable[[Step], Sequence[Record]]


class MemoryEngine:
    """An engine that runs no SQL: a function per script says which rows its slice has.

    Tasks of jobs are called themselves. A task that takes `spark` gets the session that is given.

    >>> engine = MemoryEngine({"orders": lambda step: [{"id": 1, "day": step.partition}]})
    """

    def __init__(self, answers: Mapping[str, Answer] | None = None, *, spark: Any = None) -> None:
        self.answers = dict(answers or {})
        self.spark = spark
        self.tasks: dict[str, Task] = {}
        """The tasks of jobs, by the name of their script."""
        self.kept = Kept()
        """What tasks have returned."""
        self.tables: dict[str, Slices] = self.kept.tables
        self.past: dict[str, list[tuple[SeenSnapshot, Slices]]] = {}
        """What each table was like after each run, by its fire time."""
        self.executed: list[Step] = []
        self.published: dict[str, Written] = {}

    linger = 0.0

    def revive(self) -> None:
        """It cannot die."""

    def start(self) -> None: ...

    @contextmanager
    def attempt(self, work: Work) -> Iterator[Trial]:
        self.executed.append(work.step)
        name = work.step.script.name
        if name in self.tasks and name not in self.answers:
            yield TaskTrial(work, self.tasks, self.kept, self.spark)
        else:
            yield MemoryTrial(self, work)

    def give(self, asset: str, rows: Any, *, partition: str | None = None) -> None:
        """Says what is in a table that a task reads and no task of its job makes."""
        keys = () if partition is None else (partition,)
        slices = self.kept.split(rows, keys, None, asset)
        self.kept.write(asset, rows, slices, keys, None)

    def recover(
        self, asset: AssetUri, keys: Sequence[str | None], attempt: Attempt
    ) -> Written | None:
        return self.published.get(attempt.id)

    def maintain(self, table: LakeTable, upkeep: Upkeep) -> Sequence[Maintained]:
        return (Maintained(table=table),)

    def query(self, statement: Statement | SetLayout, *, limit: int) -> Rows:
        raise NotBuiltYet("an engine in memory runs no SQL", "use a Spark session")

    def preview(
        self,
        table: LakeTable,
        partition: str | None,
        *,
        limit: int,
        snapshot: str | None = None,
        at: datetime | None = None,
        wanted: Wanted = EVERYTHING,
    ) -> Preview:
        slices = self._there(table)
        seen = None
        if snapshot is not None or at is not None:
            seen, slices = self._then(table, snapshot, at)
        chosen = [slices.get(partition, ())] if partition is not None else slices.values()
        rows = tuple(row for found in chosen for row in found)
        passed = wanted_records(rows, wanted)
        shown = _as_rows(passed[:limit], more=len(passed) > limit, like=rows)
        return Preview(shown, seen)

    def snapshots(self, table: LakeTable, *, limit: int) -> Snapshots:
        self._there(table)
        found = [seen for seen, _ in reversed(self.past.get(str(table), []))]
        return Snapshots(tuple(found[:limit]), more=len(found) > limit)

    def _there(self, table: LakeTable) -> Slices:
        slices = self.tables.get(str(table))
        if slices is None:
            raise SourceMissing(f"{table} does not exist yet", "run the script that makes it")
        return slices

    def _then(
        self, table: LakeTable, snapshot: str | None, at: datetime | None
    ) -> tuple[SeenSnapshot, Slices]:
        for seen, slices in reversed(self.past.get(str(table), [])):
            if seen.id == snapshot or (at is not None and seen.at <= at):
                return seen, slices
        raise UnknownSnapshot(f"{table} has no such snapshot", "ask for its snapshots")

    def scan(self, step: Step) -> Scanned:
        raise NotBuiltYet("an engine in memory runs no SQL", "use a Spark session")

    def cancel(self, attempt: str | None = None) -> None:
        """Does nothing: what runs in memory is over before anybody could cancel it."""

    def close(self) -> None: ...


class MemoryTrial:
    """Asks the script's function for the rows of each key, and keeps them when they are published."""

    def __init__(self, engine: MemoryEngine, work: Work) -> None:
        self.engine = engine
        self.work = work
        self.rows: dict[str | None, tuple[Record, ...]] = {}

    def stage(self) -> Staged:
        step = self.work.step
        answer = self.engine.answers.get(step.script.name)
        self.rows = {
            key.partition: tuple(answer(replace(step, slice=(key,)))) if answer is not None else ()
            for key in step.slice
        }
        return Staged()

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        step = self.work.step
        rows = {key: found for key, found in self.rows.items() if key not in leave_out}
        total = sum(map(len, rows.values()))
        if step.script.asset is None:
            return Written(rows=total, result=_as_rows(next(iter(rows.values()), ())))
        slices = self.engine.tables.setdefault(str(step.script.asset), {})
        before = sum(len(slices.get(key, ())) for key in rows)
        digests = {key: self.digests(key, found, slices) for key, found in rows.items()}
        slices.update(rows)
        keys = {
            key: WrittenKey(len(found), digests[key].rows, column_digests=digests[key].columns)
            for key, found in rows.items()
            if key
        }
        only = Digests() if step.is_range else next(iter(digests.values()), Digests())
        written = Written(
            rows=total,
            snapshot=str(len(self.engine.executed)),
            digest=only.rows,
            column_digests=only.columns,
            columns=_columns([row for found in rows.values() for row in found]),
            keys=keys if step.is_range else {},
        )
        self.engine.published[self.work.attempt.id] = written
        seen = SeenSnapshot(
            id=str(written.snapshot),
            at=self.work.fire_time,
            operation="overwrite",
            run=self.work.attempt.run,
            partition=step.partition,
            added=total,
            removed=before,
        )
        self.engine.past.setdefault(str(step.script.asset), []).append((seen, dict(slices)))
        return written

    def digests(self, key: str | None, rows: Sequence[Record], slices: Slices) -> Digests:
        """What stands for the rows of a key, and for what is read of them."""
        past = self.work.past or ()
        held = self.work.standing.get(key) if key is not None else None
        held = held or next(iter(past), None)
        seen = _seen(rows, self.work.read)
        if held is None:
            return compared(seen, Digests(), None, lambda: None)
        return compared(
            seen,
            held.digests,
            held.rows,
            lambda: _seen(slices[key], self.work.read) if key in slices else None,
        )


def _seen(rows: Sequence[Record], read: Sequence[frozenset[str]]) -> Seen:
    names = {name.lower(): name for row in rows for name in row}
    sets = {
        set_id(each): [{names[name]: row.get(names[name]) for name in sorted(each)} for row in rows]
        for each in read
        if each <= names.keys()
    }
    return Seen(len(rows), _digest(rows), {set_: _digest(some) for set_, some in sets.items()})


def _digest(rows: Sequence[Record]) -> str:
    text = "\n".join(sorted(map(repr, rows)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _columns(records: Sequence[Record]) -> Columns:
    first = next(iter(records), {})
    return tuple((name, type(value).__name__) for name, value in first.items())


def _as_rows(records: Sequence[Record], *, more: bool = False, like: Sequence[Record] = ()) -> Rows:
    """Records as rows; `like` has the columns also where none of them is left."""
    columns = _columns(like or records)
    rows = (tuple(record[name] for name, _ in columns) for record in records)
    return Rows(columns, tuple(rows), more)
