"""The classes that Spark's process has loaded, kept in an archive of the JVM.

With it a start takes about half the time. The JVM looks by itself whether an archive fits it, and
does without one that does not.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import pyspark

from tranche.lakes.jars import cache_folder

_SETTLED = 5.0
"""How many seconds a file has not changed once the JVM has written all of it."""
_KEPT = 3
"""How many archives there are at most, each for another Java or Spark."""
_OPTIONS = "spark.driver.defaultJavaOptions"
_MORE_OPTIONS = "spark.driver.extraJavaOptions"
_OWN = ("-Xshare", "SharedArchiveFile", "ArchiveClassesAtExit")


class ClassArchive:
    """The archive of one Java and one Spark, shared by all projects of a user."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = (folder or cache_folder()) / "classes"
        self.file = self.folder / f"{_identity()}.jsa"

    def settings(self, conf: Mapping[str, str], *, make: bool) -> dict[str, str]:
        """What to set beside these settings of Spark.

        Where there is no archive yet, and `make` says so, the process leaves one as it ends.
        """
        given = f"{conf.get(_OPTIONS, '')} {conf.get(_MORE_OPTIONS, '')}"
        try:
            if any(word in given for word in _OWN) or _set_elsewhere():
                return {}
            option = self._use() or (self._make() if make else None)
        except OSError:
            # It is of no use to anybody where the cache cannot be written.
            return {}
        return {_OPTIONS: f"{option} {conf.get(_OPTIONS, '')}".strip()} if option else {}

    def _use(self) -> str | None:
        self._adopt()
        if not self.file.is_file():
            return None
        os.utime(self.file)
        return _option("SharedArchiveFile", self.file)

    def _make(self) -> str | None:
        self.folder.mkdir(parents=True, exist_ok=True)
        made = _option("ArchiveClassesAtExit", self.file.with_suffix(f".{uuid.uuid4().hex}.new"))
        # It would list every class that cannot be kept.
        return f"{made} -Xlog:cds*=off" if made is not None else None

    def _adopt(self) -> None:
        """Takes what an earlier process has left. It is there some time after that has ended."""
        left = list(self.folder.glob(f"{self.file.stem}.*.new"))
        settled = [path for path in left if time.time() - path.stat().st_mtime > _SETTLED]
        if not settled:
            return
        if not self.file.is_file():
            os.replace(settled.pop(), self.file)
        _remove(settled)
        kept = sorted(self.folder.glob("*.jsa"), key=lambda path: path.stat().st_mtime)
        _remove(path for path in kept[:-_KEPT] if path != self.file)


def _identity() -> str:
    """A name for this Java and this Spark, as they are installed."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java") or "java"
    parts = [pyspark.__version__]
    for path in (Path(java), Path(_spark_home(), "jars")):
        with suppress(OSError):
            found = path.resolve()
            parts += [str(found), str(found.stat().st_mtime_ns)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _set_elsewhere() -> bool:
    """Whether Spark's own file of defaults has such options, which ours would hide."""
    folder = os.environ.get("SPARK_CONF_DIR") or f"{_spark_home()}/conf"
    defaults = Path(folder, "spark-defaults.conf")
    return defaults.is_file() and _OPTIONS in defaults.read_text(errors="replace")


def _spark_home() -> str:
    return os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)


def _option(name: str, file: Path) -> str | None:
    path = str(file)
    # Spark splits options at spaces outside of quotes.
    return None if {'"', "\\", "'"} & set(path) else f'"-XX:{name}={path}"'


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()
