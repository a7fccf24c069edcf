"""Rules that ask for runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tranche.model.asset import AssetUri
from tranche.model.mapping import Mapper

Rerun: TypeAlias = Literal["refresh", "stale", "ignore"]
Catchup: TypeAlias = Literal["all", "latest", "none"]
Wait: TypeAlias = Literal["any", "all"] | int


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


Trigger: TypeAlias = OnAsset | OnSchedule
