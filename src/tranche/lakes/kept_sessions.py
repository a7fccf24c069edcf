"""Sessions that are left on a server of Spark Connect for the next command.

Their catalogs are open already, which saves time. And Spark never closes catalogs: a server on which
every command opened new ones would run out of connections one day.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

_LONGEST = 30 * 60
"""For how many seconds a session is kept; servers end those that nobody uses for an hour."""


class KeptSessions:
    """The ids of sessions that nobody has, in a file that only its user may read."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock

    def take(self, kind: str) -> str | None:
        """The one that was used last; nobody else can have it then."""
        found: str | None = None
        with suppress(OSError), self._locked():
            known = self._read()
            if known.get(kind):
                found = known[kind].pop()[0]
                self._write(known)
        return found

    def keep(self, kind: str, ids: Iterable[str]) -> bool:
        """Whether somebody will find them."""
        try:
            with self._locked():
                known = self._read()
                now = self._clock()
                known[kind] = [*known.get(kind, []), *([id_, now] for id_ in ids)]
                self._write(known)
        except OSError:
            return False
        return True

    def _locked(self) -> FileLock:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(self._file.with_suffix(".lock"), timeout=10)

    def _read(self) -> dict[str, list[Any]]:
        oldest = self._clock() - _LONGEST
        try:
            known = json.loads(self._file.read_text())
            return {
                kind: [[id_, at] for id_, at in entries if at > oldest]
                for kind, entries in known.items()
            }
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _write(self, known: Mapping[str, list[Any]]) -> None:
        handle, path = tempfile.mkstemp(dir=self._file.parent, prefix="sessions-")
        with os.fdopen(handle, "w") as file:
            json.dump({kind: entries for kind, entries in known.items() if entries}, file)
        os.replace(path, self._file)


def kind_of(url: str, user: str, conf: Mapping[str, str]) -> str:
    """Stands for all that makes one session as good as another; nothing can be told from it."""
    text = json.dumps([url, user, sorted(conf.items())])
    return hashlib.sha256(text.encode()).hexdigest()
