from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from tranche.lakes.meanwhile import Meanwhile


def test_it_is_asked_at_once() -> None:
    asked, told = threading.Event(), threading.Event()

    def ask() -> str:
        asked.set()
        assert told.wait(10)
        return "yes"

    question = Meanwhile(ask)
    assert asked.wait(10)
    told.set()
    assert question.answer() == question.answer() == "yes"


def test_what_goes_wrong_is_told_with_the_answer() -> None:
    def ask() -> str:
        raise ValueError("no")

    question = Meanwhile(ask)
    with pytest.raises(ValueError, match="no"):
        question.answer()


def test_who_ends_does_not_wait_for_an_answer_that_nobody_wants() -> None:
    code = (
        "import time; from tranche.lakes.meanwhile import Meanwhile as M; M(lambda: time.sleep(60))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=20)
