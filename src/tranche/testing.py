"""Doubles for tests: an engine and a store in memory, with the contracts of the real ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tranche.errors import NotBuiltYet, SourceMissing
from tranche.model.asset import LakeTable
from tranche.model.plan import Step
from tranche.model.rows import Rows
from tranche.ports import Written
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

    def start(self) -> None: ...

    def execute(self, step: Step, *, run: str, attempt: str) -> Written:
        self.executed.append(step)
        answer = self.answers.get(step.script.name)
        rows = tuple(answer(step)) if answer is not None else ()
        if step.script.asset is None:
            return Written(rows=len(rows), result=_as_rows(rows))
        self.tables.setdefault(str(step.script.asset), {})[step.partition] = rows
        digest = hashlib.sha256("\n".join(sorted(map(repr, rows))).encode()).hexdigest()
        return Written(rows=len(rows), snapshot=str(len(self.executed)), digest=digest[:16])

    def query(self, text: str, *, limit: int) -> Rows:
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


def _as_rows(records: Sequence[Record], *, more: bool = False) -> Rows:
    names = tuple(records[0]) if records else ()
    columns = tuple((name, type(records[0][name]).__name__) for name in names)
    return Rows(columns, tuple(tuple(record[name] for name in names) for record in records), more)


__all__ = ["MemoryEngine", "MemoryStore"]
