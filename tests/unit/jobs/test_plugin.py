"""The plugin of pytest: there for whoever asks, and in nobody's way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TEST = """
import sys

def test_without():
    assert "pyspark" not in sys.modules
    assert "tranche.lakes" not in sys.modules
"""


def pytest_run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "tranche.pytest_plugin", *arguments]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", str(folder)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_test_that_asks_for_no_spark_waits_for_none(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    assert "1 passed" in pytest_run(tmp_path, "-q")


def test_the_fixture_is_listed(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    listed = pytest_run(tmp_path, "--fixtures", "-q")
    assert "tranche_spark [session scope]" in listed
