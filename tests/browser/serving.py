"""A server as users start it, in a process of its own, that a test may kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

_PATIENCE = 120.0


@dataclass
class Serving:
    """`tranche serve` in a folder, at the same port however often it is started."""

    folder: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "serve.log"

    def start(self) -> None:
        began = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tranche", "serve", "--json", "--port", str(self.port)],
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log.read_text()
            for line in self.log.read_bytes()[began:].decode().splitlines():
                if line.startswith("{") and (told := json.loads(line))["event"] == "serving":
                    self.port = int(told["url"].rpartition(":")[2])
                    return
            time.sleep(0.2)
        raise AssertionError(self.log.read_text())

    def kill(self) -> None:
        """Ends it as a machine does that loses its power."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            assert self.process.wait(60) == 0, self.log.read_text()
        finally:
            if self.process.poll() is None:
                self.kill()
