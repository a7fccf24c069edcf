"""What a runner tells while it works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tranche.model.plan import Plan, Step
from tranche.model.run import Claim

if TYPE_CHECKING:
    from tranche.run.attempts import KeyOutcome, StepResult
    from tranche.run.reconcile import Recovered


class Progress:
    """Told of what happens; the base tells nobody."""

    def run_started(self, run: str, plan: Plan) -> None: ...

    def step_started(self, step: Step) -> None: ...

    def recovered(self, run: Recovered) -> None:
        """A run whose process had died was brought to its end."""

    def step_waits(self, step: Step, claim: Claim) -> None:
        """Another run is writing the same slice."""

    def step_retried(self, step: Step, error: str, delay: float) -> None: ...

    def keys_finished(self, step: Step, keys: Sequence[KeyOutcome]) -> None:
        """Some keys of a slice of several have come to their end."""

    def goes_one_by_one(self, step: Step, reason: str) -> None:
        """The keys of a slice cannot be handled together."""

    def step_finished(self, step: Step, result: StepResult) -> None: ...
