"""Where all keys of an asset stand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tranche.errors import UsageError
from tranche.model.asset import LakeTable
from tranche.model.trigger import OnAsset
from tranche.planning.grid import Grid, grid_of

from .test_catchup import Ledger, project

NOW = datetime(2026, 11, 10, 9, tzinfo=UTC)


def grid(store: Ledger, name: str = "back", **bounds: str) -> Grid:
    script = project(name).script(name)
    assert script is not None
    assert script.partitioning is not None
    found = grid_of(script, script.partitioning, store, NOW, **bounds)
    assert found is not None
    return found


def test_each_key_stands_somewhere() -> None:
    store = Ledger()
    store.ended("back", "2026-11-01")
    store.ended("back", "2026-11-02")
    store.ended("back", "2026-11-02", "failed")
    store.ended("back", "2026-11-03", "cancelled")
    store.ended("back", "2026-11-04", fingerprint="of then")
    store.claimed("r-now", "lake://main/back", "2026-11-05")
    store.backfilling("b1", "back", "2026-11-06", "2026-11-07", run="r-b1")
    found = grid(store)
    assert [cell.standing for cell in found.cells] == [
        *("succeeded", "failed", "cancelled", "stale"),
        *("running", "running", "running", "missing", "missing"),
    ]
    assert found.counts["running"] == 3
    assert [(s.first, s.last, s.standing, s.keys) for s in found.stretches()][-2:] == [
        ("2026-11-05", "2026-11-07", "running", 3),
        ("2026-11-08", "2026-11-09", "missing", 2),
    ]


def test_a_key_that_was_built_before_all_was_there() -> None:
    store = Ledger()
    store.ended("back", "2026-11-01")
    store.ended("back", "2026-11-02", provisional=True)
    store.ended("back", "2026-11-03", provisional=True, fingerprint="of then")
    script = project("back").script("back")
    assert script is not None
    assert script.partitioning is not None
    on = OnAsset(LakeTable("main", "a"), deadline="06:00")
    late = replace(script, annotations=replace(script.annotations, triggers=(on,)))
    found = grid_of(late, script.partitioning, store, NOW, end="2026-11-03")
    assert found is not None
    assert [cell.standing for cell in found.cells] == ["succeeded", "provisional", "stale"]


def test_up_to_the_last_complete_period_or_what_was_tried_since() -> None:
    store = Ledger()
    assert grid(store).cells[-1].key == "2026-11-09"
    store.ended("back", "2026-11-10")
    assert grid(store).cells[-1].key == "2026-11-10"


def test_a_range_of_them() -> None:
    found = grid(Ledger(), start="2026-11-03", end="2026-11-04")
    assert [cell.key for cell in found.cells] == ["2026-11-03", "2026-11-04"]
    assert found.since == datetime(2026, 11, 3, tzinfo=UTC)
    assert found.until == datetime(2026, 11, 5, tzinfo=UTC)


def test_without_a_start_from_the_first_that_is_known() -> None:
    store = Ledger()
    assert grid(store, "endless").cells == ()
    store.ended("endless", "2026-11-07", asset="lake://main/e")
    assert [cell.key for cell in grid(store, "endless").cells] == [
        *("2026-11-07", "2026-11-08", "2026-11-09"),
    ]


def test_of_very_many_the_latest() -> None:
    store = Ledger()
    store.ended("endless", "2020-01-01", asset="lake://main/e")
    found = grid(store, "endless")
    assert (len(found.cells), found.cells[-1].key) == (366, "2026-11-09")
    assert found.earlier == 2505 - 366
    assert len(grid(store, "endless", start="2020-01-01").cells) == 2505


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ({"start": "soon"}, "'soon' is no daily key"),
        ({"start": "2026-05-02", "end": "2026-05-01"}, "the range ends before it starts"),
        ({"start": "0001-01-01"}, "narrow them with --start and --end"),
    ],
)
def test_bounds_that_mean_nothing(bounds: dict[str, str], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        grid(Ledger(), "endless", **bounds)


def test_of_several_dimensions_there_is_time_for_each_of_the_others() -> None:
    store = Ledger()
    ordinal = datetime(2026, 11, 9, tzinfo=UTC)
    store.ended("sales", "eu|2026-11-09", ordinal=ordinal)
    store.ended("sales", "us|2026-11-09", "failed", ordinal=ordinal)
    found = grid(store, "sales")
    assert [(cell.key, cell.beside, cell.standing) for cell in found.cells] == [
        ("us|2026-11-08", "us", "missing"),
        ("us|2026-11-09", "us", "failed"),
        ("eu|2026-11-08", "eu", "missing"),
        ("eu|2026-11-09", "eu", "succeeded"),
    ]
    assert [(s.first, s.standing) for s in found.stretches()] == [
        ("us|2026-11-08", "missing"),
        ("us|2026-11-09", "failed"),
        ("eu|2026-11-08", "missing"),
        ("eu|2026-11-09", "succeeded"),
    ]


def test_of_dimensions_that_nobody_can_list_what_is_known() -> None:
    store = Ledger()
    assert grid(store, "clients").cells == ()
    ordinal = datetime(2026, 11, 9, tzinfo=UTC)
    store.ended("clients", "2026-11-09|a\\|b", ordinal=ordinal)
    found = grid(store, "clients")
    assert [(cell.key, cell.beside) for cell in found.cells] == [("2026-11-09|a\\|b", "a\\|b")]
