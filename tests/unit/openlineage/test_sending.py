"""The sender: nothing that happens to it is felt by those who give it something."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from tranche.openlineage.sending import Sender, Undelivered


class Post:
    """Takes values, or does to them what a test wants."""

    def __init__(self, happens: Callable[[str], None] = lambda _: None) -> None:
        self.happens = happens
        self.taken: list[str] = []
        self.noted: list[str] = []
        self.closed: list[float] = []
        self.arrives = True

    def deliver(self, value: str, *, resting: bool) -> int:
        if resting:
            self.noted.append(value)
            return 1
        try:
            self.happens(value)
        except Exception as error:
            raise Undelivered(1, error) from error
        self.taken.append(value)
        return 1

    def close(self, timeout: float) -> bool:
        self.closed.append(timeout)
        return self.arrives


def refuse(_: str) -> None:
    raise ConnectionRefusedError("nobody listens")


def sent(post: Post, values: str, **options: float) -> tuple[list[str], float]:
    """What is said while values are given, and how many seconds that took the giver."""
    said: list[str] = []
    sender = Sender(lambda: post, said.append, **options)  # type: ignore[arg-type]
    began = time.monotonic()
    for value in values:
        sender.put(value)
    sender.close()
    took = time.monotonic() - began
    sender.wait()
    return said, took


def test_values_arrive_in_their_order() -> None:
    post = Post()
    assert sent(post, "abc")[0] == []
    assert post.taken == ["a", "b", "c"]
    assert len(post.closed) == 1


def test_a_failure_is_said_once_and_what_was_lost_is_counted() -> None:
    post = Post(refuse)
    said, took = sent(post, "abcdef")
    assert said == [
        "events of OpenLineage cannot be sent: ConnectionRefusedError: nobody listens",
        "6 events of OpenLineage could not be sent",
    ]
    assert took < 0.5


def test_after_several_failures_it_rests() -> None:
    post = Post(refuse)
    sent(post, "abcdef")
    # What comes meanwhile is noted, as later values may build on it.
    assert post.noted == ["d", "e", "f"]


def test_it_tries_again_after_its_rest() -> None:
    times = iter(range(0, 10_000, 10))
    left = list("abc")

    def at_first(value: str) -> None:
        if value in left:
            left.remove(value)
            refuse(value)

    post = Post(at_first)
    said, _ = sent(post, "abcdefgh", rest=1.0, clock=lambda: float(next(times)), flush=9_000.0)  # type: ignore[arg-type]
    assert post.taken == list("defgh")
    assert said[-1] == "3 events of OpenLineage could not be sent"


def test_what_hangs_is_given_up() -> None:
    stuck = threading.Event()
    post = Post(lambda _: void(stuck.wait(30)))
    began = time.monotonic()
    said, took = sent(post, "abc", flush=0.2)
    assert took < 2
    assert 0.1 < time.monotonic() - began < 5
    assert said == ["3 events of OpenLineage could not be sent"]
    stuck.set()


def test_what_is_slow_gets_as_far_as_it_gets() -> None:
    post = Post(lambda _: time.sleep(0.1))
    said, took = sent(post, "a" * 100, flush=0.35)
    assert took < 2
    assert 1 <= len(post.taken) <= 6
    assert len(said) == 1 and said[0].endswith("events of OpenLineage could not be sent")


def test_what_has_no_room_is_dropped() -> None:
    stuck = threading.Event()
    post = Post(lambda _: void(stuck.wait(30)))
    said: list[str] = []
    sender = Sender(lambda: post, said.append, room=2, flush=5.0)
    for value in "abcdefgh":
        sender.put(value)
    stuck.set()
    sender.wait()
    assert said[0] == (
        "events of OpenLineage cannot be sent: they are made faster than they are taken"
    )
    lost = 8 - len(post.taken)
    assert lost >= 5
    assert said[1:] == [f"{lost} events of OpenLineage could not be sent"]


def test_a_delivery_that_cannot_be_opened() -> None:
    said: list[str] = []

    def opened() -> Post:
        raise ValueError("no such transport")

    sender = Sender(opened, said.append)
    sender.put("a")
    sender.wait()
    assert said == [
        "events of OpenLineage cannot be sent: ValueError: no such transport",
        "1 event of OpenLineage could not be sent",
    ]


def test_nothing_is_taken_once_it_is_closed() -> None:
    post = Post()
    said: list[str] = []
    sender = Sender(lambda: post, said.append)
    sender.wait()
    sender.put("a")
    sender.wait()
    assert post.taken == []
    assert said[-1] == "1 event of OpenLineage could not be sent"


def test_ctrl_c_ends_the_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = threading.Event()
    post = Post(lambda _: void(stuck.wait(30)))
    sender = Sender(lambda: post, lambda _: None, flush=60.0)
    sender.put("a")

    def interrupted(self: threading.Thread, timeout: float | None = None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    began = time.monotonic()
    sender.wait()
    assert time.monotonic() - began < 5
    stuck.set()


def void(_: object) -> None:
    """Nothing, of whatever it is given."""


def test_what_was_taken_and_did_not_arrive_is_said() -> None:
    post = Post()
    post.arrives = False
    assert sent(post, "ab")[0] == ["events of OpenLineage may not have arrived"]
