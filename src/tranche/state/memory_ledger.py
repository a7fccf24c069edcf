"""The ledger in memory: what the store in memory knows of keys."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime

from tranche.model.columns import SchemaVersion
from tranche.model.data_test import DataTestResult
from tranche.model.lineage import ScriptLineage
from tranche.model.rows import Rows
from tranche.model.run import (
    KeyParts,
    KeyTally,
    Materialization,
    Outcome,
    PartitionState,
)
from tranche.state import checks
from tranche.state.forms import violated


class MemoryLedger:
    """Materializations, the keys they moved, and the columns that assets had."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._log: dict[str, Materialization] = {}
        self._entered: set[tuple[str, str, str | None]] = set()
        """Attempt, asset and key of each entry: an attempt enters a key once."""
        self._samples: dict[str, dict[int, Rows]] = {}
        self._partitions: dict[tuple[str, str | None], PartitionState] = {}
        self._schemas: dict[str, list[SchemaVersion]] = {}
        self._lineages: dict[tuple[str, str], ScriptLineage] = {}
        self._parts: dict[tuple[str, str | None], set[str]] = {}
        """The parts that each key was the last to be written to."""

    def partition(self, asset: str, partition: str | None) -> PartitionState | None:
        with self._lock:
            key = checks.checked_asset(asset), checks.checked_key(partition)
            return self._partitions.get(key)

    def standing(
        self, asset: str, keys: Sequence[str | None]
    ) -> Mapping[str | None, PartitionState]:
        found = {key: self.partition(asset, key) for key in keys}
        return {key: state for key, state in found.items() if state is not None}

    def parts(self, asset: str, keys: Sequence[str | None]) -> Mapping[str | None, tuple[str, ...]]:
        asset = checks.checked_asset(asset)
        wanted = {checks.checked_key(key) for key in keys}
        with self._lock:
            return {
                key: tuple(sorted(self._parts[asset, key]))
                for key in wanted
                if self._parts.get((asset, key))
            }

    def sole_parts(self, asset: str, keys: Sequence[str | None]) -> frozenset[str]:
        own = {part for parts in self.parts(asset, keys).values() for part in parts}
        asset = checks.checked_asset(asset)
        with self._lock:
            others = (
                parts
                for (each, key), parts in self._parts.items()
                if each == asset and key not in keys
            )
            return frozenset(own.difference(*others))

    def _give_parts(self, written: Sequence[KeyParts]) -> None:
        """Nobody else has these parts any more."""
        for key in written:
            for (asset, _), theirs in self._parts.items():
                if asset == key.asset:
                    theirs -= set(key.parts)
        for key in written:
            self._parts[key.asset, key.partition] = set(key.parts)

    def provisional(self, asset: str, *, limit: int) -> Sequence[PartitionState]:
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        with self._lock:
            states = self._partitions.values()
            return tuple(s for s in states if s.asset == asset and s.provisional)[:limit]

    def statuses(
        self, asset: str, *, start: datetime, end: datetime, but: Outcome | None = None
    ) -> Mapping[str, Outcome]:
        return {
            key.partition: key.status
            for key in self._dated(asset, start, end)
            if key.partition is not None and key.status != but
        }

    def tallies(self, asset: str, *, start: datetime, end: datetime) -> Sequence[KeyTally]:
        found: dict[tuple[tuple[int, int], Outcome], list[PartitionState]] = {}
        for key in self._dated(asset, start, end):
            assert key.ordinal is not None
            month = key.ordinal.year, key.ordinal.month
            found.setdefault((month, key.status), []).append(key)
        return tuple(_tally(month, status, keys) for (month, status), keys in sorted(found.items()))

    def _dated(self, asset: str, start: datetime, end: datetime) -> list[PartitionState]:
        asset = checks.checked_asset(asset)
        since, until = checks.as_utc(start), checks.as_utc(end)
        with self._lock:
            states = [
                state
                for state in self._partitions.values()
                if state.asset == asset
                and state.partition is not None
                and state.ordinal is not None
                and since <= state.ordinal < until
            ]
        return sorted(states, key=_order)

    def partitions(
        self,
        asset: str,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int,
        after: PartitionState | None = None,
    ) -> Sequence[PartitionState]:
        """Keys without an ordinal come last, sorted as text; `start` and `end` leave them out."""
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        start, end = checks.optional_utc(start), checks.optional_utc(end)
        with self._lock:
            states = [state for state in self._partitions.values() if state.asset == asset]
        if start is not None:
            states = [state for state in states if state.ordinal and state.ordinal >= start]
        if end is not None:
            states = [state for state in states if state.ordinal and state.ordinal < end]
        if after is not None:
            states = [state for state in states if _order(state) > _order(after)]
        return tuple(sorted(states, key=_order)[:limit])

    def newest(self, asset: str, *, limit: int) -> Sequence[PartitionState]:
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        with self._lock:
            states = [state for state in self._partitions.values() if state.asset == asset]
        dated = sorted((s for s in states if s.ordinal is not None), key=_order, reverse=True)
        return tuple((dated or sorted(states, key=_order))[:limit])

    def outcomes(self, assets: Sequence[str]) -> dict[str, dict[str, int]]:
        counts: dict[str, Counter[str]] = {
            checks.checked_asset(asset): Counter() for asset in assets
        }
        with self._lock:
            for state in self._partitions.values():
                if state.asset in counts:
                    counts[state.asset][state.status] += 1
        return {asset: dict(count) for asset, count in counts.items()}

    def materialization(self, materialization: str) -> Materialization | None:
        with self._lock:
            return self._log.get(checks.checked_id(materialization, "materialization"))

    def entries(self, materializations: Sequence[str]) -> Sequence[Materialization]:
        found = (self.materialization(each) for each in materializations)
        return tuple(entry for entry in found if entry is not None)

    def materializations(
        self, asset: str, partition: str | None, *, limit: int
    ) -> Sequence[Materialization]:
        key = checks.checked_asset(asset), checks.checked_key(partition)
        limit = checks.checked_limit(limit)
        with self._lock:
            found = [entry for entry in self._log.values() if (entry.asset, entry.partition) == key]
        # The sort is stable, so reversing it puts the later of equal times first.
        return tuple(sorted(found, key=lambda entry: entry.finished_at)[::-1][:limit])

    def violations(self, materialization: str) -> Sequence[DataTestResult]:
        with self._lock:
            entry = self.materialization(materialization)
            if entry is None:
                return ()
            return violated(entry.tests, deepcopy(self._samples[entry.id]))

    def used(self, asset: str, *, since: datetime) -> Sequence[str]:
        asset, since = checks.checked_asset(asset), checks.as_utc(since)
        with self._lock:
            recent = [entry for entry in self._log.values() if entry.finished_at >= since]
        named = {(entry.asset, entry.snapshot) for entry in recent}
        named |= {(given.asset, given.snapshot) for entry in recent for given in entry.inputs}
        return tuple(sorted(snapshot for owner, snapshot in named if owner == asset and snapshot))

    def schemas(self, asset: str, *, limit: int) -> Sequence[SchemaVersion]:
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        with self._lock:
            return tuple(self._schemas.get(asset, ())[::-1][:limit])

    def traced(self, asset: str, fingerprint: str) -> ScriptLineage | None:
        with self._lock:
            return self._lineages.get((checks.checked_asset(asset), fingerprint))

    def _enter(self, entry: Materialization) -> None:
        """Appends an entry that the log does not have yet, and moves its key."""
        place = (entry.attempt, entry.asset, entry.partition)
        if entry.id in self._log or place in self._entered:
            return
        self._entered.add(place)
        self._log[entry.id] = checks.without_samples(entry)
        self._samples[entry.id] = {
            position: result.sample
            for position, result in enumerate(entry.tests)
            if result.sample is not None
        }
        self._move(entry)

    def _capture(self, captured: SchemaVersion) -> None:
        versions = self._schemas.setdefault(captured.asset, [])
        if not versions or versions[-1].columns != captured.columns:
            versions.append(replace(captured, version=len(versions) + 1))

    def _move(self, entry: Materialization) -> None:
        """Moves the latest state of the entry's key forward, never back."""
        key = (entry.asset, entry.partition)
        state = self._partitions.get(key)
        if state is None or entry.finished_at >= state.at:
            kept = state or PartitionState(
                asset=entry.asset,
                partition=entry.partition,
                ordinal=entry.ordinal,
                status=entry.status,
                run=entry.run,
                at=entry.finished_at,
            )
            state = replace(
                kept,
                ordinal=entry.ordinal,
                status=entry.status,
                run=entry.run,
                at=entry.finished_at,
                error=entry.error,
            )
        if entry.status == "succeeded" and self._is_latest_success(entry, state):
            state = replace(
                state,
                materialization=entry.id,
                rows=entry.rows,
                snapshot=entry.snapshot,
                digest=entry.digest,
                fingerprint=entry.fingerprint,
                provisional=entry.provisional,
            )
        self._partitions[key] = state

    def _is_latest_success(self, entry: Materialization, state: PartitionState) -> bool:
        if state.materialization is None:
            return True
        return entry.finished_at >= self._log[state.materialization].finished_at


def _order(state: PartitionState) -> tuple[bool, float | datetime, str]:
    """Those with an ordinal first; within each, code points sort as the databases' bytes do."""
    return (state.ordinal is None, state.ordinal or 0.0, state.partition or "")


def _tally(month: tuple[int, int], status: Outcome, keys: Sequence[PartitionState]) -> KeyTally:
    ordinals = [key.ordinal for key in keys if key.ordinal is not None]
    lengths = [len(key.partition or "") for key in keys]
    return KeyTally(
        month=month,
        status=status,
        keys=len(keys),
        first=min(ordinals),
        last=max(ordinals),
        shortest=min(lengths),
        longest=max(lengths),
    )
