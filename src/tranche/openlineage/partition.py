"""The facet of a run that says which partitions it is for; its schema is in docs/openlineage."""

from __future__ import annotations

from collections.abc import Sequence

import attr
from openlineage.client.facet_v2 import RunFacet

from tranche.model.partitioning import Partitioning

FACET = "tranche_partition"
MOST_KEYS = 1_000
"""How many keys are listed; of more, the first and the last are named and all are counted."""
SCHEMA = "urn:tranche:openlineage:1-0-0:TranchePartitionRunFacet.json"


@attr.define
class TranchePartitionRunFacet(RunFacet):
    """The keys of a step."""

    partitioning: str | None = None
    """The rule that divides the asset, as a script would have it."""
    kind: str | None = None
    key: str | None = None
    """Its key, if it has just one."""
    first: str | None = None
    last: str | None = None
    count: int = 1
    keys: list[str] | None = None
    failed: list[str] | None = None
    """Keys that failed, in a run that has ended."""

    @staticmethod
    def _get_schema() -> str:
        return f"{SCHEMA}#/$defs/TranchePartitionRunFacet"


def partition_facet(
    rule: Partitioning | None,
    keys: Sequence[str],
    producer: str,
    *,
    failed: Sequence[str] | None = None,
) -> TranchePartitionRunFacet | None:
    """The facet of a step with these keys; none if it has none."""
    if not keys:
        return None
    several = len(keys) > 1
    return TranchePartitionRunFacet(
        partitioning=rule.describe() if rule is not None else None,
        kind=rule.kind if rule is not None else None,
        key=None if several else keys[0],
        first=keys[0],
        last=keys[-1],
        count=len(keys),
        keys=list(keys[:MOST_KEYS]),
        failed=None if failed is None else list(failed[:MOST_KEYS]),
        producer=producer,
    )
