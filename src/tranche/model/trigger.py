"""Rules that ask for runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from tranche.errors import MapperRejected, TriggerRejected
from tranche.model.asset import AssetUri
from tranche.model.condition import Asker, Asset, Condition, OwnSchedule, any_of, askers
from tranche.model.mapping import Mapper, is_mapper
from tranche.model.partitioning_text import shown

Rerun: TypeAlias = Literal["refresh", "stale", "ignore"]
Catchup: TypeAlias = Literal["all", "latest", "none"]
Wait: TypeAlias = Literal["any", "all"] | int
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class OnAsset:
    """Runs when an asset has new data."""

    asset: AssetUri
    mapper: Mapper | None = None
    wait: Wait | None = None
    deadline: str | None = None
    on_rerun: Rerun | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class OnSchedule:
    """Runs by the clock: at a cron's fires, or at each period's start."""

    cron: str | None = None
    tz: str | None = None
    offset: int = 0
    catchup: Catchup | None = None
    line: int = 0

    def describe(self) -> str:
        """
        >>> OnSchedule(cron="0 6 * * *", tz="Europe/Berlin").describe(), OnSchedule().describe()
        ('schedule 0 6 * * * (Europe/Berlin)', 'schedule of its periods')
        """
        if self.cron is None:
            return "schedule of its periods"
        return f"schedule {self.cron}" + (f" ({self.tz})" if self.tz else "")


Trigger: TypeAlias = OnAsset | OnSchedule


def asker(trigger: Trigger) -> Asker:
    """What a condition calls a trigger."""
    return Asset(trigger.asset) if isinstance(trigger, OnAsset) else OwnSchedule()


@dataclass(frozen=True, slots=True, init=False)
class OnAssets:
    """Runs by a condition over assets, as Python says it: `on` lines and a `trigger` line in one.

    `map` and `wait` go by asset, or by its address. `default` is the mapper of assets that are not
    in `map`; a `wait` that is no mapping is that of all assets.

    >>> from tranche import Asset, StartOfDay
    >>> a, b = Asset("lake://main/a"), Asset("lake://main/b")
    >>> found = OnAssets(a & b, map={a: StartOfDay()}, wait="all")
    >>> print(found.condition, *(trigger.mapper for trigger in found.triggers))
    lake://main/a & lake://main/b start_of_day None
    """

    condition: Condition
    triggers: tuple[OnAsset, ...]

    def __init__(
        self,
        condition: Condition,
        *,
        map: Mapping[Asset | str, Mapper] | None = None,
        default: Mapper | None = None,
        wait: Wait | Mapping[Asset | str, Wait] | None = None,
    ) -> None:
        # Makes sure that it is one.
        condition = any_of((condition,))
        assets = [each for each in askers(condition) if isinstance(each, Asset)]
        if len(assets) < len(askers(condition)):
            raise TriggerRejected("OnAssets is over assets, and a schedule is none", "leave it out")
        mappers = _by_asset("map", map or {}, assets)
        waits = _by_asset("wait", wait, assets) if isinstance(wait, Mapping) else {}
        for mapper in (*mappers.values(), *([default] if default is not None else [])):
            _check_mapper(mapper)
        every = None if isinstance(wait, Mapping) else wait
        for given in (*waits.values(), *([every] if every is not None else [])):
            _check_wait(given)
        triggers = tuple(
            OnAsset(each.uri, mappers.get(each, default), waits.get(each, every)) for each in assets
        )
        object.__setattr__(self, "condition", condition)
        object.__setattr__(self, "triggers", triggers)


def _by_asset(what: str, given: Mapping[Asset | str, _T], assets: list[Asset]) -> dict[Asset, _T]:
    found: dict[Asset, _T] = {}
    for key, value in given.items():
        asset = key if isinstance(key, Asset) else Asset(key)
        if asset not in assets:
            raise TriggerRejected(
                f"{what} names {asset}, and the condition does not",
                f"its assets are {', '.join(map(str, assets))}",
            )
        if asset in found:
            raise TriggerRejected(f"{what} names {asset} twice", "name it once")
        found[asset] = value
    return found


def _check_mapper(mapper: object) -> None:
    if not is_mapper(mapper):
        name = mapper.__name__ if isinstance(mapper, type) else shown(mapper)
        raise MapperRejected(f"{name} is no mapper", "use one such as StartOfDay()")


def _check_wait(wait: object) -> None:
    if wait in ("any", "all"):
        return
    if not isinstance(wait, int) or isinstance(wait, bool) or wait == 0:
        raise TriggerRejected(
            f"wait={shown(wait)} says nothing", 'use "any", "all", or a number that is not 0'
        )
