"""Where all keys of an asset stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pytest

from tranche.errors import UsageError
from tranche.model.asset import LakeTable
from tranche.model.partitioning import Daily, Hourly, TimePartitioning
from tranche.model.run import Materialization, Outcome
from tranche.model.script import Script
from tranche.model.trigger import OnAsset
from tranche.planning.grid import Grid, grid_of
from tranche.script.sql import read_sql_script

from .test_catchup import LAKES, Ledger, project

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


def test_keys_that_a_backfill_has_ended_stand_as_they_ended_while_it_goes_on() -> None:
    store = Ledger()
    store.ended("back", "2026-11-03", finished_at=NOW.replace(hour=8))
    store.backfilling("b1", "back", "2026-11-01", "2026-11-02", "2026-11-03", run="r-b1")
    store.ended("back", "2026-11-01")
    store.ended("back", "2026-11-02", "failed")
    found = grid(store, end="2026-11-03")
    assert [cell.standing for cell in found.cells] == ["succeeded", "failed", "running"]


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


def hours(options: str) -> tuple[Script, Hourly]:
    text = (
        f"-- pipeline\n-- partitioned hourly {options}\n-- materialize lake://main/h\nSELECT 1 AS x"
    )
    script = read_sql_script("h", "pipelines/h.sql", text, LAKES).script
    assert script is not None
    assert isinstance(script.partitioning, Hourly)
    return script, script.partitioning


def filled(rule: TimePartitioning, known: Mapping[str, Outcome], store: Ledger) -> None:
    store.began(rule.kind, "lake://main/h")
    entries = [
        Materialization(
            id=key,
            asset="lake://main/h",
            partition=key,
            ordinal=rule.ordinal(key),
            status=status,
            run=rule.kind,
            attempt=rule.kind,
            fingerprint="",
            started_at=NOW,
            finished_at=NOW,
        )
        for key, status in known.items()
    ]
    store.finish_step(store.steps(rule.kind)[0], entries)


@pytest.mark.parametrize(
    "options",
    [
        'start="2026-03-20"',
        'tz="Europe/Paris" start="2026-03-20"',
        'tz="Europe/Paris" format="%Y-%m-%dT%H%z" start="2026-03-20"',
        'tz="Australia/Lord_Howe" start="2026-03-20"',
        'tz="Australia/Lord_Howe" format="%d.%m.%Y %H" start="2026-03-20"',
        'tz="America/New_York" start="2025-10-20" end="2025-11-10"',
    ],
)
def test_stretches_of_the_ledger_say_what_each_key_does(options: str) -> None:
    script, rule = hours(options)
    keys, random = rule.keys(end=rule.end or "2026-04-12"), Random(7)
    known: dict[str, Outcome] = {
        key: "failed" if random.random() < 0.03 else "succeeded"
        for key in keys
        if random.random() < 0.97
    }
    store = Ledger()
    filled(rule, known, store)
    found = grid_of(script, rule, store, NOW, end=keys[-1], whole=True, stale=False)
    assert found is not None
    assert [(cell.key, cell.begins, cell.standing) for cell in found.cells] == [
        (key, rule.parse(key), known.get(key, "missing")) for key in keys
    ]
    assert sum(found.counts.values()) == sum(s.keys for s in found.stretches()) == len(keys)


def test_keys_of_another_partitioning_are_no_keys_of_this_one() -> None:
    script, rule = hours('start="2026-11-01"')
    store = Ledger()
    filled(rule, {"2026-11-02T00": "succeeded"}, store)
    days = Daily().keys(start="2026-11-01", end="2026-11-04")
    filled(Daily(), dict.fromkeys(days, "succeeded"), store)
    found = grid_of(script, rule, store, NOW, end="2026-11-04", whole=True, stale=False)
    assert found is not None
    assert [cell.key for cell in found.cells if cell.standing != "missing"] == ["2026-11-02T00"]


def test_of_very_many_dimensions_not_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tranche.planning.grid._MOST_LINES", 2)
    monkeypatch.setattr("tranche.planning.grid._MOST_CELLS", 4)
    store = Ledger()
    for number, client in enumerate("abc"):
        day = f"2026-11-0{number + 5}"
        ordinal = datetime(2026, 11, number + 5, tzinfo=UTC)
        store.ended("clients", f"{day}|{client}", ordinal=ordinal)
    found = grid(store, "clients")
    assert [line.beside for line in found.lines] == ["a", "b"]
    assert [len(line.letters) for line in found.lines] == [2, 2]
    assert (found.hidden, found.earlier) == (1, 3)
