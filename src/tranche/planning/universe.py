"""Which keys somebody means: a range, a list, or all that there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from tranche.errors import KeyRejected, PartitioningError, UsageError
from tranche.model.backfill import BackfillRequest
from tranche.model.partitioning import (
    Composite,
    Dynamic,
    Partitioning,
    Static,
    TimePartitioning,
)
from tranche.model.partitioning_zone import time_zone
from tranche.planning.resolve import within_bounds

MOST = 1_000_000
"""More keys than anybody means."""


def asked_keys(
    rule: Partitioning, request: BackfillRequest, *, agreed: bool = False
) -> tuple[list[str], list[str]]:
    """The keys that a request names, in their order, and what was odd about it."""
    if request.keys:
        if request.start is not None or request.end is not None:
            raise UsageError("keys and a range were given", "give --keys, or --start and --end")
        return list(dict.fromkeys(rule.validate(key) for key in request.keys)), []
    match rule:
        case Static():
            if request.start is not None or request.end is not None:
                raise UsageError(
                    "static keys have no order, so that there is nothing between a start and an end",
                    f"leave them out for all keys, or give --keys: {', '.join(rule.values)}",
                )
            return list(rule.values), []
        case Dynamic():
            raise UsageError(
                "dynamic keys come from payloads, and nobody knows them beforehand",
                "name them with --keys a,b,c",
            )
        case Composite():
            raise UsageError(
                "partitionings of several dimensions cannot be run yet", "use one dimension for now"
            )
        case TimePartitioning():
            return _range(rule, request, agreed=agreed)


def with_lookback(rule: Partitioning | TimePartitioning, keys: Sequence[str]) -> list[str]:
    """The keys, and those before each that a run of it covers too, never before the first."""
    if not isinstance(rule, TimePartitioning) or not rule.lookback:
        return list(keys)
    found: dict[str, datetime] = {}
    for key in keys:
        for back in range(rule.lookback + 1):
            earlier = rule.shift(key, -back)
            if back == 0 or within_bounds(rule, earlier):
                found[earlier] = rule.ordinal(earlier)
    return sorted(found, key=lambda key: found[key])


def inside(rule: Partitioning, key: str) -> bool:
    """Whether a key lies within the bounds of its partitioning, if that has some."""
    return not isinstance(rule, TimePartitioning) or within_bounds(rule, key)


def in_order(rule: Partitioning, keys: Iterable[str]) -> tuple[str, ...]:
    """Keys of time by time, others as they come, each once."""
    each = dict.fromkeys(keys)
    if isinstance(rule, TimePartitioning) and len(each) > 1:
        return tuple(sorted(each, key=rule.ordinal))
    return tuple(each)


def check_order(rule: TimePartitioning, start: str | None, end: str | None) -> None:
    """Refuses a range that ends before it starts."""
    if start is None or end is None:
        return
    # Wherever the partitioning itself begins and ends.
    free = replace(rule, start=None, end=None)
    first, last = free.keys(start=start, end=start), free.keys(start=end, end=end)
    if free.ordinal(first[0]) > free.ordinal(last[-1]):
        raise UsageError(f"the range ends before it starts: {start} … {end}", "swap them")


def last_complete(rule: TimePartitioning, at: datetime) -> str:
    """The last key whose period is over, minus the lag."""
    current = replace(rule, start=None, end=None).key_at(at)
    assert current is not None
    return rule.shift(current, -1 - rule.lag)


def _range(
    rule: TimePartitioning, request: BackfillRequest, *, agreed: bool
) -> tuple[list[str], list[str]]:
    end = request.end if request.end is not None else last_complete(rule, request.at)
    try:
        check_order(rule, request.start, request.end)
        found = rule.keys(start=request.start, end=end)
    except KeyRejected as error:
        raise UsageError(error.what, error.remedy) from None
    except PartitioningError as error:
        raise UsageError(
            error.what, 'give --start, or add start="…" to the partitioned line'
        ) from None
    if len(found) > MOST and not agreed:
        raise UsageError(
            f"these are {len(found):,} keys, from {found[0]} to {found[-1]}",
            "narrow the range with --start and --end, or add --yes if that is meant",
        )
    warnings = [f"{warning}, and is cut there" for warning in found.warnings]
    if not found:
        warnings.append("there is no key in that range")
    if request.end is None and found:
        local = request.at.astimezone(time_zone(rule.tz)).isoformat(timespec="minutes")
        if rule.lag:
            warnings.append(f"the range ends {rule.lag} before the last complete period of {local}")
    return list(found), warnings
