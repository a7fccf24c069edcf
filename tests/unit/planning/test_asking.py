"""What events ask for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tranche.model.event import Event
from tranche.model.mapped_keys import Unlisted
from tranche.model.project import Project
from tranche.planning.asking import Asked, Consumers
from tranche.planning.graph import build_graph

NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)


@pytest.fixture
def asked(project: Callable[..., Project]) -> Callable[..., list[Asked]]:
    def found(texts: dict[str, str], asset: str, key: str | None) -> list[Asked]:
        graph = build_graph(project(texts).scripts)
        event = Event(id="e", asset=f"lake://main/{asset}", partition=key, at=NOON)
        return Consumers(graph).asked_by(event)

    return found


AskedFor = Callable[..., list[Asked]]


@pytest.mark.parametrize(
    ("consumer", "key", "keys"),
    [
        # Of a source, whose keys may be any text.
        ("on lake://main/src; partitioned daily", "2026-05-16", ("2026-05-16",)),
        ("on lake://main/src map=start_of_day", "2026-05-16T09:37:51", ("2026-05-16",)),
        ("on lake://main/src map=start_of_week", "2026-03-16T09:37:51", ("2026-03-16 (W12)",)),
        (
            "on lake://main/src map=product(identity, start_of_day, allowed(Revenue, ARR))",
            "Finance|2026-03-16T09:00:00|Revenue",
            ("Finance|2026-03-16|Revenue",),
        ),
        # An event without a key asks for what has no partitions, and one with a key for what has.
        ("on lake://main/src", None, (None,)),
        ("on lake://main/src", "2026-05-16", ()),
        ("on lake://main/src map=all", "2026-05-16", (None,)),
        ("on lake://main/src map=fixed(a)", "a", (None,)),
        ("on lake://main/src map=fixed(a)", "b", ()),
        # Keys outside the bounds are not begun.
        ('on lake://main/src; partitioned daily start="2027-01-01"', "2026-05-16", ()),
        # Of what another script makes.
        ("on lake://main/d; partitioned daily", "2026-05-16", ("2026-05-16",)),
        ("on lake://main/d; partitioned monthly", "2026-05-16", ("2026-05",)),
        (
            "on lake://main/d map=trailing(2); partitioned daily",
            "2026-05-16",
            ("2026-05-16", "2026-05-17"),
        ),
        ("on lake://main/d map=all", "2026-05-16", (None,)),
        ("on lake://main/w", None, (None,)),
        # Nothing that it names.
        ("on lake://main/other; partitioned daily", "2026-05-16", None),
    ],
)
def test_keys_that_should_run(
    asked: AskedFor, consumer: str, key: str | None, keys: tuple[str | None, ...] | None
) -> None:
    texts = {
        "d": "partitioned daily; materialize lake://main/d",
        "w": "materialize lake://main/w",
        "script": consumer,
    }
    asset = consumer.removeprefix("on lake://main/").split()[0].rstrip(";")
    found = asked(texts, "src" if keys is None else asset, key)
    assert [each.keys for each in found] == ([] if keys is None else [keys])
    assert all(each.rejected is None for each in found)


def test_what_feeds_every_key_releases_those_that_wait(asked: AskedFor) -> None:
    texts = {
        "r": 'partitioned static keys="us,eu"; materialize lake://main/r',
        "w": "materialize lake://main/w",
        "d": "on lake://main/r map=all; on lake://main/w; partitioned daily",
    }
    assert [(each.keys, each.released) for each in asked(texts, "r", "eu")] == [((), Unlisted())]
    assert [(each.keys, each.released) for each in asked(texts, "w", None)] == [((), Unlisted())]


@pytest.mark.parametrize(
    ("consumer", "key", "reason"),
    [
        ("on lake://main/src; partitioned daily", "today", "lake://main/src today: 'today' is no daily key; its keys look like '2026-05-01'"),
        ("on lake://main/src map=start_of_day", "today", "lake://main/src today: 'today' is no time; it should look like '2026-03-16T09:37:51' or '2026-03-16'"),
        ("on lake://main/src map=allowed(a, b)", "c", "lake://main/src c: 'c' is not allowed; the keys are 'a', 'b'"),
        ("on lake://main/src map=product(identity, start_of_day)", "Finance", "lake://main/src Finance: 'Finance' has 1 of 2 segments; separate segments by |"),
        ("on lake://main/src map=fan_out; partitioned daily", "x", "map=fan_out does not fit: from undeclared to daily keys, and it needs keys of time at both ends; choose map=identity, start_of_day, all, last or fixed(…)"),
    ],
)  # fmt: skip
def test_what_a_script_cannot_take_is_said_of_the_script(
    asked: AskedFor, consumer: str, key: str, reason: str
) -> None:
    texts = {"script": consumer, "other": "on lake://main/src map=all"}
    found = {each.script.name: each for each in asked(texts, "src", key)}
    assert found["script"].rejected == reason
    assert found["other"].keys == (None,)


def test_the_current_rows_of_a_history_are_the_history(asked: AskedFor) -> None:
    texts = {
        "h": "materialize lake://main/h key=id history :: SELECT 1 AS id",
        "c": "on lake://main/h_current",
    }
    assert [each.keys for each in asked(texts, "h", None)] == [(None,)]


@pytest.mark.parametrize(
    ("payload", "keys", "rejected"),
    [
        ({"who": {"tenant": "a'b"}}, ("a'b",), None),
        ({"who": {}}, (), "lake://main/src: the payload has nothing at '$.who.tenant'"),
        ({"who": {"tenant": [1]}}, (), "lake://main/src: the payload has a list"),
        ({"who": {"tenant": ""}}, (), "lake://main/src: '' is no dynamic key"),
    ],
)
def test_a_dynamic_key_may_stand_in_the_payload(
    project: Callable[..., Project],
    payload: dict[str, object],
    keys: tuple[str, ...],
    rejected: str | None,
) -> None:
    text = 'on lake://main/src; partitioned dynamic key="$.who.tenant"; materialize lake://main/t'
    graph = build_graph(project({"t": text}).scripts)
    event = Event(id="e", asset="lake://main/src", partition=None, at=NOON, payload=payload)
    (asked,) = Consumers(graph).asked_by(event)
    assert asked.keys == keys
    assert (asked.rejected or "").startswith(rejected or "") and bool(asked.rejected) == bool(
        rejected
    )
