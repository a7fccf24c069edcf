"""The real command line, as its users start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

TRANCHE = Path(sys.executable).parent / "tranche"
QUICK = """\
[spark]
master = "local[2]"
[spark.conf]
# Short stories: what counts is how fast the JVM starts, not how fast it becomes.
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m"
"spark.sql.shuffle.partitions" = 2
"""


@dataclass
class Shell:
    """A project folder and the command in it."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    def tranche(self, *args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(TRANCHE), *args],
            cwd=cwd or self.folder,
            env={**os.environ, "COLUMNS": "200", **self.env},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def json(self, *args: str, code: int = 0) -> Any:
        done = self.tranche(*args, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    def quick(self, settings: str = "") -> None:
        """Settings with which Spark starts fast."""
        self.write("tranche.toml", settings + QUICK)

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "shop"
    folder.mkdir()
    return Shell(folder)
