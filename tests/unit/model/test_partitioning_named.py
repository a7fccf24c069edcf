"""Static and dynamic partitionings: keys that are names."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import pytest

from tranche.errors import KeyRejected, PartitioningError
from tranche.model.partitioning import Dynamic, Static

REGIONS = Static(["us", "eu", "jp"])


def test_static_keys_are_the_ones_listed() -> None:
    assert REGIONS.kind == "static"
    assert REGIONS.keys() == ("us", "eu", "jp")
    assert REGIONS.example() == "us"
    assert REGIONS.validate("eu") == "eu"
    assert REGIONS.ordinal("eu") is None
    assert REGIONS.describe() == 'static keys="us,eu,jp"'
    assert Static(keys=('a"b', "c\\d")).describe() == r'static keys="a\"b,c\\d"'
    assert not hasattr(REGIONS, "key_at")
    assert not hasattr(REGIONS, "window")


def test_static_partitionings_are_values() -> None:
    assert Static(("us", "eu", "jp")) == REGIONS
    assert hash(Static(("us", "eu", "jp"))) == hash(REGIONS)
    assert Static(["eu", "us", "jp"]) != REGIONS
    assert pickle.loads(pickle.dumps(REGIONS)) == REGIONS
    assert repr(REGIONS) == "Static(['us', 'eu', 'jp'])"
    with pytest.raises(FrozenInstanceError):
        REGIONS.values = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("EU", "'EU' is no static key; use 'eu'; the keys are 'us', 'eu', 'jp'"),
        ("asia", "'asia' is no static key; the keys are 'us', 'eu', 'jp'"),
        ("", "'' is no static key; the keys are 'us', 'eu', 'jp'"),
        (None, "None is no static key; the keys are 'us', 'eu', 'jp'"),
        (["us"], "['us'] is no static key; the keys are 'us', 'eu', 'jp'"),
    ],
)
def test_another_key_is_rejected_with_those_there_are(key: str, message: str) -> None:
    for action in (REGIONS.validate, REGIONS.ordinal):
        with pytest.raises(KeyRejected) as caught:
            action(key)
        assert str(caught.value) == message


def test_a_long_list_is_not_shown_in_full() -> None:
    with pytest.raises(KeyRejected, match=r"'k10', 'k11' and 88 more$"):
        Static(f"k{i}" for i in range(100)).validate("zzz")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([], "a static partitioning without keys; give at least one key"),
        (["us", "eu", "us"], "static keys hold 'us' more than once; give each key once"),
        (["us", ""], "'' cannot be a static key: it is empty; give it another name"),
        (["us", 5], "5 cannot be a static key: it is no text; give it another name"),
        (["us,eu"], "'us,eu' cannot be a static key: commas separate the keys; give it another"),
        ([" us"], "' us' cannot be a static key: it has space around it; give it another name"),
        (["u\ns"], r"'u\ns' cannot be a static key: it holds a control character; give it"),
        (["u\0s"], r"'u\x00s' cannot be a static key: it holds a NUL character; give it"),
        ("us,eu", 'static keys \'us,eu\' are no list; use a list such as ["us", "eu"]'),
        (5, 'static keys 5 are no list; use a list such as ["us", "eu"]'),
    ],
)
def test_keys_that_cannot_be_listed_are_explained(keys: list[str], message: str) -> None:
    with pytest.raises(PartitioningError) as caught:
        Static(keys)
    assert str(caught.value).startswith(message)


def test_nothing_lies_between_two_static_keys() -> None:
    for start, end in (("us", None), (None, "eu"), ("us", "eu")):
        with pytest.raises(PartitioningError) as caught:
            REGIONS.keys(start, end)
        assert str(caught.value) == "static keys have no order; leave start and end out"


def test_a_dynamic_key_has_a_path() -> None:
    tenant = Dynamic("$.order.tenant_id")
    assert tenant.kind == "dynamic"
    assert tenant.path == ("order", "tenant_id")
    assert Dynamic(key="$.größe-2").path == ("größe-2",)
    assert tenant.describe() == 'dynamic key="$.order.tenant_id"'
    assert tenant == Dynamic(key="$.order.tenant_id")
    assert pickle.loads(pickle.dumps(tenant)) == tenant
    assert tenant.validate(tenant.example()) == tenant.example()
    assert not hasattr(tenant, "key_at")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("$", "it names the whole payload"),
        ("", "it does not begin with '$.'"),
        ("a.b", "it does not begin with '$.'"),
        ("$a", "it does not begin with '$.'"),
        ("$[0]", "it does not begin with '$.'"),
        ("$.", "a name between the dots is empty"),
        ("$.a.", "a name between the dots is empty"),
        ("$..a", "a name between the dots is empty"),
        ("$.a[0]", "array indexes and brackets are not supported"),
        ("$.a['b']", "array indexes and brackets are not supported"),
        ("$.a.*", "wildcards are not supported"),
        ("$.a[*]", "wildcards are not supported"),
        ("$.a[?(@.b)]", "filters are not supported"),
        ("$.a b", "it holds a space, a quote or the like"),
        ('$.a"b', "it holds a space, a quote or the like"),
        (None, "it is no text"),
    ],
)
def test_other_paths_are_explained(path: str, reason: str) -> None:
    with pytest.raises(PartitioningError) as caught:
        Dynamic(path)
    assert str(caught.value) == (
        f"dynamic key {path!r} is no path: {reason}; "
        "use names with dots between them, such as '$.order.tenant'"
    )


@pytest.mark.parametrize(
    "key", ["acme", "a|b", "a,b", "'; DROP TABLE x; --", "../..", "日本", "a\nb", " ", "x" * 1000]
)
def test_any_text_can_be_a_dynamic_key(key: str) -> None:
    assert Dynamic("$.a").validate(key) == key
    assert Dynamic("$.a").ordinal(key) is None


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("", "it is empty"),
        ("a\0", "it holds a NUL character"),
        ("a\udc80", "it holds half a character (a lone surrogate)"),
        ("x" * 1001, "it has 1001 characters, and 1000 are the most"),
        (5, "a key is text"),
        (None, "a key is text"),
    ],
)
def test_what_cannot_be_stored_is_no_key(key: str, reason: str) -> None:
    with pytest.raises(KeyRejected) as caught:
        Dynamic("$.a").validate(key)
    assert caught.value.what.endswith(f" is no dynamic key: {reason}")
    assert caught.value.remedy == "keys look like 'acme'"


def test_dynamic_keys_cannot_be_listed() -> None:
    with pytest.raises(PartitioningError) as caught:
        Dynamic("$.a").keys()
    assert str(caught.value) == (
        "dynamic keys come from payloads and cannot be listed; name the keys"
    )
