"""Folders that change places, at once where the system can do that."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

_HERE, _EXCHANGE = -100, 2


def exchange(one: Path, other: Path) -> bool:
    """Lets two folders change places in one step; False if the system cannot do that."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    done = rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    return bool(done == 0)


def put_in_place(new: Path, old: Path, marker: str) -> None:
    """Makes a folder the other one, whose files go; it may be done again after a crash half-way.

    The new folder is known by a file that it has and the old one has not.
    """
    if (old / marker).exists():
        shutil.rmtree(new, ignore_errors=True)
        return
    if not old.exists():
        if new.exists():
            old.parent.mkdir(parents=True, exist_ok=True)
            new.rename(old)
        return
    if not exchange(new, old):
        # Readers who look just now find nothing there.
        aside = new.with_name(f"{new.name}.old")
        shutil.rmtree(aside, ignore_errors=True)
        old.rename(aside)
        new.rename(old)
        shutil.rmtree(aside, ignore_errors=True)
        return
    shutil.rmtree(new, ignore_errors=True)


def remove(folder: Path, aside: Path) -> None:
    """Removes a folder at once: its files go when it has gone."""
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)
        aside.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def move_into(new: Path, folder: Path) -> None:
    """Moves the files of a folder into another one; it may be done again after a crash half-way."""
    if not new.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(new.rglob("*")):
        if path.is_file():
            to = folder / path.relative_to(new)
            to.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, to)
    shutil.rmtree(new, ignore_errors=True)
