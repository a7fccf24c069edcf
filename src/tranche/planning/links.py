"""How the keys of scripts hang together: what is upstream of each, and by which mapping."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tranche.errors import Fault, KeyRejected, MapperRejected, Place
from tranche.model.asset import AssetUri
from tranche.model.condition import AllOf, Asker, Asset, askers, joins, possible
from tranche.model.mapped import mapped
from tranche.model.mapped_keys import Keys, Mapping, Undeclared, Unlisted
from tranche.model.mapping import (
    All,
    AllBefore,
    AllowedKeys,
    FixedKey,
    Identity,
    Last,
    Mapper,
    Product,
    Rollup,
    Trailing,
)
from tranche.model.mapping_inferred import inferred, mapped_or_told
from tranche.model.partitioning import Dynamic, Partitioning, Static, TimePartitioning, time_of
from tranche.model.plan import InputKey, SliceKey
from tranche.model.script import Script
from tranche.model.trigger import OnAsset, Wait
from tranche.planning.graph import Graph

_MOST_INPUTS = 1_000
"""A key that needs more keys than that is noted as made of the whole."""


@dataclass(frozen=True, slots=True)
class Fed:
    """The keys of a script that upstream keys feed."""

    keys: tuple[str, ...] = ()
    """Those that can be listed, each once."""
    every: bool = False
    """Whether some feed keys that nobody can list, like every key there is."""
    rejected: tuple[KeyRejected, ...] = ()
    """Why upstream keys feed nothing that the script could have."""


@dataclass(frozen=True, slots=True)
class Link:
    """An asset that a script reads or waits for, and how their keys hang together.

    Without a mapper, one of the two has no partitions.
    """

    script: Script
    asset: AssetUri
    producer: Script
    mapper: Mapper | None = None
    mapping: Mapping | None = None
    trigger: OnAsset | None = None

    @property
    def wait(self) -> Wait:
        """How much of what a key needs must be there."""
        if self.trigger is not None and self.trigger.wait is not None:
            return self.trigger.wait
        return "all" if _needs_all(self.mapper) else "any"

    def fed(self, keys: Iterable[str]) -> Fed:
        """What upstream keys feed."""
        if self.mapping is None:
            return Fed()
        if self.same:
            return Fed(tuple(keys))
        found: dict[str, None] = {}
        every = False
        rejected: list[KeyRejected] = []
        for key in keys:
            try:
                fed = self.mapping.downstream(key)
            except KeyRejected as error:
                rejected.append(error)
                continue
            if isinstance(fed, Unlisted):
                every = True
            else:
                found.update(dict.fromkeys(fed))
        return Fed(tuple(found), every, tuple(rejected))

    def feeds_whole(self, keys: Iterable[str]) -> bool:
        """Whether upstream keys matter to a script without partitions."""
        return not isinstance(self.mapper, FixedKey) or self.mapper.key in keys

    def needed(self, key: str) -> Keys:
        """The upstream keys that a key needs; of an asset without partitions there are none."""
        return () if self.mapping is None else self.mapping.upstream(key)

    def inputs(self, key: str | None) -> Sequence[str | None]:
        """What to note as read: the whole, if it has no keys, too many or nobody can list them."""
        if self.mapping is None or key is None:
            return (self.mapper.key,) if isinstance(self.mapper, FixedKey) else (None,)
        if self.same:
            return (key,)
        found = self.mapping.upstream(key)
        return (None,) if isinstance(found, Unlisted) or len(found) > _MOST_INPUTS else found

    @property
    def same(self) -> bool:
        """Whether a key is made of the key of the same name, whatever it is."""
        up, down = self.producer.partitioning, self.script.partitioning
        return isinstance(self.mapper, Identity) and (
            up == down
            if not isinstance(up, TimePartitioning) or not isinstance(down, TimePartitioning)
            else (up.kind, up.pattern, up.tz) == (down.kind, down.pattern, down.tz)
        )


@dataclass(frozen=True, slots=True)
class SourceLink:
    """An asset that no script makes, and what a key that somebody names of it means to a script."""

    script: Script
    asset: AssetUri
    trigger: OnAsset
    mapper: Mapper | None = None
    mapping: Mapping | None = None

    def feeds_whole(self, keys: Iterable[str]) -> bool:
        """Whether its keys matter to a script without partitions."""
        if isinstance(self.mapper, FixedKey):
            return self.mapper.key in keys
        return self.mapper is not None


class Links:
    """The links of each script of a graph, worked out when they are first asked for."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._known: dict[str, tuple[Link, ...]] = {}
        self._sources: dict[str, tuple[SourceLink, ...]] = {}

    def of(self, script: Script) -> tuple[Link, ...]:
        """Its links; MapperRejected if the keys of an `on` line do not hang together with its own."""
        if script.name not in self._known:
            self._known[script.name] = tuple(_links(self.graph, script))
        return self._known[script.name]

    def sources(self, script: Script) -> tuple[SourceLink, ...]:
        """Its links to what no script makes, of those that its `on` lines name."""
        if script.name not in self._sources:
            self._sources[script.name] = tuple(
                _from_source(script, trigger)
                for trigger in script.triggers_on()
                if self.graph.producer(trigger.asset) is None
            )
        return self._sources[script.name]

    def from_(self, script: Script, names: Iterable[str]) -> tuple[Link, ...]:
        """Its links to the scripts of these names."""
        chosen = frozenset(names)
        return tuple(link for link in self.of(script) if link.producer.name in chosen)

    def slice_key(self, script: Script, key: str | None) -> SliceKey:
        """A key of a script with the upstream keys that it reads or waits for, each once."""
        links = {link.asset: link for link in self.of(script)}
        read = [asset for asset in script.reads if asset not in script.writes]
        awaited = [asset for asset in links if asset not in read]
        rule = script.partitioning
        # What a function gets all keys of, it is made of as a whole, whichever key asked for it.
        wholes = script.code.wholes if script.code is not None else frozenset()
        keyed = {asset: link for asset, link in links.items() if asset not in wholes}
        return SliceKey(
            partition=key,
            ordinal=rule.ordinal(key) if rule is not None and key is not None else None,
            inputs=self._inputs(read, keyed, key),
            awaits=self._inputs(awaited, links, key),
        )

    def _inputs(
        self, assets: Iterable[AssetUri], links: dict[AssetUri, Link], key: str | None
    ) -> tuple[InputKey, ...]:
        return tuple(
            dict.fromkeys(
                InputKey(self.graph.owner(asset), each)
                for asset in assets
                for each in (links[asset].inputs(key) if asset in links else (None,))
            )
        )


def mapping_faults(graph: Graph) -> Iterable[Fault]:
    """`on` lines whose keys do not hang together with those of the script."""
    for script in graph.scripts.values():
        sound = True
        for trigger in script.triggers_on():
            producer = graph.producer(trigger.asset)
            try:
                if producer is None:
                    _from_source(script, trigger)
                elif producer.name != script.name:
                    _linked(script, trigger.asset, producer, trigger)
            except MapperRejected as error:
                sound = False
                what = f"{trigger.asset}: {error.what}"
                yield Fault(Place(script.path, trigger.line), what, error.remedy or "")
        if sound:
            yield from _never_meet(graph, script)


def _links(graph: Graph, script: Script) -> Iterable[Link]:
    triggers = {trigger.asset: trigger for trigger in script.triggers_on()}
    for asset in dict.fromkeys((*triggers, *script.reads)):
        producer = graph.producer(asset)
        if producer is None or producer.name == script.name or asset in script.writes:
            continue
        trigger = triggers.get(asset)
        try:
            yield _linked(script, asset, producer, trigger)
        except MapperRejected:
            # What is only read need not hang together: it is read as a whole then.
            if trigger is not None:
                raise


def _linked(script: Script, asset: AssetUri, producer: Script, trigger: OnAsset | None) -> Link:
    up, down = producer.partitioning, script.partitioning
    mapper = trigger.mapper if trigger is not None else None
    if up is None:
        if mapper is not None and not isinstance(mapper, All | Last):
            raise MapperRejected(
                f"map={mapper} maps keys, and {asset} has no partitions", "leave map= out"
            )
        return Link(script, asset, producer, trigger=trigger)
    if down is None:
        if trigger is not None and not isinstance(mapper, All | Last | FixedKey):
            raise MapperRejected(
                f"{script.label} has no partitions and {asset} has",
                f"write 'on {asset} map=all' to rebuild it from all of them, or map=last or"
                " map=fixed(…) for one of them",
            )
        if isinstance(mapper, FixedKey):
            mapped(mapper, up, up)
        return Link(script, asset, producer, mapper, trigger=trigger)
    _check_zone(script, up, down)
    chosen = inferred(up, down) if mapper is None else mapper
    return Link(script, asset, producer, chosen, mapped_or_told(chosen, up, down), trigger)


def _check_zone(script: Script, up: Partitioning, down: Partitioning) -> None:
    """Keys that nobody declared are in UTC, which is not what someone with another zone means."""
    one, other = time_of(up), time_of(down)
    declared = "partitioned" in dict(script.annotations.lines)
    if not declared and one is not None and other is not None and one.tz != other.tz:
        raise MapperRejected(
            f"its keys are in {one.tz}, and those of {script.label} would be in {other.tz}",
            f"""add the line 'partitioned {other.kind} tz="{one.tz}"'""",
        )


def _never_meet(graph: Graph, script: Script) -> Iterable[Fault]:
    """A script that waits for assets together which have no key in common."""
    condition = script.annotations.condition
    links: dict[Asker, Link] = {
        Asset(link.asset): link
        for link in (_links(graph, script) if joins(condition) else ())
        if link.trigger and link.mapping
    }
    keys = _listed_keys(script.partitioning, links.values())
    if keys is None:
        return
    hopeless: list[AllOf] = []
    for join in joins(condition):
        if any(_meet(join, key, links) for key in keys):
            continue
        hopeless.append(join)
        if any(inner in hopeless for inner in joins(join) if inner is not join):
            # It has been said of a part of it.
            continue
        assets = " and ".join(each.name for each in askers(join) if each in links)
        apart = "leave the 'trigger' line out" if join is condition else "join them by |"
        yield Fault(
            Place(script.path, script.annotations.line("trigger")),
            f"it waits for {assets} together, and they feed no key in common",
            f"{apart}, or change the mappers",
        )


def _listed_keys(rule: Partitioning | None, links: Iterable[Link]) -> Iterable[str] | None:
    """The keys that a script can have, if somebody lists them: its partitioning, or its mappers."""
    match rule:
        case Static(values=keys):
            return keys
        case Dynamic() if len(lists := [mapper.keys for mapper in _lists(links)]) > 1:
            return dict.fromkeys(key for each in lists for key in each)
        case _:
            return None


def _meet(join: AllOf, key: str, links: dict[Asker, Link]) -> bool:
    """Whether there may be something for a key of all that an AND names."""
    return possible(join, lambda each: each not in links or _listed(links[each].needed(key)))


def _lists(links: Iterable[Link]) -> Iterable[AllowedKeys]:
    return (link.mapper for link in links if isinstance(link.mapper, AllowedKeys))


def _listed(keys: Keys) -> bool:
    return isinstance(keys, Unlisted) or bool(keys)


def _from_source(script: Script, trigger: OnAsset) -> SourceLink:
    """Nobody here makes it: its events may bring any key, or none."""
    mapper, rule = trigger.mapper, script.partitioning
    if rule is not None:
        chosen = mapper if mapper is not None else inferred(Undeclared(), rule)
        mapping = mapped_or_told(chosen, Undeclared(), rule)
        return SourceLink(script, trigger.asset, trigger, chosen, mapping)
    if mapper is not None and not isinstance(mapper, All | Last | FixedKey):
        raise MapperRejected(
            f"map={mapper} makes keys, and {script.label} has no partitions",
            "add a partitioned line, or leave map= out",
        )
    return SourceLink(script, trigger.asset, trigger, mapper)


def _needs_all(mapper: Mapper | None) -> bool:
    match mapper:
        case Rollup() | Trailing() | AllBefore():
            return True
        case Product():
            return any(isinstance(each, All) or _needs_all(each) for each in mapper.mappers)
        case _:
            return False
