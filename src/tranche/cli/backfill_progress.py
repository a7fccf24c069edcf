"""What a person sees while a backfill works."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tranche.cli.output import Output, counted, harmless, shown
from tranche.cli.progress import RunProgress, named
from tranche.planning.key_verdict import listed
from tranche.run.news import KeysFinished, News, RunStarted, StepFinished, StepStarted

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


_TOLD = 3
"""How many keys are told of at once that fail for one reason; the others are named at the end."""
_EVERY = 20.0
"""How many seconds go by between two lines that tell how far it is."""


class BackfillProgress(RunProgress):
    """A bar of keys on a terminal, a line now and then elsewhere; what went wrong anywhere."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._failed = 0
        self._ended = 0
        self._total: int | None = None
        self._told_at = time.monotonic()
        self._reasons: dict[tuple[str, str], list[str]] = {}
        """The keys of an asset that failed for each reason."""
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> BackfillProgress:
        if self._output.notes.is_terminal:
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                SpinnerColumn,
                TextColumn,
                TimeRemainingColumn,
            )

            self._bar = Progress(
                SpinnerColumn(),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[failed]}"),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                TextColumn("{task.description}", markup=False),
                console=self._output.notes,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=None, failed="", rate="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        self._tell_rest()

    def say(self, text: str) -> None:
        """The bar has a spinner of its own."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=harmless(text))

    def __call__(self, news: News) -> None:
        match news:
            case RunStarted():
                super().__call__(news)
                self._total = news.keys
                if self._bar is not None and self._task is not None:
                    self._bar.update(self._task, total=news.keys)
            case StepStarted(step):
                if self._bar is None and step.keys > 1:
                    self._output.note(f"{named(step)}: {counted(step.keys, 'key')}")
                self.say(named(step))
            case KeysFinished():
                self._keys_finished(news)
            case StepFinished():
                self._step_finished(news)
            case _:
                super().__call__(news)

    def _keys_finished(self, news: KeysFinished) -> None:
        for outcome in news.keys:
            if outcome.status == "failed":
                self._failed += 1
                self._tell(news.step.label, outcome.partition, outcome.error or "")
        self._advance(len(news.keys))

    def _log(self) -> None:
        """How far it is, where no bar shows it."""
        now = time.monotonic()
        if now - self._told_at < _EVERY:
            return
        self._told_at = now
        of = "" if self._total is None else f" of {self._total:,}"
        failed = f", {self._failed:,} failed" if self._failed else ""
        self._output.note(f"{self._ended:,}{of} keys{failed}")

    def _tell(self, label: str, partition: str | None, error: str) -> None:
        """Why a key failed, unless some were told of that failed likewise."""
        key = "" if partition is None else shown(partition)
        reason = error.replace(key, "{partition}") if key else error
        keys = self._reasons.setdefault((label, reason), [])
        keys.append(key)
        if len(keys) <= _TOLD:
            self._output.warn(f"{label} {key}".rstrip() + f" failed: {error}")

    def _tell_rest(self) -> None:
        for (label, _), keys in self._reasons.items():
            rest = keys[_TOLD:]
            if rest:
                self._output.warn(f"{label} {listed(rest)} failed likewise, as {keys[0]} did")
        self._reasons.clear()

    def _step_finished(self, news: StepFinished) -> None:
        if news.keys:
            # Those that were tried have been told of one by one.
            untold = [k for k in news.keys if k.status in ("skipped", "cancelled")]
            self._advance(len(untold))
            return
        if news.status == "failed":
            self._failed += 1
            self._tell(news.step.label, news.step.first, news.error or "")
        self._advance(1)

    def _advance(self, number: int) -> None:
        self._ended += number
        if self._bar is None or self._task is None:
            self._log()
            return
        failed = f"[red]{self._failed} failed[/red]" if self._failed else ""
        speed = self._bar.tasks[0].speed
        rate = f"{speed:.1f} keys/s" if speed else ""
        self._bar.update(self._task, advance=number, failed=failed, rate=rate)
