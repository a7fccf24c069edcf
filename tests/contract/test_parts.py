"""What every store knows of parts alike: which keys were the last to be written to them."""

from __future__ import annotations

from tranche.model.run import KeyParts
from tranche.ports import StateStore

from .builders import AWKWARD_KEYS, ORDERS, a_run, a_step

OTHER = "file:data/other"


def written(store: StateStore, *keys: KeyParts) -> None:
    if store.run("r1") is None:
        store.begin_run(a_run(), [a_step()], ())
    store.finish_step(a_step(status="succeeded"), parts=keys)


def test_nothing_is_known_of_keys_that_have_none(store: StateStore) -> None:
    assert store.parts(ORDERS, ["a", None]) == {}
    written(store, KeyParts(ORDERS, "a", ()))
    assert store.parts(ORDERS, ["a"]) == {}


def test_a_key_has_the_parts_of_its_latest_write(store: StateStore) -> None:
    written(store, KeyParts(ORDERS, "a", ("2", "1")), KeyParts(OTHER, "a", ("1",)))
    assert store.parts(ORDERS, ["a", "b"]) == {"a": ("1", "2")}
    written(store, KeyParts(ORDERS, "a", ("3",)))
    assert store.parts(ORDERS, ["a"]) == {"a": ("3",)}
    assert store.parts(OTHER, ["a"]) == {"a": ("1",)}


def test_a_part_goes_to_who_wrote_it_last(store: StateStore) -> None:
    written(store, KeyParts(ORDERS, "a", ("1", "2")))
    written(store, KeyParts(ORDERS, "b", ("2", "3")))
    assert store.parts(ORDERS, ["a", "b"]) == {"a": ("1",), "b": ("2", "3")}


def test_keys_that_were_written_together_share_parts(store: StateStore) -> None:
    written(store, KeyParts(ORDERS, "a", ("1", "2")), KeyParts(ORDERS, "b", ("1", "2")))
    assert store.parts(ORDERS, ["a", "b"]) == {"a": ("1", "2"), "b": ("1", "2")}
    written(store, KeyParts(ORDERS, None, ("1",)))
    assert store.parts(ORDERS, ["a", "b", None]) == {"a": ("2",), "b": ("2",), None: ("1",)}


def test_a_part_that_keys_share_is_of_none_of_them_alone(store: StateStore) -> None:
    written(store, KeyParts(ORDERS, "a", ("1", "2")), KeyParts(ORDERS, "b", ("1", "2")))
    assert store.sole_parts(ORDERS, ["a"]) == set()
    assert store.sole_parts(ORDERS, ["a", "b", None]) == {"1", "2"}
    written(store, KeyParts(ORDERS, "b", ("2",)), KeyParts(OTHER, "b", ("1",)))
    assert store.sole_parts(ORDERS, ["a"]) == {"1"}
    assert store.sole_parts(ORDERS, ["b"]) == {"2"}


def test_keys_and_parts_are_data(store: StateStore) -> None:
    parts = {key: tuple(sorted((f"{key}-1", f"{key}{'x' * 10_000}"))) for key in AWKWARD_KEYS}
    for key in AWKWARD_KEYS:
        written(store, KeyParts(ORDERS, key, parts[key]))
    assert store.parts(ORDERS, AWKWARD_KEYS) == parts
    for key in AWKWARD_KEYS:
        assert store.sole_parts(ORDERS, [key]) == set(parts[key])


def test_many_parts_and_keys(store: StateStore) -> None:
    keys = [KeyParts(ORDERS, f"k{n}", tuple(f"{n}-{m}" for m in range(3))) for n in range(700)]
    written(store, *keys)
    assert len(store.parts(ORDERS, [key.partition for key in keys])) == 700
    assert len(store.sole_parts(ORDERS, [key.partition for key in keys])) == 2100
