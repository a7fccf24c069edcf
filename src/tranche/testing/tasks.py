"""A task of a job, called for real, with what it returns kept in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from tranche.errors import UsageError
from tranche.jobs.calling import Call, called
from tranche.jobs.conversion import returned_kind
from tranche.jobs.declared import Task
from tranche.jobs.merge import Merge
from tranche.jobs.own_io import read_own, write_own
from tranche.model.argument import value_of
from tranche.model.asset import AssetUri, JobTask
from tranche.model.code import Code, Loaded
from tranche.model.output import KEY_COLUMN, Output
from tranche.model.script import Script
from tranche.ports import Staged, Work, Written, WrittenKey
from tranche.testing.kept import Kept, Record, Slices


class TaskTrial:
    """Calls the function of a task when it is staged, and keeps what it returned when published."""

    def __init__(self, work: Work, tasks: Mapping[str, Task], kept: Kept, spark: Any) -> None:
        script = work.step.script
        assert script.code is not None and script.asset is not None
        self.work = work
        self.script: Script = script
        self.code: Code = script.code
        self.output: Output = script.code.output or Output()
        self.asset: AssetUri = script.asset
        self.keys = tuple(key for key in work.step.keys if key is not None)
        self.tasks = tasks
        self.task = tasks[script.name]
        self.kept = kept
        self.spark = spark
        self.returned: Any = None
        self.slices: Slices = {}
        self.warnings: list[str] = []

    def stage(self) -> Staged:
        call = Call(
            code=self.code,
            path=self.script.path,
            keys=self.keys,
            partitioning=self.script.partitioning,
            fire_time=self.work.fire_time,
            run=self.work.attempt.run,
            arguments=self.arguments(),
        )
        self.kept.outputs[str(self.asset)] = self.script
        self.returned = called(self.task.function, call, spark=self.session, load=self.load)
        what = self.code.function
        own = isinstance(self.returned, Merge) or self.output.kind == "own"
        if not own and returned_kind(self.returned, what) is not None:
            self.slices = self.kept.split(self.returned, self.keys, self.output, what)
        return Staged(warnings=tuple(self.warnings))

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        name = str(self.asset)
        if self.returned is None:
            self.kept.nothing |= {(name, key) for key in self.keys or (None,)}
            return Written(rows=0, keys=self.each(dict.fromkeys(self.keys, ())))
        self.kept.nothing -= {(name, key) for key in self.keys or (None,)}
        if self.output.kind == "own":
            write_own(self.task.io, self.script, self.keys, self.returned)
            return Written(keys=self.each({}))
        if isinstance(self.returned, Merge):
            rows = self.kept.merge(name, self.returned, self.keys, self.output)
            return Written(rows=len(rows), digest=_digest(rows), keys=self.each({}))
        self.kept.write(name, self.returned, self.slices, self.keys, self.output)
        rows = tuple(row for found in self.slices.values() for row in found)
        return Written(
            rows=len(rows),
            snapshot=self.work.attempt.id,
            digest=_digest(rows),
            keys=self.each(self.slices),
        )

    def each(self, slices: Slices) -> dict[str, WrittenKey]:
        """What was written of each key, where there are several."""
        if not self.work.step.is_range:
            return {}
        rows = slices.get(None, ())
        found: dict[str, WrittenKey] = {}
        for key in self.keys:
            own = slices.get(key)
            if own is None and rows and KEY_COLUMN in rows[0]:
                own = tuple(row for row in rows if row[KEY_COLUMN] == key)
            found[key] = WrittenKey(None) if own is None else WrittenKey(len(own), _digest(own))
        return found

    # What the function gets.

    def session(self) -> Any:
        if self.spark is None:
            raise UsageError(
                f"{self.code.function} takes spark, and the engine in memory has none",
                "give it a session: MemoryEngine(spark=…), as the fixture tranche_spark has one",
            )
        return self.spark

    def arguments(self) -> dict[str, object]:
        given = dict(self.work.step.arguments)
        return {
            argument.name: None
            if given.get(argument.name) is None
            else value_of(argument.type, str(given[argument.name]), UTC)
            for argument in self.script.annotations.arguments
        }

    def load(self, loaded: Loaded) -> Any:
        """What is there of an asset for the keys of the step."""
        asset = str(loaded.asset)
        keys = self.wanted(loaded)
        maker = self.kept.outputs.get(asset)
        output = maker.code.output if maker is not None and maker.code is not None else None
        if keys is not None and keys and all((asset, key) in self.kept.nothing for key in keys):
            return None
        if maker is not None and output is not None and output.kind == "own":
            io = self.tasks[maker.name].io
            named = [key for key in keys or () if key is not None]
            return read_own(io, maker, self.script, loaded, named)
        if isinstance(loaded.asset, JobTask):
            return None
        if asset not in self.kept.tables:
            raise UsageError(
                f"{self.code.function} reads {asset}, and nothing has made it",
                f"give the engine its rows: engine.give({asset!r}, frame)",
            )
        if output is not None and not output.auto_filter and keys is not None:
            self.warnings.append(
                f"{self.code.function} reads all of {asset}: its IO has auto_filter=False"
            )
        records = self.kept.read(asset, keys, output)
        return self.kept.frame(asset, records, loaded.frame, self.spark)

    def wanted(self, loaded: Loaded) -> list[str | None] | None:
        """The keys of an asset that those of the step are made of; None is all of them."""
        if loaded.all_partitions:
            return None
        needed = [i for key in self.work.step.slice for i in key.inputs if i.asset == loaded.asset]
        keys = list(dict.fromkeys(each.partition for each in needed))
        maker = self.kept.outputs.get(str(loaded.asset))
        if None in keys and (maker is None or maker.partitioning is not None):
            return None
        return keys


def _digest(rows: Sequence[Record]) -> str:
    text = "\n".join(sorted(map(repr, rows)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
