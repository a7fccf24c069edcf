"""What a person sees while a run works."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tranche.cli.output import STATUS_STYLE, Output, counted, harmless, shown
from tranche.run.news import (
    GoesOneByOne,
    News,
    RunStarted,
    StepFinished,
    StepName,
    StepRetried,
    StepStarted,
    StepWaits,
)
from tranche.run.reconcile import Recovered

if TYPE_CHECKING:
    from rich.status import Status

_TEST_SIGN = {"passed": "✓", "warned": "!", "failed": "✗"}
_SIGN = {"succeeded": "✓", "failed": "✗", "skipped": "–", "cancelled": "–"}


class RunProgress:
    """One line per step when it ends, and a spinner with the step at hand on a terminal."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._spinner: Status | None = None
        self._began: dict[StepName, float] = {}
        """The steps at hand, each with when it began."""

    def __call__(self, news: News) -> None:
        match news:
            case RunStarted():
                for warning in news.warnings:
                    self._output.warn(warning)
            case Recovered():
                self._recovered(news)
            case StepStarted(step):
                self._began[step] = time.monotonic()
                self.say(named(step))
            case StepWaits(step, run):
                self._warn(f"{named(step)}: waiting for the run {shown(run)}, which writes it")
                self.say(f"{named(step)} (waiting)")
            case StepRetried(step, error, delay):
                when = f" in {delay:g} s" if delay else ""
                self._warn(f"{named(step)}: {error}; trying again{when}")
                self.say(named(step))
            case GoesOneByOne(step, reason):
                self._warn(f"{named(step)} goes key by key: {reason}")
            case StepFinished():
                self.quiet()
                self._finished(news, self._began.pop(news.step, time.monotonic()))
                if self._began:
                    # Keys of a task run at once.
                    self.say(named(next(reversed(self._began))))

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

    def _warn(self, text: str) -> None:
        self.quiet()
        self._output.warn(text)

    def _recovered(self, run: Recovered) -> None:
        found = f"; it had published {', '.join(run.published)}" if run.published else ""
        self._output.warn(
            f"the run {shown(run.run)} had been cut off, and is now recorded as {run.status}{found}"
        )

    def _finished(self, news: StepFinished, began: float) -> None:
        text = f"{_SIGN[news.status]} {named(news.step)}"
        if news.status == "succeeded":
            rows = "" if news.rows is None else f"  {counted(news.rows, 'row')}"
            text += f"{rows}  {time.monotonic() - began:.1f} s"
        elif news.error is not None:
            text += f"  {news.status}: {news.error}"
        text += "".join(
            f"\n    {_TEST_SIGN[test.status]} {test.test}"
            + ("" if test.status == "passed" else f": {counted(test.violations, 'row')}")
            for test in news.tests
        )
        text += "".join(
            f"\n    {_SIGN[key.status]} {shown(key.partition or '')}  {key.status}: {key.error}"
            for key in news.keys
            if key.status in ("failed", "skipped")
        )
        if news.provisional is not None:
            text += f"\n    {news.provisional}"
        style = STATUS_STYLE[news.status]
        if not self._output.json:
            self._output.line(text, style)
        elif self._output.notes.is_terminal:
            self._output.note(text, style)


def named(step: StepName) -> str:
    """The asset of a step with its key, or with the first and the last."""
    keys = [shown(key) for key in (step.first, step.last) if key is not None]
    if step.keys > 1:
        return f"{step.label} {' … '.join(keys)}"
    return " ".join([step.label, *keys[:1]])
