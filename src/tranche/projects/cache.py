"""What reading scripts gave, kept by the hash of their text, so that nothing is parsed twice."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

_FORMAT = 2
_STANDARD = {
    ("datetime", "datetime"),
    ("datetime", "date"),
    ("datetime", "timezone"),
    ("datetime", "timedelta"),
    ("builtins", "frozenset"),
}


def _reader() -> int:
    """When the code that reads scripts was last changed: what older code read may be wrong now."""
    package = Path(__file__).parent.parent
    return max(
        file.stat().st_mtime_ns
        for folder in ("script", "script/duckdb", "model")
        for file in os.scandir(package / folder)
        if file.name.endswith(".py")
    )


class _OnlyModel(pickle.Unpickler):
    """Loads values of our own model and nothing else: a cache file is not trusted."""

    def find_class(self, module: str, name: str) -> Any:
        ours = module.startswith("tranche.model.") or module in (
            "tranche.errors",
            "tranche.script.read",
        )
        if (module, name) in _STANDARD:
            return super().find_class(module, name)
        if ours and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} does not belong into the cache")


class ScriptCache:
    """One file of a project. Losing it costs time, nothing else."""

    def __init__(self, path: Path, basis: str) -> None:
        self._path = path
        self._basis = f"{_FORMAT} {version('tranche')} {_reader()} {basis}"
        self._known: dict[str, Any] = self._load()
        self._used: dict[str, Any] = {}

    def key(self, path: str, text: bytes) -> str:
        digest = hashlib.sha256(f"{self._basis}\x00{path}\x00".encode())
        digest.update(text)
        return digest.hexdigest()

    def get(self, key: str) -> Any:
        value = self._known.get(key)
        if value is not None:
            self._used[key] = value
        return value

    def put(self, key: str, value: Any) -> None:
        self._used[key] = value

    def save(self) -> None:
        """Keeps what this load used, so that old versions of scripts fall out."""
        if self._used.keys() == self._known.keys():
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    pickle.dump((self._basis, self._used), file, pickle.HIGHEST_PROTOCOL)
                os.replace(temporary, self._path)
            except OSError:
                os.unlink(temporary)

    def _load(self) -> dict[str, Any]:
        try:
            basis, values = _OnlyModel(io.BytesIO(self._path.read_bytes())).load()
        except Exception:  # any damage to the file means: read the scripts again
            return {}
        return values if basis == self._basis and isinstance(values, Mapping) else {}  # type: ignore[return-value]
