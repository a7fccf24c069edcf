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
_DIMENSION = "{partition."
_TOKEN = re.compile(r"\{partition(?:\.(?P<name>[^}]*))?\}")
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
        check_path(files)
        if files.remote:
            return str(files)
        if files.scheme == "s3":
            return f"{self.folder}/{files.path.lstrip('/')}"
        return files.path if files.path.startswith("/") else f"{self.root}/{files.path}"


def check_path(files: FileSet) -> None:
    """Rejects a path with steps in it that could lead out of its place."""
    if any(part in (".", "..") for part in re.split(r"[/\\]", files.path)):
        raise FileRejected(
            f"{shown(str(files))} has a '.' or '..' in its path", "write the path without them"
        )


def takes_key(files: FileSet) -> bool:
    """Whether there is a set of files for each key."""
    return PARTITION_TOKEN in files.path or _DIMENSION in files.path


def filled(files: FileSet, rule: Partitioning | None, key: str) -> FileSet:
    """The files of one key.

    >>> from tranche.model.partitioning import Daily, Static
    >>> rule = Composite(day=Daily(), region=Static(["us", "eu"]))
    >>> str(filled(FileSet("s3", "/{partition.region}/{partition.day}.json"), rule, "2026-05-16|eu"))
    's3:///eu/2026-05-16.json'
    """
    named: dict[str, str] = {}
    if isinstance(rule, Composite):
        segments = zip(rule.dimensions, rule.parse(key), strict=True)
        named = {name: segment_path(each, segment) for (name, each), segment in segments}

    def value(token: re.Match[str]) -> str:
        name = token["name"]
        if name is None:
            return key_path(rule, key)
        if name not in named:
            raise FileRejected(
                f"{shown(str(files))} names {name!r}, which is no dimension of the partitioning",
                f"use {PARTITION_TOKEN}, or name a dimension of the partitioned line",
            )
        return named[name]

    # At once: a key may hold what looks like another token.
    return FileSet(files.scheme, _TOKEN.sub(value, files.path))


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
