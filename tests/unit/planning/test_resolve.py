"""Which key a run is for: document 000, rule by rule and failure by failure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tranche.errors import (
    KeyRejected,
    PayloadKeyMissing,
    PayloadKeyNotScalar,
    PayloadMissing,
    StaticKeyMissing,
    TrancheError,
)
from tranche.model.partitioning import (
    Composite,
    Daily,
    Dynamic,
    Hourly,
    Monthly,
    Partitioning,
    Quarterly,
    Static,
    Weekly,
    Yearly,
)
from tranche.model.plan import Request
from tranche.planning.resolve import Resolved, resolve

LATE = datetime(2026, 5, 16, 22, 30, tzinfo=UTC)
TENANT = Dynamic("$.order.tenant")


def request(**given: Any) -> Request:
    return Request(target="t", **{"fire_time": LATE, **given})


@pytest.mark.parametrize(
    ("rule", "key"),
    [
        (Daily(), "2026-05-16"),
        (Daily(tz="Europe/Paris"), "2026-05-17"),
        (Daily(tz="America/New_York"), "2026-05-16"),
        (Daily(tz="America/New_York", format="%Y/%m/%d"), "2026/05/16"),
        (Hourly(), "2026-05-16T22"),
        (Hourly(tz="Asia/Kolkata"), "2026-05-17T04"),
        (Weekly(), "2026-W20"),
        (Monthly(), "2026-05"),
        (Quarterly(), "2026-Q2"),
        (Yearly(), "2026"),
        (Daily(lag=1), "2026-05-15"),
        (Daily(tz="Europe/Paris", lag=3), "2026-05-14"),
        (Monthly(lag=5), "2025-12"),
        (Daily(start="2026-05-16"), "2026-05-16"),
        (Daily(start="2026-05-15", lag=1), "2026-05-15"),
        (Daily(end="2026-05-16"), "2026-05-16"),
        (Daily(end="2026-05-15", lag=1), "2026-05-15"),
    ],
)
def test_time_kinds_follow_the_fire_time(rule: Partitioning, key: str) -> None:
    assert resolve(rule, request()) == Resolved((key,))


def test_the_fire_time_may_be_of_any_zone() -> None:
    fired = datetime(2026, 5, 16, 23, 59, 59, tzinfo=ZoneInfo("Europe/Paris"))
    assert resolve(Daily(tz="Europe/Paris"), request(fire_time=fired)).keys == ("2026-05-16",)
    assert resolve(Daily(), request(fire_time=fired)).keys == ("2026-05-16",)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (Daily(start="2026-06-01"), "it starts at 2026-06-01, and the run fired at 2026-05-16T22:30:00+00:00"),
        (Daily(tz="Europe/Paris", start="2026-06-01"), "it starts at 2026-06-01, and the run fired at 2026-05-17T00:30:00+02:00"),
        (Daily(start="2026-05-16", lag=1), "it starts at 2026-05-16, and the run fired at 2026-05-16T22:30:00+00:00"),
        (Daily(end="2026-05-15"), "it ends at 2026-05-15, and the run fired at 2026-05-16T22:30:00+00:00"),
        (Daily(start="2025-01-01", end="2025-12-31"), "it starts at 2025-01-01 and ends at 2025-12-31, and the run fired at 2026-05-16T22:30:00+00:00"),
    ],
)  # fmt: skip
def test_outside_the_bounds_there_is_no_key(rule: Partitioning, reason: str) -> None:
    assert resolve(rule, request()) == Resolved((), reason)


@pytest.mark.parametrize(
    ("rule", "key"),
    [
        (Daily(), "2020-02-29"),
        (Daily(start="2026-01-01"), "2025-12-31"),
        (Daily(lag=1), "2026-05-16"),
        (Static(["us", "eu"]), "eu"),
        (TENANT, "x' OR '1'='1"),
        (TENANT, "line\nbreak"),
        (TENANT, "{partition}"),
        (TENANT, "x" * 500),
    ],
)
def test_an_explicit_key_is_used_as_it_is(rule: Partitioning, key: str) -> None:
    payload = {"order": {"tenant": "other"}}
    assert resolve(rule, request(partition=key, payload=payload)) == Resolved((key,))


@pytest.mark.parametrize(
    ("rule", "key", "message"),
    [
        (Daily(), "2026-5-1", "'2026-5-1' is no daily key; its keys look like '2026-05-01'"),
        (Daily(), "", "'' is no daily key: it is empty; its keys look like '2026-05-01'"),
        (Daily(), "2026-02-30", "'2026-02-30' is no daily key; its keys look like '2026-05-01'"),
        (Static(["us"]), "eu", "'eu' is no static key; the keys are 'us'"),
        (TENANT, "", "'' is no dynamic key: it is empty; keys look like 'acme'"),
        (TENANT, "a\0b", "'a\\x00b' is no dynamic key: it holds a NUL character; keys look like 'acme'"),
    ],
)  # fmt: skip
def test_a_key_that_does_not_fit_is_rejected(rule: Partitioning, key: str, message: str) -> None:
    with pytest.raises(KeyRejected) as caught:
        resolve(rule, request(partition=key))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("acme", "acme"),
        (7, "7"),
        (1.5, "1.5"),
        (True, "true"),
        (False, "false"),
        ("a b\n'", "a b\n'"),
        (0, "0"),
    ],
)
def test_a_dynamic_key_is_a_scalar_of_the_payload(value: object, key: str) -> None:
    payload = {"order": {"tenant": value}, "tenant": "other"}
    assert resolve(TENANT, request(payload=payload)).keys == (key,)
    assert resolve(
        TENANT, request(payload={"trigger": payload, "order": {"tenant": "no"}})
    ).keys == (key,)


def test_without_a_payload_the_arguments_are_it() -> None:
    assert resolve(Dynamic("$.tenant"), request(arguments={"tenant": "acme"})).keys == ("acme",)
    given = request(arguments={"tenant": "acme"}, payload={"tenant": "other"})
    assert resolve(Dynamic("$.tenant"), given).keys == ("other",)


def test_a_trigger_that_is_no_object_is_data_like_the_rest() -> None:
    assert resolve(Dynamic("$.trigger"), request(payload={"trigger": "nightly"})).keys == (
        "nightly",
    )


@pytest.mark.parametrize(
    ("payload", "error", "message"),
    [
        (None, PayloadMissing, "the key is read from the payload at '$.order.tenant', and there is none; give one with --payload '{…}', or the key itself with --partition"),
        ({}, PayloadMissing, "the key is read from the payload at '$.order.tenant', and there is none; give one with --payload '{…}', or the key itself with --partition"),
        ({"trigger": {}}, PayloadMissing, "the key is read from the payload at '$.order.tenant', and there is none; give one with --payload '{…}', or the key itself with --partition"),
        ({"a": 1, "b": 2}, PayloadKeyMissing, "the payload has nothing at '$.order.tenant': $ holds a, b; send a payload with 'order' there, or give the key with --partition"),
        ({"order": {"id": 1}}, PayloadKeyMissing, "the payload has nothing at '$.order.tenant': $.order holds id; send a payload with 'tenant' there, or give the key with --partition"),
        ({"order": {}}, PayloadKeyMissing, "the payload has nothing at '$.order.tenant': $.order holds nothing; send a payload with 'tenant' there, or give the key with --partition"),
        ({"order": "acme"}, PayloadKeyMissing, "the payload has nothing at '$.order.tenant': $.order holds a text; send a payload with 'tenant' there, or give the key with --partition"),
        ({"order": None}, PayloadKeyMissing, "the payload has nothing at '$.order.tenant': $.order holds null; send a payload with 'tenant' there, or give the key with --partition"),
        ([1], PayloadKeyMissing, "the payload has nothing at '$.order.tenant': $ holds a list; send a payload with 'order' there, or give the key with --partition"),
        ("acme", PayloadKeyMissing, "the payload has nothing at '$.order.tenant': $ holds a text; send a payload with 'order' there, or give the key with --partition"),
        ({"order": {"tenant": None}}, PayloadKeyNotScalar, "the payload has null at '$.order.tenant'; a key is one text, number or boolean; point key= at one"),
        ({"order": {"tenant": {}}}, PayloadKeyNotScalar, "the payload has an object at '$.order.tenant'; a key is one text, number or boolean; point key= at one"),
        ({"order": {"tenant": ["a"]}}, PayloadKeyNotScalar, "the payload has a list at '$.order.tenant'; a key is one text, number or boolean; point key= at one"),
        ({"order": {"tenant": ""}}, KeyRejected, "'' is no dynamic key: it is empty; keys look like 'acme'"),
    ],
)  # fmt: skip
def test_a_payload_without_a_key_says_what_it_has(
    payload: Any, error: type[TrancheError], message: str
) -> None:
    with pytest.raises(error) as caught:
        resolve(TENANT, request(payload=payload))
    assert str(caught.value) == message


def test_static_keys_do_not_follow_from_the_time() -> None:
    with pytest.raises(StaticKeyMissing) as caught:
        resolve(Static(["us", "eu"]), request())
    assert str(caught.value) == (
        "the run has no key, and static keys do not follow from the time;"
        " give one with --partition: us, eu"
    )


DAY_REGION = Composite(day=Daily(lag=1), region=Static(["us", "eu"]))
DAY_TENANT = Composite(day=Daily(start="2027-01-01"), tenant=Dynamic("$.tenant"))


@pytest.mark.parametrize(
    ("rule", "given", "keys"),
    [
        (DAY_REGION, {}, ("2026-05-15|us", "2026-05-15|eu")),
        (DAY_REGION, {"partition": "2026-05-16|eu"}, ("2026-05-16|eu",)),
        (DAY_REGION, {"partition": "region=eu"}, ("2026-05-15|eu",)),
        (DAY_REGION, {"partition": "day=2026-01-01"}, ("2026-01-01|us", "2026-01-01|eu")),
        (DAY_REGION, {"partition": "region=eu|day=2026-01-01"}, ("2026-01-01|eu",)),
        (
            DAY_TENANT,
            {"partition": "day=2026-01-01", "payload": {"tenant": "a|b"}},
            ("2026-01-01|a\\|b",),
        ),
    ],
)
def test_each_dimension_follows_from_what_there_is(
    rule: Composite, given: dict[str, Any], keys: tuple[str, ...]
) -> None:
    assert resolve(rule, request(**given)).keys == keys


def test_a_dimension_for_which_there_is_no_key() -> None:
    found = resolve(DAY_TENANT, request(payload={"tenant": "x"}))
    assert found.keys == ()
    assert (found.reason or "").startswith("day: it starts at 2027-01-01")
    with pytest.raises(PayloadMissing):
        resolve(DAY_TENANT, request(partition="day=2027-01-01"))
    with pytest.raises(KeyRejected, match="'EU' is no static key"):
        resolve(DAY_REGION, request(partition="region=EU"))
    with pytest.raises(KeyRejected, match="1 of 2 segments"):
        resolve(DAY_REGION, request(partition="zone=eu"))
