"""Tokens: what callers of a server show to say what they may do."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias, get_args

Role: TypeAlias = Literal["read", "run", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From the least to the most: each may do what those before it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token as the store keeps it: not what is shown, only a hash of it."""

    name: str
    role: Role
    hash: str = field(repr=False)
    created_at: datetime
    revoked_at: datetime | None = None


def may(role: Role, needed: Role) -> bool:
    """Whether a role is enough.

    >>> may("run", "read"), may("read", "run")
    (True, False)
    """
    return ROLES.index(role) >= ROLES.index(needed)
