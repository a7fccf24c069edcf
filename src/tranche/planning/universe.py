"""Which keys somebody means: a range, a list, or all that there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import product
from math import prod

from tranche.errors import KeyRejected, PartitioningError, UsageError
from tranche.model.backfill import BackfillRequest
from tranche.model.partitioning import (
    Composite,
    Dynamic,
    KeyRange,
    Partitioning,
    Static,
    TimePartitioning,
    time_of,
)
from tranche.model.partitioning_zone import time_zone

MOST = 1_000_000
"""More keys than anybody means."""


def asked_keys(
    rule: Partitioning, request: BackfillRequest, *, agreed: bool = False
) -> tuple[list[str], list[str]]:
    """The keys that a request names, in their order, and what was odd about it."""
    if request.dimensions and not isinstance(rule, Composite):
        raise UsageError("--in chooses keys of a dimension, and there is just one", "use --keys")
    if request.keys:
        if request.start is not None or request.end is not None or request.dimensions:
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
            return _product(rule, request, agreed=agreed)
        case TimePartitioning():
            found, warnings = _range(rule, request)
            _check_number(len(found), found, agreed=agreed)
            return list(found), warnings


def with_lookback(rule: Partitioning | TimePartitioning, keys: Sequence[str]) -> list[str]:
    """The keys, and those before each that a run of it covers too, never before the first."""
    times = time_of(rule)
    if times is None or not times.lookback:
        return list(keys)
    found: dict[str, datetime] = {}
    for key in keys:
        segments = rule.split(key) if isinstance(rule, Composite) else (key,)
        place = rule.in_time or 0 if isinstance(rule, Composite) else 0
        for back in range(times.lookback + 1):
            earlier = times.shift(segments[place], -back)
            if back == 0 or times.covers(earlier):
                parts = (*segments[:place], earlier, *segments[place + 1 :])
                whole = rule.join(parts) if isinstance(rule, Composite) else earlier
                found[whole] = times.ordinal(earlier)
    return sorted(found, key=lambda key: found[key])


def inside(rule: Partitioning, key: str) -> bool:
    """Whether a key lies within the bounds of its partitioning, if that has some."""
    if isinstance(rule, Composite):
        return all(map(inside, rule.rules, rule.split(key)))
    return not isinstance(rule, TimePartitioning) or rule.covers(key)


def is_key(rule: Partitioning, text: str) -> bool:
    """Whether a text is a key of a partitioning."""
    try:
        rule.validate(text)
    except KeyRejected:
        return False
    return True


def in_order(rule: Partitioning, keys: Iterable[str]) -> tuple[str, ...]:
    """Keys of time by time, others as they come, each once."""
    each = dict.fromkeys(keys)
    times = time_of(rule)
    if times is None or len(each) < 2:
        return tuple(each)
    if isinstance(rule, Composite):
        place = rule.in_time or 0
        return tuple(sorted(each, key=lambda key: times.ordinal(rule.split(key)[place])))
    return tuple(sorted(each, key=times.ordinal))


def check_order(rule: TimePartitioning, start: str | None, end: str | None) -> None:
    """Refuses a range that ends before it starts."""
    if start is None or end is None:
        return
    if rule.ordinal(keys_in(rule, start)[0]) > rule.ordinal(keys_in(rule, end)[-1]):
        raise UsageError(f"the range ends before it starts: {start} … {end}", "swap them")


def keys_in(rule: TimePartitioning, text: str) -> KeyRange:
    """The keys that a key or a date stands for, wherever the partitioning begins and ends."""
    found = replace(rule, start=None, end=None).keys(start=text, end=text)
    if not found:
        raise UsageError(f"no key is at {text!r}", "keys lie in the years 1 to 9999")
    return found


def last_complete(rule: TimePartitioning, at: datetime) -> str:
    """The last key whose period is over, minus the lag."""
    current = replace(rule, start=None, end=None).key_at(at)
    assert current is not None
    return rule.shift(current, -1 - rule.lag)


def _range(rule: TimePartitioning, request: BackfillRequest) -> tuple[KeyRange, list[str]]:
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
    warnings = [f"{warning}, and is cut there" for warning in found.warnings]
    if not found:
        warnings.append("there is no key in that range")
    if request.end is None and found:
        local = request.at.astimezone(time_zone(rule.tz)).isoformat(timespec="minutes")
        if rule.lag:
            number = "1 key" if rule.lag == 1 else f"{rule.lag} keys"
            warnings.append(
                f"lag={rule.lag} ends the range {number} before the last one that is over at {local}"
            )
    return found, warnings


def _product(
    rule: Composite, request: BackfillRequest, *, agreed: bool
) -> tuple[list[str], list[str]]:
    """The keys of several dimensions; a range is one of the dimension that keys are ordered by."""
    for name in request.dimensions:
        if name not in rule.names:
            raise UsageError(
                f"there is no dimension {name!r}", f"the dimensions are {', '.join(rule.names)}"
            )
    ranged = request.start is not None or request.end is not None
    if ranged and (rule.in_time is None or rule.names[rule.in_time] in request.dimensions):
        raise UsageError(
            "a start or an end was given, and no dimension of time is left for it",
            "leave --start and --end out",
        )
    each: list[Sequence[str]] = []
    warnings: list[str] = []
    for place, (name, dimension) in enumerate(rule.dimensions):
        if name in request.dimensions:
            values = dict.fromkeys(map(dimension.validate, request.dimensions[name]))
            each.append(tuple(values))
        elif isinstance(dimension, Static):
            each.append(dimension.values)
        elif isinstance(dimension, Dynamic):
            raise UsageError(
                f"the keys of {name} come from payloads, and nobody knows them beforehand",
                f"name them with --in {name}=a,b,c",
            )
        else:
            own = place == rule.in_time
            found, odd = _range(
                dimension, request if own else replace(request, start=None, end=None)
            )
            each.append(found)
            warnings += odd
    _check_number(prod(map(len, each)), each[rule.in_time or 0], agreed=agreed)
    # By time first, so that what is built at once lies side by side.
    return list(in_order(rule, (rule.join(parts) for parts in product(*each)))), warnings


def _check_number(number: int, keys: Sequence[str], *, agreed: bool) -> None:
    if number > MOST and not agreed:
        raise UsageError(
            f"these are {number:,} keys, from {keys[0]} to {keys[-1]}",
            "narrow the range with --start and --end, or add --yes if that is meant",
        )
