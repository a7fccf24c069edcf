"""Which keys were built of something else than there is now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from tranche.model.run import Input, PartitionState
from tranche.model.script import Script
from tranche.ports import StoryReader

Key = TypeVar("Key", bound="str | None")


def stale_keys(script: Script, keys: Sequence[Key], state: StoryReader) -> dict[Key, str]:
    """The keys that are stale, each with the reason.

    A key is stale if the script has changed since, or if one of the upstream keys that it was made
    of has other rows now. That an upstream was written again with the same rows does not matter, nor
    does what happened to its other keys, nor to assets whose `on` line says `on_rerun=ignore`.
    """
    standing = state.standing(str(script.asset), list(keys))
    known = [standing[key] for key in keys if key in standing]
    found = dict(_stale([(script, each) for each in known], state))
    reasons = {
        each.partition: found[number] for number, each in enumerate(known) if number in found
    }
    return {key: reasons[key] for key in keys if key in reasons}


def stale_assets(
    standing: Sequence[tuple[Script, PartitionState]], state: StoryReader
) -> frozenset[str]:
    """The assets of which one of these keys is stale, with few questions however many they are."""
    return frozenset(standing[number][1].asset for number, _ in _stale(standing, state))


def _stale(
    standing: Sequence[tuple[Script, PartitionState]], state: StoryReader
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
    inputs: dict[int, list[Input]] = {}
    for entry in state.entries(list(ids)):
        script = standing[ids[entry.id]][0]
        ignored = {str(on.asset) for on in script.triggers_on() if on.on_rerun == "ignore"}
        inputs[ids[entry.id]] = [
            given
            for given in entry.inputs
            if given.materialization is not None and given.asset not in ignored
        ]
    changes = _Changes(inputs, state)
    for place, every in inputs.items():
        changed = next(filter(changes.changed, every), None)
        if changed is not None:
            which = "" if changed.partition is None else f" {changed.partition}"
            yield place, f"{changed.asset}{which} has other rows"


class _Changes:
    """What inputs were, beside what they are now."""

    def __init__(self, inputs: Mapping[int, Sequence[Input]], state: StoryReader) -> None:
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
        self.then = {entry.id: entry.digest for entry in state.entries(sorted(moved))}

    def later(self, given: Input) -> str | None:
        now = self.now.get((given.asset, given.partition))
        return now.materialization if now is not None else None

    def changed(self, given: Input) -> bool:
        now = self.now.get((given.asset, given.partition))
        if now is None or now.materialization == given.materialization:
            return False
        return self.then.get(given.materialization or "") != now.digest
