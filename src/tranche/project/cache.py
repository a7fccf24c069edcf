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

_FORMAT = 1
_STANDARD = {
    ("datetime", "datetime"),
    ("datetime", "date"),
    ("datetime", "timezone"),
    ("datetime", "timedelta"),
    ("builtins", "frozenset"),
}


class _OnlyModel(pickle.Unpickler):
    """Loads values of our own model and nothing else: a cache file is not trusted."""

    def find_class(self, module: str, name: str) -> Any:
        ours = module.startswith("tranche.model.") or module in (
            "tranche.errors",
            "tranche.script.read",
        )
        if (ours and "." not in name) or (module, name) in _STANDARD:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} does not belong into the cache")


class ScriptCache:
    """One file of a project. Losing it costs time, nothing else."""

    def __init__(self, path: Path, context: str) -> None:
        self._path = path
        self._context = f"{_FORMAT} {version('tranche')} {context}"
        self._known: dict[str, Any] = self._load()
        self._used: dict[str, Any] = {}

    def key(self, path: str, text: bytes) -> str:
        digest = hashlib.sha256(f"{self._context}\x00{path}\x00".encode())
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
            with os.fdopen(handle, "wb") as file:
                pickle.dump((self._context, self._used), file, pickle.HIGHEST_PROTOCOL)
            os.replace(temporary, self._path)

    def _load(self) -> dict[str, Any]:
        try:
            context, values = _OnlyModel(io.BytesIO(self._path.read_bytes())).load()
        except Exception:  # any damage to the file means: read the scripts again
            return {}
        return values if context == self._context and isinstance(values, Mapping) else {}  # type: ignore[return-value]
