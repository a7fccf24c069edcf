"""The text of a file, or what is wrong with it."""

from __future__ import annotations

from pathlib import Path

from tranche.errors import Fault, Place


def read_text(file: Path, path: str) -> tuple[bytes, str, Fault | None]:
    """The bytes and the text of a file that is called `path` in the project."""
    try:
        raw = file.read_bytes()
        return raw, raw.decode("utf-8"), None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return b"", "", Fault(Place(path, line), "no UTF-8 text", "save it as UTF-8")
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        return b"", "", Fault(Place(path), what, "check its permissions")
