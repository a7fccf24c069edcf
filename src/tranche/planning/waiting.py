"""What keys still wait for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tranche.model.asset import AssetUri
from tranche.model.condition import AllOf, Asset, Condition, any_of, joined, lacking
from tranche.model.mapped_keys import Unlisted, among
from tranche.model.script import Script
from tranche.planning.graph import Graph
from tranche.planning.links import Link
from tranche.ports import PartitionReader

UNTIL = " (until "
"""What comes after something that is waited for, if it is so only until some time."""
_NAMED = 5
"""How many keys a sentence lists."""

_PAGE = 100
"""How many keys are looked at in turn for one that is there; the first one mostly is."""


class Arrivals:
    """Which upstream keys are there: the ledger has them, or this plan makes them."""

    def __init__(
        self, graph: Graph, state: PartitionReader, running: Mapping[str, Collection[str]]
    ) -> None:
        self.graph = graph
        self.state = state
        self.running = running
        """The keys of each script in the plan; none of one without partitions."""
        self._known: dict[tuple[str, str | None], bool] = {}
        self._made: dict[str, frozenset[str]] = {}

    def waiting(
        self, script: Script, asking: Mapping[str, Sequence[Link]], links: Iterable[Link]
    ) -> dict[str, str]:
        """The keys that must wait, each with what for, by the condition of their script.

        `asking` are the links that ask for each key, `links` all that the script has.
        """
        together = joined(script.annotations.condition)
        others = [link for link in links if link.trigger and str(link.asset) in together]
        concerned = {key: _unique([*some, *others]) for key, some in asking.items()}
        self._look_up(concerned)
        found: dict[str, str] = {}
        for key, some in asking.items():
            lacks = {str(link.asset): self.lacking(link, key) for link in concerned[key]}
            condition = _condition(script, some)
            asked = [str(link.asset) for link in some]
            missing = lacking(condition, asked, lacks) if condition is not None else []
            if missing:
                found[key] = f"it waits for {_listed(missing)}"
        return found

    def content(self, link: Link, key: str) -> bool:
        """Whether there is something upstream that a run for this key would be started by."""
        needed = link.needed(key)
        return bool(isinstance(needed, Unlisted) or needed) and not self.lacking(link, key)

    def lacking(self, link: Link, key: str) -> list[str]:
        """What is missing of a link, in words."""
        asset = link.asset
        whole = str(asset) if link.producer.partitioning is None else f"any key of {asset}"
        return [whole if each is None else f"{asset} {each}" for each in self.missing(link, key)]

    def missing(self, link: Link, key: str) -> Sequence[str | None]:
        """The upstream keys that are missing, if that is more than the link puts up with.

        None stands for an asset without keys, and for any of those that nobody can list.
        """
        if link.producer.partitioning is None:
            return () if self._whole_is_there(link) else (None,)
        needed = link.needed(key)
        if isinstance(needed, Unlisted):
            return () if self._any_is_there(link, needed) else (None,)
        missing = [each for each in needed if not self._is_there(link, each)]
        return missing if self._too_many(link, needed, missing) else ()

    def absent(self, link: Link, needed: Sequence[str]) -> list[str]:
        """Those of these upstream keys that are not there, however many the link puts up with."""
        owner = self._owner(link.asset)
        unknown = [each for each in needed if (owner, each) not in self._known]
        found = self.state.standing(owner, unknown) if unknown else {}
        for each in unknown:
            state = found.get(each)
            self._known[owner, each] = state is not None and state.materialization is not None
        return [each for each in needed if not self._is_there(link, each)]

    def any_of(self, link: Link) -> bool:
        """Whether there is anything of an upstream asset."""
        if link.producer.partitioning is None:
            return self._whole_is_there(link)
        return self._any_is_there(link, Unlisted())

    def look_up(self, link: Link, keys: Iterable[str]) -> None:
        """Asks for all that these keys need at once."""
        if link.producer.partitioning is None:
            return
        owner = self._owner(link.asset)
        running = self._running(link)
        wanted: dict[str, None] = {}
        for key in keys:
            needed = link.needed(key)
            if not isinstance(needed, Unlisted):
                wanted.update(dict.fromkeys(each for each in needed if each not in running))
        unknown = [each for each in wanted if (owner, each) not in self._known]
        found = self.state.standing(owner, unknown) if unknown else {}
        for each in unknown:
            state = found.get(each)
            self._known[owner, each] = state is not None and state.materialization is not None

    def _look_up(self, links: Mapping[str, Sequence[Link]]) -> None:
        keys: dict[AssetUri, list[str]] = {}
        by_asset: dict[AssetUri, Link] = {}
        for key, asking in links.items():
            for link in asking:
                by_asset[link.asset] = link
                keys.setdefault(link.asset, []).append(key)
        for asset, link in by_asset.items():
            self.look_up(link, keys[asset])

    def _too_many(self, link: Link, needed: Sequence[str], missing: Sequence[str]) -> bool:
        there = len(needed) - len(missing)
        match link.wait:
            case "all":
                return bool(missing)
            case "any":
                return bool(missing) and not there
            case count:
                return there < (min(count, len(needed)) if count > 0 else len(needed) + count)

    def _is_there(self, link: Link, key: str) -> bool:
        if key in self._running(link):
            return True
        place = self._owner(link.asset), key
        if place not in self._known:
            found = self.state.partition(*place)
            self._known[place] = found is not None and found.materialization is not None
        return self._known[place]

    def _whole_is_there(self, link: Link) -> bool:
        if link.producer.name in self.running:
            return True
        place = self._owner(link.asset), None
        if place not in self._known:
            found = self.state.partition(*place)
            self._known[place] = found is not None and found.materialization is not None
        return self._known[place]

    def _any_is_there(self, link: Link, needed: Unlisted) -> bool:
        rule = link.producer.partitioning
        running = self._running(link)
        if rule is not None and any(among(rule, needed, each) for each in running):
            return True
        last = None
        while True:
            page = self.state.partitions(
                self._owner(link.asset),
                start=needed.since,
                end=needed.until,
                limit=_PAGE,
                after=last,
            )
            if any(each.materialization is not None for each in page):
                return True
            if len(page) < _PAGE:
                return False
            last = page[-1]

    def _running(self, link: Link) -> frozenset[str]:
        """The keys of what is upstream that this plan makes; once they are asked for, they stay."""
        name = link.producer.name
        if name not in self._made:
            self._made[name] = frozenset(self.running.get(name, ()))
        return self._made[name]

    def _owner(self, asset: AssetUri) -> str:
        return str(self.graph.owner(asset))


def _condition(script: Script, asking: Iterable[Link]) -> Condition | None:
    """The condition of a script in a plan, where what is only read hands keys down by itself too."""
    condition = script.annotations.condition
    read = [Asset(link.asset) for link in asking if link.trigger is None]
    if not read or isinstance(condition, AllOf):
        return condition
    return any_of([*read, condition] if condition is not None else read)


def _unique(links: Iterable[Link]) -> list[Link]:
    """One link for each asset."""
    return list({link.asset: link for link in links}.values())


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
