"""What a person sees while a run works."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tranche.cli.output import STATUS_STYLE, Output, counted, harmless, shown
from tranche.model.plan import Plan, Step
from tranche.model.run import Claim
from tranche.run.reconcile import Recovered
from tranche.run.runner import Progress, StepResult

if TYPE_CHECKING:
    from rich.status import Status

_NAMED = 3
"""How many missing keys a line names."""
_TEST_SIGN = {"passed": "✓", "warned": "!", "failed": "✗"}
_SIGN = {"succeeded": "✓", "failed": "✗", "skipped": "–", "cancelled": "–"}


class RunProgress(Progress):
    """One line per step when it ends, and a spinner with the step at hand on a terminal."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._spinner: Status | None = None
        self._began = 0.0

    def say(self, text: str) -> None:
        """Shows what is going on, on a terminal only."""
        self.quiet()
        if self._output.notes.is_terminal:
            from rich.text import Text

            self._spinner = self._output.notes.status(Text(harmless(text)))
            self._spinner.start()

    def quiet(self) -> None:
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def run_started(self, run: str, plan: Plan) -> None:
        for warning in plan.warnings:
            self._output.warn(warning)

    def step_started(self, step: Step) -> None:
        self._began = time.monotonic()
        self.say(named(step))

    def step_waits(self, step: Step, claim: Claim) -> None:
        self.quiet()
        self._output.warn(f"{named(step)}: waiting for the run {shown(claim.run)}, which writes it")
        self.say(f"{named(step)} (waiting)")

    def recovered(self, run: Recovered) -> None:
        found = f"; it had published {', '.join(run.published)}" if run.published else ""
        self._output.warn(
            f"the run {shown(run.run)} had been cut off, and is now recorded as {run.status}{found}"
        )

    def goes_one_by_one(self, step: Step, reason: str) -> None:
        self.quiet()
        self._output.warn(f"{named(step)} goes key by key: {reason}")

    def step_retried(self, step: Step, error: str, delay: float) -> None:
        self.quiet()
        self._output.warn(f"{named(step)}: {error}; trying again in {delay:g} s")
        self.say(named(step))

    def step_finished(self, step: Step, result: StepResult) -> None:
        self.quiet()
        record = result.record
        text = f"{_SIGN[record.status]} {named(step)}"
        if record.status == "succeeded":
            rows = "" if record.rows is None else f"  {counted(record.rows, 'row')}"
            text += f"{rows}  {time.monotonic() - self._began:.1f} s"
        elif record.error is not None:
            text += f"  {record.status}: {record.error}"
        text += "".join(
            f"\n    {_TEST_SIGN[test.status]} {test.test}"
            + ("" if test.status == "passed" else f": {counted(test.violations, 'row')}")
            for test in result.tests
        )
        text += "".join(
            f"\n    {_SIGN[key.status]} {shown(key.partition or '')}  {key.status}: {key.error}"
            for key in result.keys
            if key.status in ("failed", "skipped")
        )
        if result.provisional:
            text += f"\n    {without(step)}"
        style = STATUS_STYLE[record.status]
        if not self._output.json:
            self._output.line(text, style)
        elif self._output.notes.is_terminal:
            self._output.note(text, style)


def named(step: Step) -> str:
    """The asset of a step with its key, or with the first and the last."""
    keys = [shown(key) for key in (step.keys[0], step.keys[-1]) if key is not None]
    if step.is_range:
        return f"{step.script.label} {' … '.join(keys)}"
    return " ".join([step.script.label, *keys[:1]])


def without(step: Step) -> str:
    """That a step is provisional, and what it runs without."""
    keys = [key for key in step.slice if key.provisional]
    some = f" ({len(keys):,} of {len(step.slice):,} keys)" if step.is_range else ""
    missing = dict.fromkeys(needed for key in keys for needed in key.without)
    names = [
        str(each.asset) if each.partition is None else f"{each.asset} {shown(each.partition)}"
        for each in missing
    ]
    if not names:
        return f"provisional{some}"
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"provisional{some}: without {', '.join(names[:_NAMED])}{more}"
