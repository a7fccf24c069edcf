"""Who works on which keys. Each function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Select, delete, insert

from tranche.model.run import Claim
from tranche.state import queries
from tranche.state.advisory import lock_in_transaction
from tranche.state.checks import MOST_CONFLICTS
from tranche.state.keys import key_hash
from tranche.state.rows import claim_row
from tranche.state.tables import claims

# Databases limit how many values one question may have.
_AT_ONCE = 500


def conflicts(connection: Connection, wanted: Sequence[Claim]) -> tuple[Claim, ...]:
    """Claims of others that the wanted ones, of one attempt on one asset, cannot stand beside.

    Until the transaction ends, nobody else can claim anything of the asset.
    """
    if not wanted:
        return ()
    lock_in_transaction(connection, "claims", wanted[0].asset)
    found: list[Claim] = []
    for question in _questions(wanted):
        rows = connection.execute(question.limit(MOST_CONFLICTS - len(found)))
        found += (Claim(**row._asdict()) for row in rows)
        if len(found) == MOST_CONFLICTS:
            break
    return tuple(sorted(found, key=lambda claim: claim.partition or ""))


def add_claims(connection: Connection, wanted: Sequence[Claim]) -> None:
    if wanted:
        connection.execute(insert(claims), [claim_row(claim) for claim in wanted])


def end_claims(connection: Connection, attempt: str) -> None:
    connection.execute(delete(claims).where(claims.c.attempt == attempt))


def _questions(wanted: Sequence[Claim]) -> Iterator[Select[Any]]:
    attempt, asset = wanted[0].attempt, wanted[0].asset
    if any(claim.partition is None for claim in wanted):
        yield queries.claims_of_others(attempt, asset, None)
        return
    # A claim on all keys is in the way of each.
    hashes = [key_hash(None), *(key_hash(claim.partition) for claim in wanted)]
    for start in range(0, len(hashes), _AT_ONCE):
        yield queries.claims_of_others(attempt, asset, hashes[start : start + _AT_ONCE])
