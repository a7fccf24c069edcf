"""What a person sees of steps that go on at once."""

from __future__ import annotations

import itertools
import time

import pytest

from tranche.cli.backfill_progress import BackfillProgress
from tranche.cli.output import Output
from tranche.cli.progress import RunProgress
from tranche.run.attempts import KeyOutcome
from tranche.run.news import KeysFinished, RunStarted, StepFinished, StepName, StepStarted


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


def test_a_reason_that_many_keys_share_is_told_of_a_few(capsys: pytest.CaptureFixture[str]) -> None:
    days = [f"2026-01-{day:02}" for day in range(1, 31)]
    step = StepName(0, "lake://main/a", None)

    def failed(day: str, error: str) -> KeyOutcome:
        return KeyOutcome(partition=day, status="failed", error=error)

    with BackfillProgress(Output()) as progress:
        missing = [failed(day, f"nothing is at {day}.json") for day in days[:29]]
        progress(KeysFinished(step, (*missing, failed(days[29], "id is there twice"))))
        told = " ".join(capsys.readouterr().err.split())
        for day in days[:3]:
            assert f"{day} failed: nothing is at {day}.json" in told
        assert told.count("nothing is at") == 3
        assert "2026-01-30 failed: id is there twice" in told
    (rest,) = capsys.readouterr().err.splitlines()
    assert rest.endswith("2026-01-08 and 21 more failed likewise, as 2026-01-01 did")


def test_steps_that_fail_one_by_one_share_a_reason_too(capsys: pytest.CaptureFixture[str]) -> None:
    with BackfillProgress(Output()) as progress:
        for day in range(1, 11):
            step = StepName(day, "job://a/b", f"2026-01-{day:02}")
            progress(StepStarted(step))
            progress(StepFinished(step, "failed", error=f"nothing is at 2026-01-{day:02}.json"))
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 4 and told[-1].endswith("2 more failed likewise, as 2026-01-01 did")


def test_a_log_tells_now_and_then_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(0.0, 7.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    days = [f"2026-01-{day:02}" for day in range(1, 11)]
    step = StepName(0, "lake://main/a", days[0], days[-1], 10)
    with BackfillProgress(Output()) as progress:
        progress(RunStarted("run", 10))
        progress(StepStarted(step))
        for day in days:
            progress(KeysFinished(step, (KeyOutcome(partition=day, status="succeeded"),)))
    told = capsys.readouterr().err.splitlines()
    assert told == [
        "lake://main/a 2026-01-01 … 2026-01-10: 10 keys",
        "3 of 10 keys",
        "6 of 10 keys",
        "9 of 10 keys",
    ]
