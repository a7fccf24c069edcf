"""What a run would do: ordered steps, nothing executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from tranche.model.asset import AssetUri
from tranche.model.run import Input
from tranche.model.script import Script

Verdict: TypeAlias = Literal["run", "skip", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What somebody asks for. The fire time is fixed here and is the run's only clock."""

    target: str
    fire_time: datetime
    partition: str | None = None
    payload: Any = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    only: bool = False
    exact: bool = False
    """Whether just one key runs, without lookback."""
    scheduled: bool = False
    """Whether the fire time is one that somebody meant, not the moment when it was asked."""


@dataclass(frozen=True, slots=True)
class InputKey:
    """An upstream asset and the key of it that a step reads; None is the asset as a whole."""

    asset: AssetUri
    partition: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceKey:
    """A key of a slice and what it is made of; the key of a whole table is None."""

    partition: str | None = None
    ordinal: datetime | None = None
    inputs: tuple[InputKey, ...] = ()
    awaits: tuple[InputKey, ...] = ()
    """What it waits for and does not read."""
    provisional: bool = False
    """Whether it runs without something that a link with a deadline waits for."""
    without: tuple[InputKey, ...] = ()
    """What that is, as far as it is known."""


_WHOLE = (SliceKey(),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One asset and one slice of it."""

    position: int
    script: Script
    slice: tuple[SliceKey, ...] = _WHOLE
    """The keys that it handles together, in their order; most steps have one."""
    needs: tuple[int, ...] = ()
    """Positions of the steps that must succeed first."""
    arguments: tuple[tuple[str, str | None], ...] = ()
    fields: tuple[tuple[str, Any], ...] = ()
    """What the payload has for parameters of its function."""
    pinned: tuple[Input, ...] = ()
    """What it reads as an earlier run did, not as it is when the step starts."""
    pinned_at: datetime | None = None
    """When that run read it."""
    restores: str | None = None
    """The snapshot that its asset goes back to; the script does not run then."""
    copies: AssetUri | None = None
    """The table that its asset becomes a copy of; the script does not run then."""
    verdict: Verdict = "run"
    reason: str | None = None
    """Why it is skipped, or why it cannot work."""
    follows: bool = False
    """Whether it runs because of what is upstream of it, and not because somebody named it."""
    is_read: bool = True
    """Whether another script reads what it makes, as far as is known."""

    @property
    def keys(self) -> tuple[str | None, ...]:
        return tuple(key.partition for key in self.slice)

    @property
    def is_range(self) -> bool:
        """Whether it handles several keys."""
        return len(self.slice) > 1

    @property
    def partition(self) -> str | None:
        """Its key, if it has just one."""
        return None if self.is_range else self.slice[0].partition

    @property
    def ordinal(self) -> datetime | None:
        return None if self.is_range else self.slice[0].ordinal

    @property
    def inputs(self) -> tuple[InputKey, ...]:
        """What all of its keys read, each once."""
        return tuple(dict.fromkeys(needed for key in self.slice for needed in key.inputs))

    @property
    def provisional(self) -> bool:
        """Whether one of its keys is."""
        return any(key.provisional for key in self.slice)

    @property
    def is_of_table(self) -> bool:
        """Whether it is about the table as a whole, and not about what the script makes."""
        return self.restores is not None or self.copies is not None

    @property
    def strategy(self) -> str | None:
        if self.restores is not None:
            return "rollback"
        if self.copies is not None:
            return "copy"
        made = self.script.annotations.materialize
        return made.strategy.name if made else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps of a run in the order in which they run."""

    request: Request
    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()
    made_at: datetime | None = None
    """When it was made, as far as that is known."""
    scripts: tuple[Script, ...] = ()
    """All scripts of the project, some of which read what the steps make."""
