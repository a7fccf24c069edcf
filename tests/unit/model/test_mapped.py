"""Mappings between two partitionings, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tranche.errors import KeyRejected, MapperRejected
from tranche.model.mapped import mapped
from tranche.model.mapped_keys import End, Undeclared, Unlisted, among
from tranche.model.mapping import (
    All,
    AllBefore,
    AllowedKeys,
    FanOut,
    FixedKey,
    Identity,
    Last,
    Mapper,
    Offset,
    Product,
    Rollup,
    StartOfDay,
    StartOfHour,
    StartOfMonth,
    StartOfQuarter,
    StartOfWeek,
    StartOfYear,
    Trailing,
    start_of,
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
    TimePartitioning,
    Weekly,
    Yearly,
)

NEW_YORK = "America/New_York"
REGIONS = Static(["us", "eu"])
TENANTS = Dynamic("$.tenant")
DAY_REGION = Composite([("day", Daily()), ("region", REGIONS)])
MONTH_REGION = Composite([("month", Monthly()), ("region", REGIONS)])
MOMENT = "2026-03-16T09:37:51"


def _listed(keys: Sequence[str] | Unlisted) -> list[str]:
    assert not isinstance(keys, Unlisted)
    return list(keys)


@pytest.mark.parametrize(
    ("mapper", "down", "key"),
    [
        (StartOfHour(), Hourly(format=StartOfHour.format), "2026-03-16T09"),
        (StartOfDay(), Daily(format=StartOfDay.format), "2026-03-16"),
        (StartOfWeek(), Weekly(format=StartOfWeek.format), "2026-03-16 (W12)"),
        (StartOfMonth(), Monthly(format=StartOfMonth.format), "2026-03"),
        (StartOfQuarter(), Quarterly(format=StartOfQuarter.format), "2026-Q1"),
        (StartOfYear(), Yearly(format=StartOfYear.format), "2026"),
        # The consumer's own format and zone win.
        (StartOfWeek(), Weekly(), "2026-W12"),
        (StartOfDay(), Daily(format="%d.%m.%Y"), "16.03.2026"),
        (StartOfDay(), Daily(tz="Asia/Tokyo"), "2026-03-16"),
    ],
)
def test_the_period_in_which_a_moment_lies(mapper: Mapper, down: Partitioning, key: str) -> None:
    mapping = mapped(mapper, Undeclared(), down)
    assert _listed(mapping.downstream(MOMENT)) == [key]
    needed = mapping.upstream(key)
    assert isinstance(needed, Unlisted)
    if down == Daily(tz="Asia/Tokyo"):
        assert needed == Unlisted(
            since=datetime(2026, 3, 15, 15, tzinfo=UTC),
            until=datetime(2026, 3, 16, 15, tzinfo=UTC),
            tz="Asia/Tokyo",
        )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("2026-03-16", "2026-03-16"),
        ("2026-03-16T23:30:00Z", "2026-03-17"),
        ("2026-03-16T23:30:00-04:00", "2026-03-17"),
        ("2026-03-16T09", "2026-03-16"),
    ],
)
def test_a_moment_may_bring_its_own_offset(text: str, key: str) -> None:
    mapping = mapped(StartOfDay(), Undeclared(), Daily(tz="Europe/Paris"))
    assert _listed(mapping.downstream(text)) == [key]


def test_a_text_that_is_no_moment_is_rejected() -> None:
    mapping = mapped(StartOfDay(), Undeclared(), Daily())
    with pytest.raises(KeyRejected, match="'next week' is no time; it should look like"):
        mapping.downstream("next week")


def test_a_composite_key_segment_by_segment() -> None:
    finance = Composite(
        [("unit", TENANTS), ("day", Daily()), ("figure", Static(["Revenue", "ARR"]))]
    )
    mapper = Product(Identity(), StartOfDay(), AllowedKeys(["Revenue", "ARR"]))
    mapping = mapped(mapper, Undeclared(), finance)
    assert _listed(mapping.downstream("Finance|2026-03-16T09:00:00|Revenue")) == [
        "Finance|2026-03-16|Revenue"
    ]
    with pytest.raises(KeyRejected, match="has 2 of 3 segments"):
        mapping.downstream("Finance|2026-03-16T09:00:00")
    with pytest.raises(KeyRejected, match="'Costs' is not allowed; the keys are 'Revenue', 'ARR'"):
        mapping.downstream("Finance|2026-03-16|Costs")
    with pytest.raises(KeyRejected, match="'soon' is no time"):
        mapping.downstream("Finance|soon|ARR")


@pytest.mark.parametrize(
    ("mapper", "up", "down", "upstream_key", "fed", "key", "needed"),
    [
        (Identity(), Daily(), Daily(), "2026-05-01", ["2026-05-01"], "2026-05-01", ["2026-05-01"]),
        (Identity(), REGIONS, REGIONS, "eu", ["eu"], "us", ["us"]),
        (Identity(), TENANTS, TENANTS, "a|b", ["a|b"], "a'b", ["a'b"]),
        (Identity(), DAY_REGION, DAY_REGION, "2026-05-01|eu", ["2026-05-01|eu"], "2026-05-02|us",
         ["2026-05-02|us"]),
        (AllowedKeys(["us"]), REGIONS, REGIONS, "us", ["us"], "eu", []),
        (StartOfDay(), Daily(format="%Y%m%d"), Daily(), "20260501", ["2026-05-01"], "2026-05-02",
         ["20260502"]),
        (StartOfMonth(), Daily(start="2026-02-27"), Monthly(), "2026-03-01", ["2026-03"], "2026-02",
         ["2026-02-27", "2026-02-28"]),
        (StartOfMonth(), Weekly(), Monthly(), "2026-W14", ["2026-03"], "2026-02",
         ["2026-W06", "2026-W07", "2026-W08", "2026-W09"]),
        (Rollup(), Monthly(), Quarterly(), "2026-05", ["2026-Q2"], "2026-Q1",
         ["2026-01", "2026-02", "2026-03"]),
        (Rollup(), Daily(start="2026-05-30", end="2026-06-02"), Monthly(), "2026-06-01", ["2026-06"],
         "2026-06", ["2026-06-01", "2026-06-02"]),
        (FanOut(), Quarterly(), Monthly(), "2026-Q1", ["2026-01", "2026-02", "2026-03"], "2026-06",
         ["2026-Q2"]),
        (Offset(-1), Daily(), Daily(), "2026-05-01", ["2026-05-02"], "2026-05-01", ["2026-04-30"]),
        (Offset(-1), Daily(start="2026-05-01"), Daily(), "2026-05-01", ["2026-05-02"], "2026-05-01",
         []),
        (Offset(2), Weekly(), Weekly(format="%Y-%m-%d (W%V)"), "2026-W12", ["2026-03-02 (W10)"],
         "2026-03-16 (W12)", ["2026-W14"]),
        (Trailing(3), Daily(), Daily(), "2026-05-01", ["2026-05-01", "2026-05-02", "2026-05-03"],
         "2026-05-01", ["2026-04-29", "2026-04-30", "2026-05-01"]),
        (Trailing(3), Daily(start="2026-04-30"), Daily(), "2026-05-01",
         ["2026-05-01", "2026-05-02", "2026-05-03"], "2026-05-01", ["2026-04-30", "2026-05-01"]),
        (FixedKey("eu"), REGIONS, REGIONS, "eu", ["us", "eu"], "us", ["eu"]),
        (FixedKey("eu"), REGIONS, Daily(), "us", [], "2026-05-01", ["eu"]),
        (All(), REGIONS, REGIONS, "eu", ["us", "eu"], "us", ["us", "eu"]),
        (AllBefore(), Daily(start="2026-04-29"), Daily(end="2026-05-02"), "2026-05-01",
         ["2026-05-01", "2026-05-02"], "2026-05-01", ["2026-04-29", "2026-04-30", "2026-05-01"]),
        (Product(Rollup(), Identity()), DAY_REGION, MONTH_REGION, "2026-05-01|eu", ["2026-05|eu"],
         "2026-02|us", [f"2026-02-{day:02}|us" for day in range(1, 29)]),
        (Product(Identity(), All()), DAY_REGION, DAY_REGION, "2026-05-01|eu",
         ["2026-05-01|us", "2026-05-01|eu"], "2026-05-01|us", ["2026-05-01|us", "2026-05-01|eu"]),
        # A dimension that only one end has.
        (Product(Identity(), All()), Daily(), DAY_REGION, "2026-05-01",
         ["2026-05-01|us", "2026-05-01|eu"], "2026-05-01|us", ["2026-05-01"]),
        (Product(Rollup(), All()), DAY_REGION, Quarterly(), "2026-05-01|eu", ["2026-Q2"], "2026-Q1",
         [f"{day}|{region}" for day in Daily().keys(start="2026-01-01", end="2026-03-31")
          for region in ("us", "eu")]),
        (Product(All(), Identity()), REGIONS, Composite(tenant=Static(["a|b"]), region=REGIONS), "eu",
         ["a\\|b|eu"], "a\\|b|us", ["us"]),
        # Summer time: a day has the hours that its clocks show.
        (Rollup(), Hourly(tz=NEW_YORK), Daily(tz=NEW_YORK), "2026-03-08T03", ["2026-03-08"],
         "2026-03-08", [f"2026-03-08T{hour:02}" for hour in range(24) if hour != 2]),
        (Rollup(), Hourly(tz=NEW_YORK, format="%Y-%m-%dT%H%z"), Daily(tz=NEW_YORK),
         "2026-11-01T01-0500", ["2026-11-01"], "2026-11-01",
         ["2026-11-01T00-0400", "2026-11-01T01-0400"]
         + [f"2026-11-01T{hour:02}-0500" for hour in range(1, 24)]),
    ],
)  # fmt: skip
def test_both_directions(
    mapper: Mapper,
    up: Partitioning,
    down: Partitioning,
    upstream_key: str,
    fed: list[str],
    key: str,
    needed: list[str],
) -> None:
    mapping = mapped(mapper, up, down)
    assert _listed(mapping.downstream(upstream_key)) == fed
    assert _listed(mapping.upstream(key)) == needed


@pytest.mark.parametrize(
    ("mapper", "up", "down", "upstream_key", "fed", "key", "needed"),
    [
        (All(), Daily(), Daily(), "2026-05-01", Unlisted(), "2026-05-01", Unlisted()),
        (All(), REGIONS, Daily(), "eu", Unlisted(), "2026-05-01", ("us", "eu")),
        (Last(), REGIONS, Daily(), "eu", Unlisted(), "2026-05-01", Unlisted("last")),
        (FixedKey("eu"), REGIONS, Daily(), "eu", Unlisted(), "2026-05-01", ("eu",)),
        (AllBefore(), Daily(), Monthly(), "2026-05-04",
         Unlisted(since=datetime(2026, 5, 1, tzinfo=UTC)), "2026-05",
         Unlisted(until=datetime(2026, 6, 1, tzinfo=UTC))),
        (Product(All(), Identity()), DAY_REGION, REGIONS, "2026-05-01|eu", ("eu",), "us",
         Unlisted(parts=(Unlisted(), ("us",)))),
        (Product(All(), Identity()), DAY_REGION, DAY_REGION, "2026-05-01|eu",
         Unlisted(parts=(Unlisted(), ("eu",))), "2026-05-01|us",
         Unlisted(parts=(Unlisted(), ("us",)))),
    ],
)  # fmt: skip
def test_keys_that_nobody_lists(
    mapper: Mapper,
    up: Partitioning,
    down: Partitioning,
    upstream_key: str,
    fed: Unlisted,
    key: str,
    needed: Unlisted,
) -> None:
    mapping = mapped(mapper, up, down)
    assert mapping.downstream(upstream_key) == fed
    assert mapping.upstream(key) == needed


@pytest.mark.parametrize(
    ("mapper", "up", "down", "reason"),
    [
        (Identity(), Daily(), Monthly(), "from daily to monthly keys, and keys of the one"),
        (Identity(), REGIONS, Daily(), "from static to daily keys, and keys of the one"),
        (Identity(), REGIONS, Static(["jp"]), "no key in common"),
        (Identity(), DAY_REGION, Daily(), "not as many dimensions"),
        (Identity(), DAY_REGION, MONTH_REGION, "keys of the one are none of the other"),
        (AllowedKeys(["jp"]), REGIONS, REGIONS, "'jp' is no static key"),
        (AllowedKeys(["2026-5-1"]), Undeclared(), Daily(), "'2026-5-1' is no daily key"),
        (StartOfDay(), Hourly(), Monthly(), "it makes daily keys"),
        (StartOfDay(), REGIONS, Daily(), "static keys have no time"),
        (Rollup(), Monthly(), Daily(), "from shorter periods to longer ones"),
        (Rollup(), REGIONS, Daily(), "needs keys of time at both ends"),
        (FanOut(), Daily(), Monthly(), "from longer periods to shorter ones"),
        (Offset(-1), Daily(), Daily(tz=NEW_YORK), "from daily to daily in America/New_York"),
        (Trailing(2), Daily(), Monthly(), "the same periods at both ends"),
        (Trailing(2), REGIONS, REGIONS, "needs keys of time at both ends"),
        (Offset(1), Hourly(), Hourly(format="%Y-%m-%dT%H%z"), "the same periods at both ends"),
        (AllBefore(), REGIONS, Daily(), "needs keys of time at both ends"),
        (FixedKey("jp"), REGIONS, Daily(), "'jp' is no static key"),
        (
            Product(Identity(), Identity()),
            Daily(),
            DAY_REGION,
            "must be 2 dimensions at one end",
        ),
        (Product(Identity(), Identity(), All()), DAY_REGION, DAY_REGION, "must be 3 dimensions"),
        (Product(Identity(), All()), Daily(), Daily(), "must be 2 dimensions at one end"),
        (Product(Identity(), Last()), DAY_REGION, DAY_REGION, "last key of one dimension"),
        (Product(Rollup(), Identity()), DAY_REGION, DAY_REGION, "shorter periods to longer"),
    ],
)
def test_a_mapper_that_does_not_fit(
    mapper: Mapper, up: End, down: Partitioning, reason: str
) -> None:
    with pytest.raises(MapperRejected, match=reason):
        mapped(mapper, up, down)


def test_a_fan_out_has_a_cap() -> None:
    with pytest.raises(
        KeyRejected, match=r"'2026' feeds 8,760 hourly keys, and 1,000 are the most"
    ):
        mapped(FanOut(), Yearly(), Hourly()).downstream("2026")
    assert len(_listed(mapped(FanOut(9000), Yearly(), Hourly()).downstream("2026"))) == 8760


def test_keys_that_the_ends_do_not_have_are_rejected() -> None:
    mapping = mapped(Identity(), Static(["us", "jp"]), REGIONS)
    with pytest.raises(KeyRejected, match="'jp' is no static key"):
        mapping.downstream("jp")
    with pytest.raises(KeyRejected, match="'xx' is no static key"):
        mapping.downstream("xx")
    assert _listed(mapping.upstream("eu")) == []


@pytest.mark.parametrize("tz", ["UTC", "Asia/Tokyo", NEW_YORK])
@pytest.mark.parametrize("text", [MOMENT, "2026-03-16", "2026-03-16T23:30:00Z", "2026-03-08T02:30"])
def test_a_text_is_needed_by_the_period_that_it_feeds(tz: str, text: str) -> None:
    mapping = mapped(StartOfDay(), Undeclared(), Daily(tz=tz))
    (fed,) = _listed(mapping.downstream(text))
    days = Daily(tz=tz).keys(start="2026-03-01", end="2026-03-31")
    assert [day for day in days if among(Undeclared(), mapping.upstream(day), text)] == [fed]


ZONES = ["UTC", NEW_YORK, "Europe/Paris", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"]
KINDS: list[type[TimePartitioning]] = [Hourly, Daily, Weekly, Monthly, Quarterly, Yearly]
BEGIN = datetime(2009, 1, 1, tzinfo=UTC)


@st.composite
def _links(draw: st.DrawFn) -> tuple[Mapper, TimePartitioning, TimePartitioning]:
    """Two partitionings of time and a mapper that fits them."""
    up_kind, down_kind = draw(st.sampled_from(KINDS)), draw(st.sampled_from(KINDS))
    zone = draw(st.sampled_from(ZONES))
    start = draw(st.sampled_from([None, "2011-11-15"]))
    formatted = "%Y-%m-%dT%H%z" if up_kind is Hourly and draw(st.booleans()) else None
    up = up_kind(tz=zone, start=start, format=formatted)
    down = down_kind(tz=draw(st.sampled_from([zone, *ZONES])))
    moves = [Offset(draw(st.integers(-40, 40))), Trailing(draw(st.integers(1, 40)))]
    mappers: list[Mapper] = [
        start_of(down.kind),
        Rollup(),
        FanOut(10_000),
        AllBefore(),
        All(),
        Identity(),
        *moves,
    ]
    fitting = []
    for mapper in mappers:
        try:
            mapped(mapper, up, down)
        except MapperRejected:
            continue
        fitting.append(mapper)
    return draw(st.sampled_from(fitting)), up, down


@settings(max_examples=400, deadline=None)
@given(_links(), st.integers(0, 60 * 24 * 365 * 6), st.integers(-60 * 24 * 60, 60 * 24 * 60))
def test_a_key_is_fed_by_exactly_what_it_needs(
    link: tuple[Mapper, TimePartitioning, TimePartitioning], minutes: int, apart: int
) -> None:
    mapper, up, down = link
    mapping = mapped(mapper, up, down)
    at = BEGIN + timedelta(minutes=minutes)
    above = up.key_at(at)
    if above is None:
        return
    for instant in (at, at + timedelta(minutes=apart), up.window(above).start):
        below = down.key_at(instant)
        assert below is not None
        fed = among(down, mapping.downstream(above), below)
        assert fed == among(up, mapping.upstream(below), above)
    found = mapping.downstream(above)
    if not isinstance(found, Unlisted):
        for key in found:
            assert among(up, mapping.upstream(key), above)


@settings(max_examples=150, deadline=None)
@given(
    _links(),
    st.sampled_from(["both", "up", "down"]),
    st.sampled_from([Identity(), All(), AllowedKeys(["us"])]),
    st.integers(0, 60 * 24 * 365 * 6),
    st.integers(-60 * 24 * 60, 60 * 24 * 60),
)
def test_so_it_is_with_several_dimensions(
    link: tuple[Mapper, TimePartitioning, TimePartitioning],
    where: str,
    region: Mapper,
    minutes: int,
    apart: int,
) -> None:
    mapper, up_time, down_time = link
    if isinstance(mapper, All):
        return
    up = Composite([("t", up_time), ("r", REGIONS)]) if where != "down" else up_time  # type: ignore[list-item]
    down = Composite([("t", down_time), ("r", REGIONS)]) if where != "up" else down_time  # type: ignore[list-item]
    mapping = mapped(Product(mapper, region if where == "both" else All()), up, down)  # type: ignore[arg-type]
    at = BEGIN + timedelta(minutes=minutes)
    above, below = up_time.key_at(at), down_time.key_at(at + timedelta(minutes=apart))
    if above is None or below is None:
        return
    aboves = [f"{above}|us", f"{above}|eu"] if where != "down" else [above]
    belows = [f"{below}|us", f"{below}|eu"] if where != "up" else [below]
    for one in aboves:
        for other in belows:
            try:
                fed = among(down, mapping.downstream(one), other)  # type: ignore[arg-type]
            except KeyRejected:
                fed = False
            assert fed == among(up, mapping.upstream(other), one)  # type: ignore[arg-type]
