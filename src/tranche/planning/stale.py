"""Which keys were built of something else than there is now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from tranche.model.asset import parse_address
from tranche.model.digest import same_sets, set_id
from tranche.model.run import Input, Materialization, PartitionState
from tranche.model.script import Script
from tranche.planning.read_columns import ReadColumns, Versions
from tranche.ports import StoryReader

Key = TypeVar("Key", bound="str | None")


def stale_keys(
    script: Script, keys: Sequence[Key], state: StoryReader, reads: ReadColumns | None = None
) -> dict[Key, str]:
    """The keys that are stale, each with the reason.

    A key is stale if the script has changed since, or if one of the upstream keys that it was made
    of has other rows now. That an upstream was written again with the same rows does not matter, nor
    does what happened to its other keys, nor to assets whose `on` line says `on_rerun=ignore`; nor
    to columns that the script is known not to read, which `reads` tells.
    """
    standing = state.standing(str(script.asset), list(keys))
    known = [standing[key] for key in keys if key in standing]
    found = dict(_stale([(script, each) for each in known], state, reads))
    reasons = {
        each.partition: found[number] for number, each in enumerate(known) if number in found
    }
    return {key: reasons[key] for key in keys if key in reasons}


def stale_assets(
    standing: Sequence[tuple[Script, PartitionState]],
    state: StoryReader,
    reads: ReadColumns | None = None,
) -> frozenset[str]:
    """The assets of which one of these keys is stale, with few questions however many they are."""
    return frozenset(standing[number][1].asset for number, _ in _stale(standing, state, reads))


class Differences:
    """Tells whether rows differ in what a script reads of them."""

    def __init__(self, state: StoryReader, reads: ReadColumns | None) -> None:
        self.reads = reads
        self.versions = Versions(state)

    def between(
        self, script: Script, since: datetime, then: Materialization, now: Materialization
    ) -> bool:
        """Whether what a script made of rows would have to be made anew of those of now; it has
        read them since some time."""
        if then.digest == now.digest:
            return False
        same = same_sets(then.digests, now.digests)
        if not same or self.reads is None:
            return True
        read = self.reads.of(script, parse_address(now.asset), since, self.versions)
        return read is None or set_id(read) not in same


def _stale(
    standing: Sequence[tuple[Script, PartitionState]],
    state: StoryReader,
    reads: ReadColumns | None,
) -> Iterator[tuple[int, str]]:
    """The places of those that are stale, each with the reason."""
    ids: dict[str, int] = {}
    for place, (script, known) in enumerate(standing):
        if known.materialization is None:
            continue
        if known.fingerprint != script.fingerprint:
            yield place, "the script has changed"
        else:
            ids[known.materialization] = place
    entries = {ids[entry.id]: entry for entry in state.entries(list(ids))}
    inputs: dict[int, list[Input]] = {}
    for place, entry in entries.items():
        script = standing[place][0]
        ignored = {str(on.asset) for on in script.triggers_on() if on.on_rerun == "ignore"}
        inputs[place] = [
            given
            for given in entry.inputs
            if given.materialization is not None and given.asset not in ignored
        ]
    changes = _Changes(inputs, state, reads)
    for place, every in inputs.items():
        script, entry = standing[place][0], entries[place]
        changed = next((given for given in every if changes.changed(script, entry, given)), None)
        if changed is not None:
            which = "" if changed.partition is None else f" {changed.partition}"
            yield place, f"{changed.asset}{which} has other rows"


class _Changes:
    """What inputs were, beside what they are now."""

    def __init__(
        self,
        inputs: Mapping[int, Sequence[Input]],
        state: StoryReader,
        reads: ReadColumns | None,
    ) -> None:
        self.differences = Differences(state, reads)
        every = {given for each in inputs.values() for given in each}
        self.now: dict[tuple[str, str | None], PartitionState] = {}
        for asset in sorted({given.asset for given in every}):
            keys = sorted({g.partition for g in every if g.asset == asset}, key=str)
            self.now |= {(asset, key): at for key, at in state.standing(asset, keys).items()}
        moved = {
            given.materialization
            for given in every
            if given.materialization is not None and self.later(given) != given.materialization
        }
        self.entries = {entry.id: entry for entry in state.entries(sorted(moved))}
        if reads is not None:
            now = {self.later(given) for given in every if self.differs(given)}
            ids = {id for id in now if id is not None} - self.entries.keys()
            self.entries |= {entry.id: entry for entry in state.entries(sorted(ids))}

    def then(self, given: Input) -> Materialization | None:
        return self.entries.get(given.materialization or "")

    def later(self, given: Input) -> str | None:
        now = self.now.get((given.asset, given.partition))
        return now.materialization if now is not None else None

    def differs(self, given: Input) -> bool:
        """Whether an input has other rows, in whatever column."""
        now = self.now.get((given.asset, given.partition))
        if now is None or now.materialization == given.materialization:
            return False
        then = self.then(given)
        return (None if then is None else then.digest) != now.digest

    def changed(self, script: Script, entry: Materialization, given: Input) -> bool:
        """Whether an input has other rows in what the script reads of them."""
        if not self.differs(given):
            return False
        then, now = self.then(given), self.entries.get(self.later(given) or "")
        if then is None or now is None:
            return True
        return self.differences.between(script, entry.started_at, then, now)
