"""Which values of the settings are secrets, and texts without them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_NAMED = re.compile(r"passw|pwd|secret|token|credential|(?:^|[._-])key$|access.?key|api.?key", re.I)
_IN_URL = re.compile(r"://[^/@\s:]*:([^@/\s]+)@")
_IN_QUERY = re.compile(r"(?:password|pwd|secret|token|key)=([^&;\s]+)", re.I)
_SHORTEST = 4
"""Shorter values stand in too many words that are no secrets."""


def secrets_of(name: str, value: str) -> Iterator[str]:
    """The parts of a setting, or of an environment variable, that nobody should see.

    >>> sorted(secrets_of("state.url", "postgresql://me:hunter2@host/db?password=other"))
    ['hunter2', 'other']
    >>> list(secrets_of("lakes.main.warehouse", "s3a://bucket/path"))
    []
    """
    found = [*_IN_URL.findall(value), *_IN_QUERY.findall(value)]
    if _NAMED.search(name):
        found.append(value)
    return (text for text in found if len(text) >= _SHORTEST)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """
    >>> without_secrets("no user with hunter2", ["hunter2"])
    'no user with ***'
    """
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
