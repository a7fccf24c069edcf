"""Mappers that need not be written."""

from __future__ import annotations

import pytest

from tranche.errors import MapperRejected
from tranche.model.mapped import mapped
from tranche.model.mapped_keys import End, Undeclared
from tranche.model.mapping import All, AllowedKeys, Identity, Mapper, Product, Rollup, StartOfDay
from tranche.model.mapping_inferred import implied, inferred
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

PARIS = "Europe/Paris"
REGIONS = Static(["us", "eu"])
TENANTS = Dynamic("$.tenant")


@pytest.mark.parametrize(
    ("up", "down", "mapper"),
    [
        (Daily(), Daily(start="2026-01-01", lag=1, lookback=2), "identity"),
        (Daily(tz=PARIS), Daily(), "identity"),
        (Daily(), Daily(format="%Y%m%d"), "start_of_day"),
        (Hourly(tz=PARIS), Daily(tz=PARIS), "rollup"),
        (Hourly(), Yearly(), "rollup"),
        (Daily(), Weekly(), "rollup"),
        (Monthly(), Quarterly(), "rollup"),
        (Daily(), Hourly(), "fan_out"),
        (Yearly(), Quarterly(), "fan_out"),
        (REGIONS, REGIONS, "identity"),
        (Static(["us"]), REGIONS, "identity"),
        (REGIONS, TENANTS, "identity"),
        (TENANTS, Dynamic("$.other"), "identity"),
        (Undeclared(), Daily(), "identity"),
        (
            Composite([("d", Daily()), ("r", REGIONS)]),
            Composite([("day", Daily()), ("r", REGIONS)]),
            "identity",
        ),
        (
            Composite([("d", Daily()), ("r", REGIONS)]),
            Composite([("m", Monthly()), ("r", REGIONS)]),
            "product(rollup, identity)",
        ),
        (Daily(), Composite(day=Daily(), region=REGIONS), "product(identity, all)"),
        (Daily(), Composite(region=REGIONS, hour=Hourly()), "product(all, fan_out)"),
        (Composite(day=Daily(), region=REGIONS), Monthly(), "product(rollup, all)"),
        (Composite(day=Daily(), region=REGIONS), REGIONS, "product(all, identity)"),
        (
            Composite(day=Daily(), region=REGIONS, tenant=TENANTS),
            Composite(day=Daily(), tenant=TENANTS),
            "product(identity, all, identity)",
        ),
    ],
)
def test_only_one_makes_sense(up: End, down: Partitioning, mapper: str) -> None:
    found = inferred(up, down)
    assert str(found) == mapper
    mapped(found, up, down)


@pytest.mark.parametrize(
    ("up", "down", "message"),
    [
        (REGIONS, Daily(), "static keys feed daily ones, and no mapping says how; choose map=all, last or fixed(…)"),
        (Daily(tz=PARIS), Monthly(), "daily in Europe/Paris keys feed monthly ones, and no mapping says how; choose map=start_of_month, rollup, all_before, all, last or fixed(…)"),
        (Weekly(), Monthly(), "weekly keys feed monthly ones, and no mapping says how; choose map=start_of_month, rollup, all_before, all, last or fixed(…)"),
        (Hourly(), Hourly(format="%Y-%m-%dT%H%z"), "hourly keys feed hourly ones, and no mapping says how; choose map=start_of_hour, all_before, all, last or fixed(…)"),
        (REGIONS, Static(["us"]), "static keys feed static ones, and no mapping says how; choose map=identity, all, last or fixed(…)"),
        (TENANTS, REGIONS, "dynamic keys feed static ones, and no mapping says how; choose map=identity, all, last or fixed(…)"),
        (Composite(d=Daily(), other=Daily()), Daily(), "daily | daily keys feed daily ones, and no mapping says how; choose map=product(…), all, last or fixed(…)"),
        (Composite(d=Daily(), r=Weekly()), REGIONS, "daily | weekly keys feed static ones, and no mapping says how; choose map=product(…), all, last or fixed(…)"),
        (
            Composite([("d", Daily()), ("r", REGIONS)]),
            Composite([("r", REGIONS), ("d", Daily())]),
            "daily | static keys feed static | daily ones, and no mapping says how; choose map=product(…), all, last or fixed(…)",
        ),
    ],
)  # fmt: skip
def test_there_is_more_than_one_or_none(up: End, down: Partitioning, message: str) -> None:
    with pytest.raises(MapperRejected) as caught:
        inferred(up, down)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("mapper", "rule"),
    [
        (StartOfDay(), Daily()),
        (AllowedKeys(["us", "eu"]), REGIONS),
        (
            Product(Identity(), StartOfDay(), AllowedKeys(["ARR"])),
            Composite(part_1=Dynamic("$.part_1"), part_2=Daily(), part_3=Static(["ARR"])),
        ),
        (Product(Identity(), Rollup()), None),
        (Identity(), None),
        (All(), None),
        (None, None),
    ],
)
def test_what_a_mapper_says_of_a_script_that_declares_nothing(
    mapper: Mapper | None, rule: Partitioning | None
) -> None:
    assert implied(mapper) == rule
