"""The jars that Spark needs besides its own: resolved once, found again offline."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

ICEBERG: Final = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
SQLITE: Final = "org.xerial:sqlite-jdbc:3.50.3.0"


class JarCache:
    """One folder per list of packages, shared by all projects of a user."""

    def __init__(self, packages: Sequence[str], folder: Path | None = None) -> None:
        self.packages = tuple(packages)
        name = hashlib.sha256(",".join(sorted(packages)).encode()).hexdigest()[:16]
        self.folder = (folder or cache_folder()) / "jars" / name
        self._list = self.folder / "resolved.json"

    @property
    def lock(self) -> Path:
        return self.folder.with_suffix(".lock")

    def found(self) -> tuple[Path, ...] | None:
        """The jars of an earlier start, if they are all still there."""
        try:
            names = json.loads(self._list.read_text())
        except (OSError, ValueError):
            return None
        paths = tuple(self.folder / "jars" / name for name in names)
        return paths if paths and all(path.is_file() for path in paths) else None

    def remember(self) -> None:
        """Notes what Spark's resolver put into the folder."""
        names = sorted(path.name for path in (self.folder / "jars").glob("*.jar"))
        if names:
            temporary = self._list.with_suffix(".new")
            temporary.write_text(json.dumps(names))
            os.replace(temporary, self._list)


def cache_folder() -> Path:
    given = os.environ.get("TRANCHE_CACHE")
    return Path(given) if given else user_cache_path("tranche", appauthor=False)
