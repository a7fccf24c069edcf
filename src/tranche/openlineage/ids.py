"""The ids of runs and steps in events: the same whoever works them out, and in order of time."""

from __future__ import annotations

from datetime import UTC, datetime

from openlineage.client.uuid import generate_static_uuid

_SOME_TIME = datetime(1970, 1, 1, tzinfo=UTC)


def run_uuid(namespace: str, run: str) -> str:
    """
    >>> run_uuid("shop", "20260516T093000-000000abcdef")
    '019e301f-05c0-7dff-b077-2fe1bdda3875'
    """
    return _uuid(run, namespace, run)


def step_uuid(namespace: str, run: str, position: int, partition: str | None) -> str:
    """A step of a run; one of several keys has no partition of its own."""
    return _uuid(run, namespace, run, str(position), partition or "")


def _uuid(run: str, *parts: str) -> str:
    data = "\x1f".join(parts).encode()
    return str(generate_static_uuid(_begun(run), data))


def _begun(run: str) -> datetime:
    """When a run began, which its id begins with."""
    try:
        return datetime.strptime(run[:22], "%Y%m%dT%H%M%S-%f").replace(tzinfo=UTC)
    except ValueError:
        return _SOME_TIME
