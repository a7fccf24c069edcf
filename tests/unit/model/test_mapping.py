"""Mappers as values: what they accept, and how annotations write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tranche
from tranche.errors import MapperRejected
from tranche.model.mapping import (
    MAPPERS,
    PLAIN_MAPPERS,
    AllowedKeys,
    FanOut,
    FixedKey,
    Identity,
    Mapper,
    Offset,
    Product,
    StartOf,
    StartOfDay,
    Trailing,
    start_of,
)
from tranche.script.mappers import parse_mapper
from tranche.script.words import Malformed


@pytest.mark.parametrize(
    ("mapper", "text"),
    [
        (Identity(), "identity"),
        (StartOfDay(), "start_of_day"),
        (Product(Identity(), StartOfDay()), "product(identity, start_of_day)"),
        (AllowedKeys(["us", "eu"]), "allowed(us, eu)"),
        (AllowedKeys(["R, D", "it's", "a (b)"]), "allowed('R, D', 'it''s', 'a (b)')"),
        (FixedKey("global"), "fixed(global)"),
        (FixedKey("日本|a\\b"), "fixed(日本|a\\b)"),
        (Offset(-1), "offset(-1)"),
        (Trailing(7), "trailing(7)"),
        (FanOut(), "fan_out"),
        (FanOut(31), "fan_out(31)"),
        (
            Product(AllowedKeys(["a"]), FanOut(5), Trailing(2)),
            "product(allowed(a), fan_out(5), trailing(2))",
        ),
    ],
)
def test_a_mapper_reads_back_as_it_is_written(mapper: Mapper, text: str) -> None:
    assert str(mapper) == text
    assert parse_mapper(text) == mapper


@pytest.mark.parametrize("name", MAPPERS)
def test_every_mapper_is_public(name: str) -> None:
    assert getattr(tranche, MAPPERS[name].__name__) is MAPPERS[name]


def test_mappers_without_arguments_differ() -> None:
    plain = list(PLAIN_MAPPERS.values())
    assert all(one != other for one in plain for other in plain if one is not other)


@pytest.mark.parametrize("kind", ["hourly", "daily", "weekly", "monthly", "quarterly", "yearly"])
def test_every_kind_has_its_start(kind: str) -> None:
    found = start_of(kind)
    assert isinstance(found, StartOf)
    assert found.kind == kind


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Product(Identity()), "product has 1 mappers"),
        (lambda: Product(Identity(), "identity"), "'identity' cannot stand in a product"),
        (lambda: Product(Identity(), Product(Identity(), Identity())), "cannot stand in a product"),
        (lambda: AllowedKeys([]), "allowed has no keys"),
        (lambda: AllowedKeys("us"), "are no list"),
        (lambda: AllowedKeys(["us", ""]), "it is empty"),
        (lambda: AllowedKeys([1]), "a key is text"),
        (lambda: FixedKey("a\0"), "NUL"),
        (lambda: Offset(1.5), "offset cannot take 1.5"),
        (lambda: Offset(True), "offset cannot take True"),
        (lambda: Trailing(0), "trailing cannot take 0"),
        (lambda: FanOut(-1), "fan_out cannot take -1"),
    ],
)
def test_what_a_mapper_refuses(make: Callable[[], object], what: str) -> None:
    with pytest.raises(MapperRejected, match=what):
        make()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "does not parse"),
        ("7", "does not parse"),
        ("start_of_dy", "unknown mapper 'start_of_dy'"),
        ("identity(x)", "identity has 1 arguments"),
        ("product", "product has 0 arguments"),
        ("product(identity)", "product has 1 arguments"),
        ("product(identity, nonsense)", "unknown mapper 'nonsense'"),
        ("product(identity, product(identity, identity))", "cannot stand in a product"),
        ("allowed(", "empty argument"),
        ("allowed(a,)", "empty argument"),
        ("allowed(a", "not closed"),
        ("allowed('a", "empty argument"),
        ("fixed(a,b)", "fixed has 2 arguments"),
        ("offset(x)", "offset\\(x\\) needs a number"),
        ("trailing(0)", "trailing cannot take 0"),
        ("trailing(99999999999)", "needs a number"),
        ("all) ", "unexpected"),
    ],
)
def test_what_an_annotation_cannot_say(text: str, what: str) -> None:
    with pytest.raises(Malformed, match=what):
        parse_mapper(text)
