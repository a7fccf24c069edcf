"""What the Python code of a step can ask for, wherever it stands: the keys that it is for.

A context variable holds what is active, so that steps which run at the same time in one process do
not see each other's. Python does not hand context variables down to threads. So once a step has
run, `Thread.start` and `ThreadPoolExecutor.submit` of this process do that for this one variable: a
thread has what was active where it was started, and a task of a pool what was active where it was
submitted, whichever step made the pool. What is active ends with its call: a thread that outlives
it hears that there is no run, and never gets the key of another one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from tranche.errors import OutsideRun
from tranche.model.partitioning import Composite, Partitioning, TimePartitioning, Window
from tranche.model.storage import Storage

_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class Active:
    """A call of a user's function while it goes on."""

    keys: tuple[str, ...]
    partitioning: Partitioning | None
    storage: Storage | None = None
    """Where its files are; None if nobody has said."""
    over: bool = False
    written: dict[str, str] = field(default_factory=dict)
    """The hash of what it has written to each file, by path."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, path: str, digest: str) -> None:
        with self.lock:
            self.written[path] = digest

    def files(self) -> Mapping[str, str]:
        with self.lock:
            return dict(self.written)


_ACTIVE: ContextVar[Active | None] = ContextVar("tranche_active", default=None)
_HANDING_DOWN = threading.Lock()
_handed_down = False


@contextmanager
def active(call: Active) -> Iterator[Active]:
    """What happens in here is part of a call."""
    _hand_down()
    token = _ACTIVE.set(call)
    try:
        yield call
    finally:
        call.over = True
        _ACTIVE.reset(token)


def now_active() -> Active | None:
    """The call that this is part of, if it is part of one that goes on."""
    found = _ACTIVE.get()
    return None if found is None or found.over else found


def current_partition() -> str:
    """The key that the code at work is for.

    It raises `OutsideRun` outside a run, in a run without partitions, and where several keys are
    handled in one call.
    """
    keys = _keys("current_partition()")
    if len(keys) > 1:
        raise OutsideRun(
            f"current_partition() is asked for, and the call is for {len(keys)} keys",
            "use current_partitions()",
        )
    return keys[0]


def current_partitions() -> list[str]:
    """The keys that the code at work is for; `OutsideRun` where there are none."""
    return list(_keys("current_partitions()"))


def logical_date() -> datetime:
    """The start of the key's window, in its time zone; `OutsideRun` where a key has no time."""
    (key, *others) = _keys("logical_date()")
    if others:
        raise OutsideRun(
            f"logical_date() is asked for, and the call is for {len(others) + 1} keys",
            "use current_partitions(), and the window of each",
        )
    found = now_active()
    window = None if found is None else window_of(found.partitioning, key)
    if window is None:
        kind = "" if found is None or found.partitioning is None else found.partitioning.kind
        raise OutsideRun(
            f"logical_date() is asked for, and {kind} keys have no time", "use current_partition()"
        )
    return window.start


def window_of(rule: Partitioning | None, key: str) -> Window | None:
    """The instants of a key, or of the dimension of it that is of time; None if it has none."""
    if isinstance(rule, Composite):
        if rule.in_time is None:
            return None
        part, key = rule.rules[rule.in_time], rule.parse(key)[rule.in_time]
        return part.window(key) if isinstance(part, TimePartitioning) else None
    return rule.window(key) if isinstance(rule, TimePartitioning) else None


def _keys(what: str) -> tuple[str, ...]:
    found = _ACTIVE.get()
    if found is None:
        raise OutsideRun(
            f"{what} is asked for outside a run",
            "call it from code that 'tranche run' runs, or hand the key over as an argument",
        )
    if found.over:
        raise OutsideRun(
            f"{what} is asked for by a thread whose step is over",
            "wait for threads before the function returns",
        )
    if found.partitioning is None:
        raise OutsideRun(
            f"{what} is asked for in a run without partitions", "add a partitioned line"
        )
    if not found.keys:
        raise OutsideRun(
            f"{what} is asked for in a run that has no key",
            "its fire time lies outside start and end; run it with --partition",
        )
    return found.keys


def _hand_down() -> None:
    """Makes threads that are started from now on know what is active where that happens."""
    global _handed_down
    with _HANDING_DOWN:
        if _handed_down:
            return
        _handed_down = True
        _hand_to_threads()
        _hand_to_pools()


def _hand_to_threads() -> None:
    start = threading.Thread.start

    def start_within(self: threading.Thread) -> None:
        call = now_active()
        if call is not None:
            run = self.run

            def run_within() -> None:
                _ACTIVE.set(call)
                run()

            self.run = run_within  # type: ignore[method-assign]
        start(self)

    threading.Thread.start = start_within  # type: ignore[method-assign]


def _hand_to_pools() -> None:
    submit = ThreadPoolExecutor.submit

    def submit_within(
        self: ThreadPoolExecutor, fn: Callable[..., _T], /, *args: Any, **kwargs: Any
    ) -> Future[_T]:
        return submit(self, _within, now_active(), fn, args, kwargs)

    ThreadPoolExecutor.submit = submit_within  # type: ignore[method-assign,assignment]


def _within(
    call: Active | None, function: Callable[..., _T], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> _T:
    token = _ACTIVE.set(call)
    try:
        return function(*args, **kwargs)
    finally:
        _ACTIVE.reset(token)
