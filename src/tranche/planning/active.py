"""What others are at: keys that a running backfill or another run has."""

from __future__ import annotations

from collections.abc import Iterator

from tranche.model.backfill import Backfill
from tranche.model.run import PartitionState
from tranche.ports import StateReader, StoryReader

_MOST = 1_000_000


def alive(backfill: Backfill, state: StoryReader) -> bool:
    """Whether a backfill that has not ended is being worked on, or is about to be."""
    if backfill.status in ("waiting", "queued"):
        return True
    if backfill.run is None:
        return False
    run = state.run(backfill.run)
    if run is None or run.status != "running":
        # Between being taken and its run, and between its run and its end, its server has it.
        return backfill.server is not None and state.is_served(backfill.server)
    return all(left.id != backfill.run for left in state.abandoned())


def running_backfills(asset: str, state: StoryReader) -> Iterator[Backfill]:
    """The backfills of an asset that are being worked on, with their keys."""
    for each in state.backfills(limit=_MOST, unfinished=True):
        if each.asset == asset and alive(each, state):
            found = state.backfill(each.id)
            if found is not None:
                yield found


def is_to_come(standing: PartitionState | None, backfill: Backfill) -> bool:
    """Whether a key of a backfill has not been tried since somebody asked for it."""
    return standing is None or standing.at < backfill.created_at


def running_keys(asset: str, state: StateReader) -> frozenset[str | None]:
    """The keys of an asset that run or are about to; None stands for all.

    Those that a backfill has brought to an end stand as they ended, while it goes on with others.
    """
    found: set[str | None] = set(_claimed(asset, state))
    for backfill in running_backfills(asset, state):
        standing = state.standing(asset, backfill.keys)
        found |= {key for key in backfill.keys if is_to_come(standing.get(key), backfill)}
    return frozenset(found)


def active_keys(asset: str, state: StateReader) -> dict[str | None, str]:
    """The keys of an asset that somebody has, each with who that is; None stands for all."""
    found = _claimed(asset, state)
    for backfill in running_backfills(asset, state):
        found |= dict.fromkeys(backfill.keys, f"backfill {backfill.id}")
    return found


def _claimed(asset: str, state: StateReader) -> dict[str | None, str]:
    gone = {run.id for run in state.abandoned()}
    return {
        claim.partition: f"run {claim.run}"
        for claim in state.claims(asset, limit=_MOST)
        if claim.run not in gone
    }
