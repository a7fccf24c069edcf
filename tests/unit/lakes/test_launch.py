"""What surrounds the start of Spark's own process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tranche.lakes.launch import beside_the_command_line, holding_interrupts


def test_settings_stand_in_a_file_of_their_owner_while_spark_starts(tmp_path: Path) -> None:
    with beside_the_command_line({"spark.x": "a=b\nc"}, tmp_path):
        (file,) = tmp_path.iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.read_text() == "spark.x=a\\u003db\\u000ac\n"
        assert str(file) in os.environ["PYSPARK_SUBMIT_ARGS"]
    assert list(tmp_path.iterdir()) == []
    assert "PYSPARK_SUBMIT_ARGS" not in os.environ


def test_arguments_that_were_there_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--verbose pyspark-shell")
    with beside_the_command_line({"spark.x": "1"}, tmp_path):
        assert os.environ["PYSPARK_SUBMIT_ARGS"].endswith(" --verbose pyspark-shell")
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == "--verbose pyspark-shell"


def test_an_interruption_is_noted_and_the_old_handler_comes_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with holding_interrupts() as held:
        signal.raise_signal(signal.SIGINT)
        assert held.asked
    assert signal.getsignal(signal.SIGINT) is before
