"""Tokens: made, ended, and told apart."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from tranche.errors import UsageError
from tranche.model.token import Role, Token
from tranche.ports import Clock, StateReader, StateStore
from tranche.service.opening import now

_PREFIX = "tranche_"
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token, and what its owner shows; that is known only now."""

    token: Token
    secret: str = field(repr=False)


def create_token(store: StateStore, name: str, role: Role, *, clock: Clock = now) -> NewToken:
    if not name.strip() or not name.isprintable() or len(name) > _LONGEST:
        raise UsageError(
            f"a token cannot be called {name[:_LONGEST]!r}",
            f"give it a name of up to {_LONGEST} letters, digits and signs",
        )
    secret = new_secret()
    token = Token(name=name, role=role, hash=hashed(secret), created_at=clock())
    if not store.add_token(token):
        raise UsageError(
            f"there is or was a token called {name!r}", "choose another name; tokens are kept"
        )
    return NewToken(token, secret)


def revoke_token(store: StateStore, name: str, *, clock: Clock = now) -> int:
    """Ends a token; says how many are left."""
    if not store.revoke_token(name, at=clock()):
        raise UsageError(
            f"no token called {name!r} is in force", "tranche token list shows all of them"
        )
    return sum(token.revoked_at is None for token in store.tokens())


def tokens(state: StateReader) -> Sequence[Token]:
    return state.tokens()


def new_secret() -> str:
    return _PREFIX + secrets.token_urlsafe(32)


def hashed(secret: str) -> str:
    # A secret of 256 random bits cannot be guessed, so that its hash need not be slow.
    return hashlib.sha256(secret.encode()).hexdigest()


def found(secret: str, known: Sequence[Token]) -> Token | None:
    """The token in force that a secret belongs to."""
    wanted = hashed(secret)
    return next(
        (
            token
            for token in known
            if token.revoked_at is None and hmac.compare_digest(token.hash, wanted)
        ),
        None,
    )
