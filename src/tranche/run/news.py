"""What a runner tells while it works, as values: they are drawn, passed on, or thrown away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tranche.model.data_test import DataTestResult
from tranche.model.plan import Plan, Step
from tranche.model.run import StepStatus
from tranche.run.reconcile import Recovered

if TYPE_CHECKING:
    from tranche.run.attempts import KeyOutcome

_NAMED = 3
"""How many missing keys a line names."""


@dataclass(frozen=True, slots=True)
class StepName:
    """Which step is meant: its asset, else its script, and its keys from the first to the last."""

    position: int
    label: str
    first: str | None = None
    last: str | None = None
    keys: int = 1


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run has begun."""

    run: str
    keys: int = 1
    """How many keys all of its steps have."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step is being tried."""

    step: StepName


@dataclass(frozen=True, slots=True)
class StepWaits:
    """Another run is writing the same slice."""

    step: StepName
    run: str


@dataclass(frozen=True, slots=True)
class StepRetried:
    """A try of a step has failed, and there will be another."""

    step: StepName
    error: str
    delay: float


@dataclass(frozen=True, slots=True)
class GoesOneByOne:
    """The keys of a slice cannot be handled together."""

    step: StepName
    reason: str


@dataclass(frozen=True, slots=True)
class KeysFinished:
    """Some keys of a slice of several have come to their end."""

    step: StepName
    keys: tuple[KeyOutcome, ...]


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A step has come to its end."""

    step: StepName
    status: StepStatus
    rows: int | None = None
    error: str | None = None
    tests: tuple[DataTestResult, ...] = ()
    keys: tuple[KeyOutcome, ...] = ()
    provisional: str | None = None
    """What it was built without, as words, if that makes it provisional."""


News: TypeAlias = (
    RunStarted
    | Recovered
    | StepStarted
    | StepWaits
    | StepRetried
    | GoesOneByOne
    | KeysFinished
    | StepFinished
)
Tell: TypeAlias = Callable[[News], None]


def nobody(_: News) -> None:
    """Who tells nobody."""


def named(step: Step) -> StepName:
    keys = step.keys
    return StepName(step.position, step.script.label, keys[0], keys[-1], len(keys))


def without(step: Step) -> str:
    """That a step is provisional, and what it runs without."""
    keys = [key for key in step.slice if key.provisional]
    some = f" ({len(keys):,} of {len(step.slice):,} keys)" if step.is_range else ""
    missing = dict.fromkeys(needed for key in keys for needed in key.without)
    names = [
        str(each.asset) if each.partition is None else f"{each.asset} {each.partition}"
        for each in missing
    ]
    if not names:
        return f"provisional{some}"
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"provisional{some}: without {', '.join(names[:_NAMED])}{more}"


def begun(run: str, plan: Plan) -> RunStarted:
    return RunStarted(run, sum(len(step.slice) for step in plan.steps), plan.warnings)
