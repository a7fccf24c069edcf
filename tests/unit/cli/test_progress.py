"""What a person sees of steps that go on at once."""

from __future__ import annotations

import time

import pytest

from tranche.cli.output import Output
from tranche.cli.progress import RunProgress
from tranche.run.news import StepFinished, StepName, StepStarted


def test_each_step_has_its_own_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 10.0, 12.0, 15.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    first, second = StepName(0, "job://a/b", "2026-01-01"), StepName(1, "job://a/b", "2026-01-02")
    progress = RunProgress(Output())
    progress(StepStarted(first))
    progress(StepStarted(second))
    # Each look at the clock of a step that ends comes with one for a step that nobody saw begin.
    monkeypatch.setattr(time, "monotonic", lambda: 15.0)
    progress(StepFinished(second, "succeeded"))
    progress(StepFinished(first, "succeeded"))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-2:] for line in lines] == [["5.0", "s"], ["15.0", "s"]]
