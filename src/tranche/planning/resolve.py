"""Which partition a run is for. Resolved once, at the top of a chain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, assert_never

from tranche.errors import (
    PayloadKeyMissing,
    PayloadKeyNotScalar,
    PayloadMissing,
    StaticKeyMissing,
)
from tranche.model.partitioning import (
    Composite,
    Dynamic,
    Partitioning,
    Static,
    TimePartitioning,
)
from tranche.model.partitioning_zone import time_zone
from tranche.model.plan import Request
from tranche.planning.arguments import inner_payload

_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """The keys, mostly one, or the reason why there is none for this fire time."""

    keys: tuple[str, ...] = ()
    reason: str | None = None


def resolve(partitioning: Partitioning, request: Request) -> Resolved:
    """An explicit key, else the period of the fire time, else a value of the payload.

    Of several dimensions each follows from one of these, and a static one has all its keys.
    """
    if isinstance(partitioning, Composite):
        return _several(partitioning, request)
    if request.partition is not None:
        return Resolved((partitioning.validate(request.partition),))
    if isinstance(partitioning, TimePartitioning):
        return _from_clock(partitioning, request)
    if isinstance(partitioning, Dynamic):
        return Resolved((partitioning.validate(_from_payload(partitioning, request)),))
    if isinstance(partitioning, Static):
        raise StaticKeyMissing(
            "the run has no key, and static keys do not follow from the time",
            f"give one with --partition: {', '.join(partitioning.keys())}",
        )
    assert_never(partitioning)


def _several(partitioning: Composite, request: Request) -> Resolved:
    named: dict[str, str] = {}
    if request.partition is not None:
        found = partitioning.named(request.partition)
        if found is None:
            return Resolved((partitioning.validate(request.partition),))
        named = found
    each: list[tuple[str, ...]] = []
    for name, rule in partitioning.dimensions:
        if name not in named and isinstance(rule, Static):
            each.append(rule.values)
            continue
        resolved = resolve(rule, replace(request, partition=named.get(name)))
        if not resolved.keys:
            return Resolved((), f"{name}: {resolved.reason}")
        each.append(resolved.keys)
    return Resolved(tuple(partitioning.join(segments) for segments in product(*each)))


def _from_clock(partitioning: TimePartitioning, request: Request) -> Resolved:
    fired = replace(partitioning, start=None, end=None).key_at(request.fire_time)
    if fired is not None and partitioning.lag:
        fired = partitioning.shift(fired, -partitioning.lag)
    if fired is not None and partitioning.covers(fired):
        return Resolved((fired,))
    local = request.fire_time.astimezone(time_zone(partitioning.tz)).isoformat(timespec="seconds")
    return Resolved((), f"{bounds(partitioning)}, and the run fired at {local}")


def bounds(partitioning: TimePartitioning) -> str:
    """
    >>> from tranche.model.partitioning import Daily
    >>> bounds(Daily(start="2026-01-01"))
    'it starts at 2026-01-01'
    """
    sides = []
    if partitioning.start is not None:
        sides.append(f"starts at {partitioning.start}")
    if partitioning.end is not None:
        sides.append(f"ends at {partitioning.end}")
    return f"it {' and '.join(sides)}"


def _from_payload(partitioning: Dynamic, request: Request) -> str:
    payload = request.payload if request.payload is not None else dict(request.arguments)
    return payload_key(partitioning, payload)


def payload_key(partitioning: Dynamic, payload: Any) -> str:
    """The key that a payload has; ResolutionError if it has none."""
    payload = inner_payload(payload)
    if payload == {}:
        raise PayloadMissing(
            f"the key is read from the payload at {partitioning.key!r}, and there is none",
            "give one with --payload '{…}', or the key itself with --partition",
        )
    return _scalar(partitioning, _at_path(partitioning, payload))


def _at_path(partitioning: Dynamic, payload: Any) -> Any:
    value = payload
    walked = "$"
    for name in partitioning.path:
        if not isinstance(value, dict) or name not in value:
            raise PayloadKeyMissing(
                f"the payload has nothing at {partitioning.key!r}: {walked} holds {_holds(value)}",
                f"send a payload with {name!r} there, or give the key with --partition",
            )
        value = value[name]
        walked = f"{walked}.{name}"
    return value


def _holds(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(map(str, value)) or "nothing"
    return _KINDS[type(value)]


def _scalar(partitioning: Dynamic, value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case _:
            raise PayloadKeyNotScalar(
                f"the payload has {_KINDS[type(value)]} at {partitioning.key!r}",
                "a key is one text, number or boolean; point key= at one",
            )
