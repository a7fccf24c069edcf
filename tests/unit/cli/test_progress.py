"""What a person sees of steps that go on at once."""

from __future__ import annotations

import time

import pytest

from tranche.cli.backfill_progress import BackfillProgress
from tranche.cli.output import Output
from tranche.cli.progress import RunProgress
from tranche.run.attempts import KeyOutcome
from tranche.run.news import KeysFinished, StepFinished, StepName, StepStarted


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


def test_a_reason_that_keys_share_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    days = [f"2026-01-{day:02}" for day in range(1, 31)]
    step = StepName(0, "lake://main/a", None)
    progress = BackfillProgress(Output())

    def failed(day: str, error: str) -> KeyOutcome:
        return KeyOutcome(partition=day, status="failed", error=error)

    missing = [failed(day, "no orders, make them") for day in days[:28]]
    progress(KeysFinished(step, (*missing, failed(days[28], "id is there twice"))))
    progress(KeysFinished(step, (failed(days[29], "no orders, make them"),)))
    told = " ".join(capsys.readouterr().err.split())
    assert told.count("no orders") == 1
    assert "2026-01-04, 2026-01-05 and 23 more failed: no orders, make them" in told
    assert "2026-01-29 failed: id is there twice" in told
    assert "2026-01-30 failed for the same reason as 2026-01-01" in told
