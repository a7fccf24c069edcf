"""What the texts of options mean."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

from tranche.errors import UsageError


def moment(text: str) -> datetime:
    """The instant that `--at` names, in UTC.

    >>> moment("2026-05-16T06:00:00+02:00").isoformat()
    '2026-05-16T04:00:00+00:00'
    """
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            found = found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--at {text!r} is no time", "write it as 2026-05-16T06:00:00+02:00"
        ) from None
    if found.tzinfo is None:
        raise UsageError(
            f"--at {text!r} has no time zone", "end it with Z or an offset like +02:00"
        )
    return found


def payload(text: str | None) -> Any:
    """The object that `--payload` holds."""
    if text is None:
        return None
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise UsageError("--payload is nested too deeply", "send what the run needs") from None
    except ValueError as error:
        raise UsageError(
            f"--payload is no JSON: {error}", "write an object, as in '{\"a\": 1}'"
        ) from None
    if not isinstance(value, dict):
        raise UsageError("--payload is no object", "write an object, as in '{\"a\": 1}'")
    return value


def arguments(given: list[str]) -> dict[str, str]:
    """The values of `--arg`, by name.

    >>> arguments(["top=10", "name=a=b"])
    {'top': '10', 'name': 'a=b'}
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--arg {text!r} does not parse", "write --arg name=value")
        if name in found:
            raise UsageError(f"--arg {name} is given twice", "give it once")
        found[name] = value
    return found


def dimensions(given: list[str]) -> dict[str, tuple[str, ...]]:
    """The keys of `--in`, by the name of their dimension.

    >>> dimensions(["region=us,eu", "day=2026-05-01"])
    {'region': ('us', 'eu'), 'day': ('2026-05-01',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, equals, value = text.partition("=")
        keys = tuple(key for key in value.split(",") if key)
        if not equals or not name.isidentifier() or not keys:
            raise UsageError(f"--in {text!r} does not parse", "write --in region=us,eu")
        if name in found:
            raise UsageError(f"--in {name} is given twice", "give all its keys at once")
        found[name] = keys
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is too large")
    return value
