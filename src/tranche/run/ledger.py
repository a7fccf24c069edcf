"""What the ledger says of a step's attempt."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from tranche.model.data_test import DataTestResult
from tranche.model.digest import Digests, digest_of_snapshot
from tranche.model.lineage import TracedLineage
from tranche.model.plan import InputKey, Step
from tranche.model.run import Attempt, Input, KeyParts, Materialization, Outcome
from tranche.model.script import Script
from tranche.ports import Restored, Staged, StateReader, Written, WrittenKey
from tranche.run.ids import new_id

_LOG = 1_000
"""How many entries of a key are looked at, to find the one that holds again."""
_PAST = 20
"""How many entries of a key are looked at, to find one that was made of the same."""


Inputs: TypeAlias = Mapping[str | None, tuple[Input, ...]]
"""What each key of a slice was made of."""


def expected(
    step: Step,
    attempt: Attempt,
    at: datetime,
    *,
    inputs: Inputs,
    staged: Staged,
    state: StateReader,
    left_out: Collection[str | None] = (),
) -> tuple[Materialization, ...]:
    """The entries of an attempt once it has published what it staged, but for what is left out."""
    entries = tuple(
        entry
        for entry in entries_of(step, attempt, "succeeded", at, inputs=inputs, staged=staged)
        if entry.partition not in left_out
    )
    if step.copies is not None:
        return tuple(_copied(entries[0], step, key, state) for key in staged.restored)
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
        started_at=found.started_at,
        fingerprint=found.fingerprint,
        digest=found.digest,
        column_digests=found.column_digests,
        inputs=found.inputs,
        tests=found.tests,
        provisional=found.provisional,
    )


def _copied(
    entry: Materialization, step: Step, key: Restored, state: StateReader
) -> Materialization:
    """A key that is what it is in another table, made of the same."""
    copied = replace(entry, id=new_id(entry.finished_at), partition=key.partition, rows=key.rows)
    log = state.materializations(str(step.copies), key.partition, limit=_LOG)
    found = next((e for e in log if e.status == "succeeded"), None)
    if found is None:
        rule = step.script.partitioning
        known = rule is not None and key.partition is not None
        ordinal = rule.ordinal(key.partition) if rule and known and key.partition else None
        return replace(copied, ordinal=ordinal, fingerprint="")
    return replace(
        copied,
        ordinal=found.ordinal,
        started_at=found.started_at,
        fingerprint=found.fingerprint,
        digest=found.digest,
        column_digests=found.column_digests,
        inputs=found.inputs,
        tests=found.tests,
        provisional=found.provisional,
    )


def entries_of(
    step: Step,
    attempt: Attempt,
    status: Outcome,
    at: datetime,
    *,
    inputs: Inputs | None = None,
    staged: Staged | None = None,
    error: str | None = None,
) -> tuple[Materialization, ...]:
    """An entry for each asset and key of an attempt; none for a step that materializes nothing."""
    if step.script.asset is None or (step.is_of_table and status != "succeeded"):
        return ()
    return tuple(
        Materialization(
            id=new_id(at),
            asset=asset,
            partition=key.partition,
            ordinal=key.ordinal,
            status=status,
            run=attempt.run,
            attempt=attempt.id,
            fingerprint=step.script.fingerprint,
            started_at=step.pinned_at or attempt.started_at,
            finished_at=at,
            inputs=(inputs or {}).get(key.partition, ()),
            tests=tests_of(staged, key.partition),
            error=error,
            seconds=(at - attempt.started_at).total_seconds() / len(step.slice),
            provisional=key.provisional and status == "succeeded",
        )
        for asset in recorded_assets(step.script)
        for key in step.slice
    )


def recorded_assets(script: Script) -> tuple[str, ...]:
    """What the ledger has entries of when a script has run: the asset that it is known by, and of
    code that writes by itself all else that it writes."""
    if script.asset is None:
        return ()
    others = script.writes if script.code is not None and not script.managed else ()
    return tuple(dict.fromkeys(map(str, (script.asset, *others))))


def tests_of(staged: Staged | None, key: str | None) -> tuple[DataTestResult, ...]:
    """What data tests found for a key."""
    if staged is None:
        return ()
    if key is not None and key in staged.key_tests:
        return staged.key_tests[key]
    return staged.tests


def unchanged(
    entries: Sequence[Materialization], written: Written, state: StateReader
) -> Mapping[str | None, Materialization]:
    """What the keys are whose rows stayed as they were, although a step has run."""
    keys = [entry.partition for entry in entries if not _of(entry, written).changed]
    if not keys:
        return {}
    found = state.standing(entries[0].asset, keys)
    ids = [each.materialization for each in found.values() if each.materialization is not None]
    return {entry.partition: entry for entry in state.entries(ids)}


def published(
    entry: Materialization, written: Written, before: Materialization | None
) -> Materialization:
    """The entry once its slice can be seen; `before` is what its key was, if nothing has changed."""
    each = _of(entry, written)
    digests = Digests(each.digest, each.column_digests) if before is None else before.digests
    if entry.digest is not None:
        digests = entry.digests
    return replace(
        entry,
        # What readers see is the commit that came last, whoever recorded it last.
        finished_at=written.committed_at or entry.finished_at,
        rows=each.rows if entry.rows is None else entry.rows,
        snapshot=written.snapshot,
        digest=digests.rows or digest_of_snapshot(written.snapshot),
        column_digests=digests.columns,
    )


def _of(entry: Materialization, written: Written) -> Written | WrittenKey:
    """What was written of the key of an entry."""
    each = written.keys.get(entry.partition) if entry.partition is not None else None
    return written if each is None else each


def past(step: Step, state: StateReader) -> tuple[Materialization, ...]:
    """The latest successes of the step's key."""
    if step.script.asset is None or step.is_of_table or step.is_range:
        return ()
    log = state.materializations(str(step.script.asset), step.partition, limit=_PAST)
    return tuple(entry for entry in log if entry.status == "succeeded")


def standing(step: Step, state: StateReader) -> Mapping[str, Materialization]:
    """The latest success of those keys of a slice of several that were there before.

    They are of interest only if somebody reads them.
    """
    if not step.is_range or step.script.asset is None or not step.is_read:
        return {}
    found = state.standing(str(step.script.asset), step.keys)
    ids = [each.materialization for each in found.values() if each.materialization is not None]
    return {e.partition: e for e in state.entries(ids) if e.partition is not None}


def parts(step: Step, state: StateReader) -> Mapping[str, Mapping[str | None, tuple[str, ...]]]:
    """The parts that keys were written to: of what a task reads, and of its own asset."""
    if step.script.job is None or step.is_of_table:
        return {}
    wanted: dict[str, set[str | None]] = {}
    for needed in step.inputs:
        wanted.setdefault(str(needed.asset), set()).add(needed.partition)
    if step.script.asset is not None:
        wanted[str(step.script.asset)] = set(step.keys)
    found = {asset: state.parts(asset, sorted(keys, key=str)) for asset, keys in wanted.items()}
    return {asset: known for asset, known in found.items() if known}


def traced(step: Step, state: StateReader) -> tuple[str, ...] | None:
    """The columns of a step that is Python of which it is known where they come from."""
    script = step.script
    if script.code is None or script.asset is None or not script.managed or step.is_of_table:
        return ()
    known = state.traced(str(script.asset), script.fingerprint)
    return None if known is None else tuple(column.column for column in known.columns)


def traced_lineage(step: Step, staged: Staged) -> TracedLineage | None:
    """What was found out of where the columns of a step come from, as the store keeps it."""
    if staged.traced is None:
        return None
    script = step.script
    return TracedLineage(
        asset=str(script.asset), fingerprint=script.fingerprint, lineage=staged.traced
    )


def sole_parts(step: Step, state: StateReader) -> frozenset[str]:
    """The parts of its own asset that a task may remove: nobody else's rows are in them."""
    asset = step.script.asset
    if step.script.job is None or step.is_of_table or asset is None:
        return frozenset()
    return state.sole_parts(str(asset), step.keys)


def pinned_inputs(step: Step, state: StateReader) -> Inputs:
    """What each key is about to read, with the materialization that it has now."""
    pinned = {(given.asset, given.partition): given for given in step.pinned}
    wanted: dict[str, set[str | None]] = {}
    for needed in step.inputs:
        wanted.setdefault(str(needed.asset), set()).add(needed.partition)
    states = {
        (asset, key): found
        for asset, keys in wanted.items()
        for key, found in state.standing(asset, sorted(keys, key=str)).items()
    }

    def given(needed: InputKey) -> Input:
        place = str(needed.asset), needed.partition
        if place in pinned:
            return pinned[place]
        found = states.get(place)
        return Input(
            asset=place[0],
            partition=needed.partition,
            materialization=found.materialization if found else None,
        )

    return {key.partition: tuple(given(needed) for needed in key.inputs) for key in step.slice}


def with_sources(inputs: Inputs, staged: Staged) -> Inputs:
    return {
        key: tuple(
            replace(item, snapshot=staged.sources.get(item.asset, item.snapshot)) for item in given
        )
        for key, given in inputs.items()
    }


def parts_of(asset: str, written: Written) -> list[KeyParts]:
    """The parts of a table that were written for each key, as the ledger notes them."""
    return [KeyParts(asset, key, parts) for key, parts in (written.parts or {}).items()]
