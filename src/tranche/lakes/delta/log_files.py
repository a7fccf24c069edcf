"""The log of a Delta table in a folder that this process can see.

`DESCRIBE HISTORY` tells the same, and starts a job of Spark for it. To read the file takes a
millisecond.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tranche.lakes.commit import Commit
from tranche.lakes.delta.commits import row_of, step_snapshot
from tranche.lakes.table import Snapshot

_NAME = re.compile(r"\d{20}\.json")
_LOOK = 20
"""How many commits others may have made since; if there are more, Spark is asked."""

Action: TypeAlias = Mapping[str, Any]
"""A line of the log."""


@dataclass(frozen=True, slots=True)
class Logged:
    """A commit as the log has it."""

    snapshot: Snapshot
    parts: tuple[Mapping[str, str | None], ...]
    """The values of the columns that divide the table, of each file that it added."""


def logged(folder: Path | None, commit: Commit) -> Logged | None:
    """The latest commit of an attempt or of another one of its step.

    None if it is not among the last few, or if this process does not see the folder.
    """
    if folder is None:
        return None
    log = folder / "_delta_log"
    try:
        names = sorted(path.name for path in log.iterdir() if _NAME.fullmatch(path.name))
        for name in reversed(names[-_LOOK:]):
            found = _read(log / name, commit)
            if found is not None:
                return found
    except (OSError, ValueError):
        # A file may go, or be written, while it is read.
        return None
    return None


def _read(file: Path, commit: Commit) -> Logged | None:
    snapshot: Snapshot | None = None
    parts: list[Mapping[str, str | None]] = []
    for action in _actions(file):
        if "commitInfo" in action:
            about = row_of(int(file.stem), action["commitInfo"], file.stat().st_mtime_ns // 10**6)
            snapshot = step_snapshot(about, commit, alone=False)
            if snapshot is None:
                return None
        elif "add" in action:
            parts.append(action["add"]["partitionValues"])
    return None if snapshot is None else Logged(snapshot, tuple(parts))


def _actions(file: Path) -> Iterator[Action]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
