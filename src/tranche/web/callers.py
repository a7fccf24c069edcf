"""Who calls, and what they may do."""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tranche.errors import NotAllowed
from tranche.model.token import Role, Token, may
from tranche.ports import StateReader
from tranche.service.tokens import found

_KEPT = 1.0
"""Seconds until tokens are read again: so long one that was ended may still be taken."""


@dataclass(slots=True)
class Callers:
    """Tells callers apart by their tokens.

    Where only this machine can call and nobody has made a token yet, everybody may do everything.
    """

    state: StateReader
    own: str = field(repr=False)
    """What commands of this project show, which may read the file that it is kept in."""
    is_open: bool
    """Whether callers without a token are heard while there is none."""
    _known: Sequence[Token] = ()
    _read_at: float = -_KEPT
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, header: str | None, needed: Role) -> None:
        """Raises unless the caller may do what needs that role."""
        role = self.role(header)
        if not may(role, needed):
            raise NotAllowed(
                f"this token has the role {role}, and this takes {needed}",
                f"use one made with 'tranche token create NAME --role {needed}'",
                known=True,
            )

    def role(self, header: str | None) -> Role:
        if header is None:
            if self.is_open and not self.known():
                return "admin"
            raise NotAllowed(
                "this server wants a token",
                "send the header 'Authorization: Bearer TOKEN'; 'tranche token create' makes one",
            )
        scheme, _, secret = header.partition(" ")
        secret = secret.strip()
        if scheme.lower() == "bearer" and secret:
            if hmac.compare_digest(secret.encode(), self.own.encode()):
                return "admin"
            token = found(secret, self.known())
            if token is not None:
                return token.role
        raise NotAllowed(
            "this token is not known, or holds no more", "'tranche token create' makes one"
        )

    @property
    def knows_tokens(self) -> bool:
        """Whether tokens need not be read for whoever calls now."""
        return time.monotonic() - self._read_at < _KEPT

    def known(self) -> Sequence[Token]:
        """All tokens, also those that were ended: once there was one, callers need one."""
        with self._lock:
            if not self.knows_tokens:
                self._known = self.state.tokens()
                self._read_at = time.monotonic()
            return self._known
