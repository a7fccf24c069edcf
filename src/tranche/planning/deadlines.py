"""Until when scripts wait for what their `on` lines name."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tranche.errors import Fault, KeyRejected, Place
from tranche.model.deadline import deadline
from tranche.model.partitioning import time_of
from tranche.model.script import Script
from tranche.planning.links import Link, SourceLink


def has_deadline(script: Script) -> bool:
    """Whether it stops waiting for something at a time of day."""
    return any(trigger.deadline is not None for trigger in script.triggers_on())


def deadline_of(link: Link | SourceLink, key: str | None) -> datetime | None:
    """Until when a key waits for a link, on the clock of the script's keys; None if for ever."""
    at = link.trigger.deadline if link.trigger is not None else None
    if at is None or key is None:
        return None
    try:
        return deadline(link.script.partitioning, key, at)
    except KeyRejected:
        # It has waited since the script had other keys; whoever runs it will say so.
        return None


def deadline_faults(scripts: Iterable[Script]) -> Iterable[Fault]:
    """Deadlines of scripts whose keys do not say when they are over."""
    for script in scripts:
        rule = script.partitioning
        if time_of(rule) is not None:
            continue
        what = "has no partitions" if rule is None else f"has {rule.kind} keys, which have no time"
        for trigger in script.triggers_on():
            if trigger.deadline is not None:
                yield Fault(
                    Place(script.path, trigger.line),
                    f"{trigger.asset}: deadline= counts from the end of a key's period, and"
                    f" {script.label} {what}",
                    "leave deadline= out, or partition it by time, as in 'partitioned daily'",
                )
