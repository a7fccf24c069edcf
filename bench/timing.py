"""Things that are done in turn, and how long each takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def rounds(
    acts: dict[str, Callable[[], object]],
    warm_up: int,
    number: int,
    before: Callable[[], object] = lambda: None,
) -> dict[str, list[float]]:
    """How long each takes once all are warm; each round begins with another one.

    What comes `before` each is not counted.
    """
    times: dict[str, list[float]] = {name: [] for name in acts}
    order = list(acts)
    for turn in range(warm_up + number):
        order.append(order.pop(0))
        for name in order:
            before()
            began = time.perf_counter()
            acts[name]()
            if turn >= warm_up:
                times[name].append(time.perf_counter() - began)
    return times


def ratio(times: dict[str, list[float]], name: str, of: str = "hand") -> float:
    """How much longer one takes than the other, in the middle of all rounds."""
    return statistics.median(b / a for a, b in zip(times[of], times[name], strict=True))
