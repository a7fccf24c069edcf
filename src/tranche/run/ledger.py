"""What the ledger says of a step's attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tranche.model.asset import LakeTable
from tranche.model.data_test import DataTestResult
from tranche.model.digest import NO_ROWS, combined, digest_of_snapshot
from tranche.model.plan import Step
from tranche.model.run import Attempt, Input, Materialization, Outcome, PartitionState
from tranche.ports import Staged, StateReader, Written
from tranche.run.ids import new_id


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
    if step.script.asset is None:
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
        rows=written.rows,
        snapshot=written.snapshot,
        digest=_digest(written, before),
    )


def _digest(written: Written, before: PartitionState | None) -> str | None:
    there = before is not None and before.materialization is not None
    held = before.digest if before is not None and there else None
    if not written.changed:
        return held or digest_of_snapshot(written.snapshot)
    if written.added:
        found = combined(held if there else NO_ROWS, written.digest)
        return found or digest_of_snapshot(written.snapshot)
    return written.digest or digest_of_snapshot(written.snapshot)


def pinned_inputs(step: Step, state: StateReader) -> tuple[Input, ...]:
    """What the step is about to read, with the materialization that each key has now."""
    inputs = []
    for needed in step.inputs:
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
    return tuple(replace(item, snapshot=staged.sources.get(item.asset)) for item in inputs)


def table_of(step: Step) -> LakeTable | None:
    return step.script.asset if isinstance(step.script.asset, LakeTable) else None
