"""Which keys of which scripts an event asks for."""

from __future__ import annotations

from dataclasses import dataclass

from tranche.errors import KeyRejected, MapperRejected, ResolutionError
from tranche.model.asset import AssetUri, BadAddress, parse_address
from tranche.model.event import Event
from tranche.model.mapped_keys import Unlisted
from tranche.model.partitioning import Dynamic
from tranche.model.script import Script
from tranche.planning.graph import Graph
from tranche.planning.links import Link, Links, SourceLink
from tranche.planning.resolve import payload_key
from tranche.planning.universe import in_order, inside


@dataclass(frozen=True, slots=True)
class Asked:
    """What an event means to one script that is triggered by its asset."""

    script: Script
    asset: AssetUri
    """As the script's `on` line names it."""
    keys: tuple[str | None, ...] = ()
    """The keys that should run; None is a whole table."""
    released: Unlisted | None = None
    """Keys that nobody can list: those of them that wait may wait no longer, and none is begun."""
    rejected: str | None = None
    """Why the script can make nothing of it."""


class Consumers:
    """The scripts of a project by the assets that trigger them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.links = Links(graph)
        self._by_asset: dict[AssetUri, list[Link | SourceLink]] = {}
        self._unfit: dict[AssetUri, list[Asked]] = {}
        for script in graph.scripts.values():
            try:
                links: list[Link | SourceLink] = list(self.links.sources(script))
                links += self.links.of(script)
            except MapperRejected as error:
                for trigger in script.triggers_on():
                    asked = Asked(script, trigger.asset, rejected=str(error))
                    self._unfit.setdefault(graph.owner(trigger.asset), []).append(asked)
                continue
            for link in links:
                if link.trigger is not None:
                    self._by_asset.setdefault(graph.owner(link.asset), []).append(link)

    def asked_by(self, event: Event) -> list[Asked]:
        """What an event asks for. It never fails: what a script cannot take is said of the script.

        An event with a key asks for keys, one without for scripts without partitions. A dynamic key
        may also stand in its payload.
        """
        try:
            told = parse_address(event.asset)
        except BadAddress:
            return []
        asset = self.graph.owner(told)
        if event.run is not None and told != asset:
            # The run has also published what its script is known by, which says the same.
            return []
        links = self._by_asset.get(asset, ())
        return [*(_by(event, link) for link in links), *self._unfit.get(asset, ())]


def _by(event: Event, link: Link | SourceLink) -> Asked:
    script, key, rule = link.script, event.partition, link.script.partitioning
    if rule is None:
        takes = link.feeds_whole([key]) if key is not None else link.mapper is None
        return Asked(script, link.asset, (None,) if takes else ())
    if key is None and isinstance(rule, Dynamic) and event.payload is not None:
        try:
            key = rule.validate(payload_key(rule, event.payload))
        except (ResolutionError, KeyRejected) as error:
            return Asked(script, link.asset, rejected=f"{event.asset}: {error}")
    if key is None:
        # It has to be there, and now it is; for which key the script should run, nobody said.
        return Asked(script, link.asset, released=Unlisted())
    if link.mapping is None:
        return Asked(script, link.asset)
    try:
        fed = link.mapping.downstream(key)
    except KeyRejected as error:
        return Asked(script, link.asset, rejected=f"{event.asset} {key}: {error}")
    if isinstance(fed, Unlisted):
        return Asked(script, link.asset, released=fed)
    return Asked(script, link.asset, in_order(rule, (each for each in fed if inside(rule, each))))
