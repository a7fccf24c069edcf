"""Where the files of addresses lie: `s3:///…` in the project's storage, `file:…` in the project.

A key enters a path as one piece of it. Only the slashes that the format of a time key makes stay
separators; in any other key they are data, and are escaped like all that could leave its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from tranche.errors import FileRejected
from tranche.model.asset import PARTITION_TOKEN, FileSet
from tranche.model.partitioning import Composite, Dimension, Partitioning, TimePartitioning
from tranche.model.partitioning_text import shown

_UNSAFE = re.compile(r"[/\\%\x00-\x1f\x7f]")
_DOTS = re.compile(r"\.{1,2}")


@dataclass(frozen=True, slots=True)
class Storage:
    """The folders of a project that addresses begin at, both absolute.

    >>> from tranche.model.partitioning import Daily
    >>> place = Storage("/shop", "/shop/.tranche/storage")
    >>> place.path(filled(FileSet("s3", "/raw/{partition}/a.json"), Daily(), "2026-05-16"))
    '/shop/.tranche/storage/raw/2026-05-16/a.json'
    """

    root: str
    """The project, where relative `file:` addresses begin."""
    folder: str
    """Where `s3:///` begins."""

    def path(self, files: FileSet) -> str:
        """Where files lie; an address that would leave its place is rejected."""
        if "\0" in files.path:
            raise FileRejected("an address holds a NUL character", "remove it")
        if any(part in (".", "..") for part in re.split(r"[/\\]", files.path)):
            raise FileRejected(
                f"{shown(str(files))} has a '.' or '..' in its path", "write the path without them"
            )
        if files.scheme == "s3":
            return f"{self.folder}/{files.path.lstrip('/')}"
        return files.path if files.path.startswith("/") else f"{self.root}/{files.path}"


def filled(files: FileSet, rule: Partitioning | None, key: str) -> FileSet:
    """The files of one key."""
    return FileSet(files.scheme, files.path.replace(PARTITION_TOKEN, key_path(rule, key)))


def key_path(rule: Partitioning | None, key: str) -> str:
    """A key as a piece of a path; different keys are different pieces.

    >>> from tranche.model.partitioning import Daily, Dynamic
    >>> key_path(Daily(format="%Y/%m/%d"), "2026/05/16"), key_path(Dynamic("$.a"), "../x")
    ('2026/05/16', '..%2Fx')
    """
    if isinstance(rule, Composite):
        pieces = zip(rule.rules, rule.parse(key), strict=True)
        return "|".join(segment_path(each, part).replace("|", "%7C") for each, part in pieces)
    return segment_path(rule, key)


def segment_path(rule: Dimension | None, segment: str) -> str:
    """The same for a key, or a segment of one, that is no composite."""
    if "\0" in segment:
        raise FileRejected(f"the key {shown(segment)} holds a NUL character", "use another key")
    if isinstance(rule, TimePartitioning):
        # What a format makes, and nothing else, is a key of it.
        parts = rule.validate(segment).split("/")
        if any(part in ("", ".", "..") for part in parts):
            raise FileRejected(
                f"the key {shown(segment)} cannot be part of a path", "change the format="
            )
        return "/".join(_UNSAFE.sub(lambda found: quote(found[0], safe=""), p) for p in parts)
    if _DOTS.fullmatch(segment):
        return segment.replace(".", "%2E")
    return _UNSAFE.sub(lambda found: quote(found[0], safe=""), segment)
