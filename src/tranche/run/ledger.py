"""What the ledger says of a step's attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tranche.model.asset import LakeTable
from tranche.model.data_test import DataTestResult
from tranche.model.digest import digest_of_snapshot
from tranche.model.plan import Step
from tranche.model.run import Attempt, Input, Materialization, Outcome, PartitionState
from tranche.ports import Restored, Staged, StateReader, Written
from tranche.run.ids import new_id

_LOG = 1_000
"""How many entries of a key are looked at, to find the one that holds again."""
_PAST = 20
"""How many entries of a key are looked at, to find one that was made of the same."""


def expected(
    step: Step,
    attempt: Attempt,
    at: datetime,
    *,
    inputs: Sequence[Input],
    staged: Staged,
    state: StateReader,
) -> tuple[Materialization, ...]:
    """The entries of an attempt once it has published what it staged."""
    entries = entry(step, attempt, "succeeded", at, inputs=inputs, tests=staged.tests)
    if step.restores is None:
        return entries
    return tuple(_restored(entries[0], step, key, staged, state) for key in staged.restored)


def _restored(
    entry: Materialization, step: Step, key: Restored, staged: Staged, state: StateReader
) -> Materialization:
    """A key that is again what an earlier entry made it, or that is gone again."""
    log = state.materializations(entry.asset, key.partition, limit=_LOG)
    found = next((e for e in log if e.status == "succeeded" and e.snapshot in staged.lineage), None)
    rule = step.script.partitioning
    restored = replace(
        entry,
        id=new_id(entry.finished_at),
        partition=key.partition,
        ordinal=rule.ordinal(key.partition) if rule and key.partition is not None else None,
        rows=key.rows,
        # Whatever made it, it was not the script as it is now.
        fingerprint="",
    )
    if found is None:
        return restored
    return replace(
        restored,
        ordinal=found.ordinal,
        fingerprint=found.fingerprint,
        digest=found.digest,
        inputs=found.inputs,
        tests=found.tests,
    )


def entry(
    step: Step,
    attempt: Attempt,
    status: Outcome,
    at: datetime,
    *,
    inputs: Sequence[Input] = (),
    tests: tuple[DataTestResult, ...] = (),
    error: str | None = None,
) -> tuple[Materialization, ...]:
    """The entry of an attempt; none for a step that materializes nothing."""
    if step.script.asset is None or (step.restores is not None and status != "succeeded"):
        return ()
    return (
        Materialization(
            id=new_id(at),
            asset=str(step.script.asset),
            partition=step.partition,
            ordinal=step.ordinal,
            status=status,
            run=attempt.run,
            attempt=attempt.id,
            fingerprint=step.script.fingerprint,
            started_at=attempt.started_at,
            finished_at=at,
            inputs=tuple(inputs),
            tests=tests,
            error=error,
        ),
    )


def published(
    entry: Materialization, written: Written, before: PartitionState | None
) -> Materialization:
    """The entry once its slice can be seen; `before` is where its key stood."""
    return replace(
        entry,
        # What readers see is the commit that came last, whoever recorded it last.
        finished_at=written.committed_at or entry.finished_at,
        rows=written.rows if entry.rows is None else entry.rows,
        snapshot=written.snapshot,
        digest=entry.digest or _digest(written, before),
    )


def _digest(written: Written, before: PartitionState | None) -> str | None:
    digest = written.digest
    if not written.changed and before is not None and before.materialization is not None:
        digest = before.digest
    return digest or digest_of_snapshot(written.snapshot)


def past(step: Step, state: StateReader) -> tuple[Materialization, ...]:
    """The latest successes of the step's key."""
    if step.script.asset is None or step.restores is not None:
        return ()
    log = state.materializations(str(step.script.asset), step.partition, limit=_PAST)
    return tuple(entry for entry in log if entry.status == "succeeded")


def pinned_inputs(step: Step, state: StateReader) -> tuple[Input, ...]:
    """What the step is about to read, with the materialization that each key has now."""
    inputs = []
    pinned = {(given.asset, given.partition): given for given in step.pinned}
    for needed in step.inputs:
        given = pinned.get((str(needed.asset), needed.partition))
        if given is not None:
            inputs.append(given)
            continue
        found = state.partition(str(needed.asset), needed.partition)
        inputs.append(
            Input(
                asset=str(needed.asset),
                partition=needed.partition,
                materialization=found.materialization if found else None,
            )
        )
    return tuple(inputs)


def with_sources(inputs: Sequence[Input], staged: Staged) -> tuple[Input, ...]:
    return tuple(
        replace(item, snapshot=staged.sources.get(item.asset, item.snapshot)) for item in inputs
    )


def table_of(step: Step) -> LakeTable | None:
    return step.script.asset if isinstance(step.script.asset, LakeTable) else None
