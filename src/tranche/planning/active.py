"""What others are at: keys that a running backfill or another run has."""

from __future__ import annotations

from collections.abc import Iterator

from tranche.model.backfill import Backfill
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


def active_keys(asset: str, state: StateReader) -> dict[str | None, str]:
    """The keys of an asset that somebody is at, each with who that is; None stands for all."""
    gone = {run.id for run in state.abandoned()}
    found: dict[str | None, str] = {
        claim.partition: f"run {claim.run}"
        for claim in state.claims(asset, limit=_MOST)
        if claim.run not in gone
    }
    for backfill in running_backfills(asset, state):
        found |= dict.fromkeys(backfill.keys, f"backfill {backfill.id}")
    return found
