"""The real command line, as its users start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
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
    process: subprocess.Popen[str] | None = None
    """What runs the commands, if not each has a process of its own."""

    def tranche(self, *args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        if self.process is not None:
            return self.asked(self.process, args)
        return subprocess.run(
            [str(TRANCHE), *args],
            cwd=cwd or self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def warm(self, *, spark: bool = True) -> None:
        """From here on, commands share a process and its Spark."""
        self.process = subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).with_name("warm.py")),
                *([] if spark else ["--without-spark"]),
            ],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        if self.process is None:
            return
        try:
            self.process.communicate(timeout=60)
        finally:
            self.process.kill()

    def asked(
        self, process: subprocess.Popen[str], args: tuple[str, ...]
    ) -> subprocess.CompletedProcess[str]:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(args) + "\n")
        process.stdin.flush()
        code, out, err = json.loads(process.stdout.readline())
        return subprocess.CompletedProcess(args, code, out, err)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "COLUMNS": "200", **self.env}

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
def shell(tmp_path: Path) -> Iterator[Shell]:
    folder = tmp_path / "shop"
    folder.mkdir()
    shell = Shell(folder)
    yield shell
    shell.close()
