"""Doubles for tests: an engine and a store in memory, with the contracts of the real ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from tranche.errors import NotBuiltYet, SourceMissing
from tranche.model.asset import LakeTable
from tranche.model.layout import SetLayout
from tranche.model.plan import Step
from tranche.model.rows import Rows
from tranche.model.run import Attempt
from tranche.ports import Staged, Trial, Work, Written
from tranche.state.memory import MemoryStore

Record: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = Callable[[Step], Sequence[Record]]


class MemoryEngine:
    """An engine that runs no SQL: a function per script says which rows its slice has.

    >>> engine = MemoryEngine({"orders": lambda step: [{"id": 1, "day": step.partition}]})
    """

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self.answers = dict(answers or {})
        self.tables: dict[str, dict[str | None, tuple[Record, ...]]] = {}
        self.executed: list[Step] = []
        self.published: dict[str, Written] = {}

    linger = 0.0

    def start(self) -> None: ...

    @contextmanager
    def attempt(self, work: Work) -> Iterator[Trial]:
        self.executed.append(work.step)
        yield MemoryTrial(self, work)

    def recover(self, table: LakeTable, partition: str | None, attempt: Attempt) -> Written | None:
        return self.published.get(attempt.id)

    def query(self, statement: str | SetLayout, *, limit: int) -> Rows:
        raise NotBuiltYet("an engine in memory runs no SQL", "use a Spark session")

    def preview(self, table: LakeTable, partition: str | None, *, limit: int) -> Rows:
        slices = self.tables.get(str(table))
        if slices is None:
            raise SourceMissing(f"{table} does not exist yet", "run the script that makes it")
        wanted = [slices.get(partition, ())] if partition is not None else slices.values()
        rows = tuple(row for found in wanted for row in found)
        return _as_rows(rows[:limit], more=len(rows) > limit)

    def cancel(self, attempt: str | None = None) -> None:
        """Does nothing: what runs in memory is over before anybody could cancel it."""

    def close(self) -> None: ...


class MemoryTrial:
    """Asks the script's function for its rows, and keeps them when they are published."""

    def __init__(self, engine: MemoryEngine, work: Work) -> None:
        self.engine = engine
        self.work = work
        self.rows: tuple[Record, ...] = ()

    def stage(self) -> Staged:
        answer = self.engine.answers.get(self.work.step.script.name)
        self.rows = tuple(answer(self.work.step)) if answer is not None else ()
        return Staged()

    def publish(self) -> Written:
        step = self.work.step
        rows = self.rows
        if step.script.asset is None:
            return Written(rows=len(rows), result=_as_rows(rows))
        self.engine.tables.setdefault(str(step.script.asset), {})[step.partition] = rows
        digest = hashlib.sha256("\n".join(sorted(map(repr, rows))).encode()).hexdigest()
        written = Written(
            rows=len(rows), snapshot=str(len(self.engine.executed)), digest=digest[:16]
        )
        self.engine.published[self.work.attempt.id] = written
        return written


def _as_rows(records: Sequence[Record], *, more: bool = False) -> Rows:
    names = tuple(records[0]) if records else ()
    columns = tuple((name, type(records[0][name]).__name__) for name in names)
    return Rows(columns, tuple(tuple(record[name] for name in names) for record in records), more)


__all__ = ["MemoryEngine", "MemoryStore", "MemoryTrial"]
