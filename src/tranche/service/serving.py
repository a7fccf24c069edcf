"""A server of a project: made, and found by commands of the same project."""

from __future__ import annotations

import hmac
import json
import os
import platform
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tranche.errors import Fault, TrancheError
from tranche.model.project import Project, Settings
from tranche.ports import Clock, Engine, StateStore
from tranche.projects.load import load_project
from tranche.run.runner import RunResult
from tranche.run.serving import Server, Started
from tranche.service.backfilling import Serves
from tranche.service.opening import now

_SERVERS = "servers"
_FORM = 1
"""Changes when commands of another version could not read what servers write."""


def server(
    project: Project,
    engine: Engine,
    store: StateStore,
    *,
    workers: int,
    started: Callable[[Started], None],
    ended: Callable[[Started, RunResult | TrancheError], None],
    troubled: Callable[[TrancheError], None],
    faulty: Callable[[Sequence[Fault]], None],
    clock: Clock = now,
    sleep: Callable[[float], None] = time.sleep,
) -> Server:
    """A server that runs what is ready."""
    from tranche.script.ranges.ranged import only_key_by_key
    from tranche.script.schedules import moved

    return Server(
        project=project,
        engine=engine,
        store=store,
        clock=clock,
        separates=only_key_by_key,
        moves=moved,
        sleep=sleep,
        workers=workers,
        works_off=Serves(engine, store, clock),
        started=started,
        ended=ended,
        troubled=troubled,
        faulty=faulty,
        reload=_Scripts(project).changed,
    )


@dataclass(frozen=True, slots=True)
class Announced:
    """A server that commands of its project may use."""

    server: str
    url: str
    secret: str = field(repr=False)
    """What a command shows to it. Whoever can read it could start a server as well."""
    settings: str
    """A hash of the settings that it was started with."""
    pid: int
    form: int = _FORM


@contextmanager
def announced(project: Project, server: str, url: str, secret: str) -> Iterator[Announced]:
    """Lets commands of the project know of a server, as long as it is there."""
    settings = project.settings
    made = Announced(server, url, secret, settings_hash(settings, secret), os.getpid())
    folder = _folder(settings)
    folder.mkdir(parents=True, exist_ok=True)
    _forget_dead(folder)
    file = folder / f"{server}.json"
    # Made for the owner alone before there is anything in it.
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as written:
        json.dump(asdict(made), written)
    try:
        yield made
    finally:
        with suppress(OSError):
            file.unlink()


def servers_of(settings: Settings) -> list[Announced]:
    """The servers that are announced for a project with these settings, the latest first."""
    found = []
    for file in sorted(_folder(settings).glob("*.json"), reverse=True):
        one = _read(file)
        if one is not None and one.settings == settings_hash(settings, one.secret):
            found.append(one)
    return found


def _folder(settings: Settings) -> Path:
    """Where servers of this machine are announced; others may share the project's folder."""
    machine = re.sub(r"[^\w.-]", "_", platform.node()) or "localhost"
    return Path(settings.home) / _SERVERS / machine


def settings_hash(settings: Settings, secret: str) -> str:
    """A hash by which two sets of settings are told apart, and from which nobody learns any."""
    told = json.dumps(asdict(settings), default=_told, sort_keys=True)
    return hmac.new(secret.encode(), told.encode(), "sha256").hexdigest()


def _told(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else str(value)


def _read(file: Path) -> Announced | None:
    try:
        one = Announced(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        # Being written, or removed, or of another version.
        return None
    texts = (one.server, one.url, one.secret, one.settings)
    whole = one.form == _FORM and all(isinstance(text, str) for text in texts)
    return one if whole and _lives(one.pid) else None


def _forget_dead(folder: Path) -> None:
    """Removes what servers left behind that were killed."""
    for file in folder.glob("*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            if not _lives(json.loads(file.read_text(encoding="utf-8"))["pid"]):
                file.unlink()


def _lives(pid: object) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


class _Scripts:
    """The scripts of a project, which may be deployed anew while it is served."""

    def __init__(self, project: Project) -> None:
        self._settings = project.settings
        self._seen = self._look()

    def changed(self) -> Project | None:
        """The project, if one of its files is not what it was."""
        seen = self._look()
        if seen == self._seen:
            return None
        self._seen = seen
        return load_project(self._settings)

    def _look(self) -> frozenset[tuple[str, int, int]]:
        root = Path(self._settings.root)
        seen = set()
        for path in (*(root / "pipelines").rglob("*"), *(root / "tests").rglob("*.sql")):
            if "__pycache__" in path.parts:
                # Importing a file makes them.
                continue
            # Files come and go while they are deployed.
            with suppress(OSError):
                look = path.stat()
                if stat.S_ISREG(look.st_mode):
                    seen.add((str(path), look.st_mtime_ns, look.st_size))
        return frozenset(seen)
