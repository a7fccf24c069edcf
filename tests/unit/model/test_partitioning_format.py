"""Key formats: what they render, what they read, which of them identify a period."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tranche.errors import BadFormat
from tranche.model.partitioning_format import DEFAULTS, compile_format

LABELS = {
    "hourly": datetime(2026, 5, 16, 9),
    "daily": datetime(2026, 5, 16),
    "weekly": datetime(2026, 5, 11),
    "monthly": datetime(2026, 5, 1),
    "quarterly": datetime(2026, 4, 1),
    "yearly": datetime(2026, 1, 1),
}


@pytest.mark.parametrize(
    ("kind", "text", "key"),
    [
        ("hourly", "%Y-%m-%dT%H", "2026-05-16T09"),
        ("hourly", "%Y%m%d%H", "2026051609"),
        ("hourly", "%Y/%j/%H", "2026/136/09"),
        ("hourly", "%G-W%V-%u %H Uhr", "2026-W20-6 09 Uhr"),
        ("daily", "%Y-%m-%d", "2026-05-16"),
        ("daily", "%d.%m.%Y", "16.05.2026"),
        ("daily", "%Y/%m/%d/%Y-%m-%d", "2026/05/16/2026-05-16"),
        ("daily", "%Y%j", "2026136"),
        ("daily", "%G%V%u", "2026206"),
        ("daily", "%Y-%m-%d %H", "2026-05-16 00"),
        ("daily", "100%% %Y年%m月%d日", "100% 2026年05月16日"),
        ("daily", "(.*)%Y[%m]{%d}", "(.*)2026[05]{16}"),
        ("weekly", "%G-W%V", "2026-W20"),
        ("weekly", "%Y-%m-%d (W%V)", "2026-05-11 (W20)"),
        ("weekly", "%Y week %V of %G", "2026 week 20 of 2026"),
        ("monthly", "%Y-%m", "2026-05"),
        ("monthly", "%Y-%m-01", "2026-05-01"),
        ("monthly", "%Y-%m-%d", "2026-05-01"),
        ("monthly", "%m of %Y, first week %G-%V", "05 of 2026, first week 2026-18"),
        ("quarterly", "%Y-Q%q", "2026-Q2"),
        ("quarterly", "%Y-%m", "2026-04"),
        ("yearly", "%Y", "2026"),
        ("yearly", "FY%Y from %m/%d", "FY2026 from 01/01"),
    ],
)
def test_a_format_renders_its_period_and_reads_it_back(kind: str, text: str, key: str) -> None:
    compiled = compile_format(kind, text)
    assert compiled.render(LABELS[kind], None) == key
    assert compiled.read(key) == (LABELS[kind], None)


@pytest.mark.parametrize(
    ("offset", "text"),
    [(0, "+0000"), (19800, "+0530"), (-12600, "-0330"), (561, "+000921"), (-60, "-0001")],
)
def test_an_offset_is_part_of_an_hour(offset: int, text: str) -> None:
    compiled = compile_format("hourly", "%z%Y%m%d%H%z")
    label = LABELS["hourly"]
    assert compiled.render(label, offset) == f"{text}2026051609{text}"
    assert compiled.read(f"{text}2026051609{text}") == (label, offset)


@pytest.mark.parametrize("key", ["2026051609-0000", "2026051609+053000", "2026051609+0560"])
def test_an_offset_has_one_spelling(key: str) -> None:
    assert compile_format("hourly", "%Y%m%d%H%z").read(key) is None


@pytest.mark.parametrize(
    ("kind", "text", "key"),
    [
        ("daily", "%Y-%m-%d", "2026-02-30"),
        ("daily", "%Y-%m-%d", "2026-5-1"),
        ("daily", "%Y-%m-%d", "2026-05-01\n"),
        ("daily", "%Y-%m-%d", " 2026-05-01"),
        ("daily", "%Y-%m-%d", "0000-01-01"),
        ("daily", "%Y-%m-%d", "२०२६-०५-०१"),
        ("daily", "%Y/%m/%d/%Y", "2026/05/16/2025"),
        ("daily", "%Y-%m-%d %H", "2026-05-16 01"),
        ("daily", "%Y-%m-%d %u", "2026-05-16 5"),
        ("daily", "%Y%j", "2026366"),
        ("daily", "%Y%j", "2026000"),
        ("daily", "%Y%j", "9999366"),
        ("hourly", "%Y-%m-%dT%H", "2026-05-16T24"),
        ("weekly", "%G-W%V", "2025-W53"),
        ("weekly", "%G-W%V", "2026-W00"),
        ("weekly", "%Y-%m-%d", "2026-03-17"),
        ("monthly", "%Y-%m", "2026-13"),
        ("monthly", "%Y-%m-%d", "2026-05-02"),
        ("quarterly", "%Y-Q%q", "2026-Q0"),
        ("quarterly", "%Y-Q%q", "2026-Q5"),
        ("quarterly", "%Y-%m", "2026-05"),
        ("yearly", "%Y", "26"),
    ],
)
def test_text_that_no_period_renders_to_is_not_read(kind: str, text: str, key: str) -> None:
    assert compile_format(kind, text).read(key) is None


DIRECTIVES = "the directives are %Y %m %d %H %j %G %V %u %q %z %%"


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (
            "daily",
            "%d",
            "format '%d' does not identify a day: %Y and %m are missing; "
            "a daily format needs %Y %m %d, or %Y %j, or %G %V %u",
        ),
        (
            "hourly",
            "%Y-%m-%d",
            "format '%Y-%m-%d' does not identify an hour: %H is missing; "
            "an hourly format needs %Y %m %d %H, or %Y %j %H, or %G %V %u %H",
        ),
        (
            "weekly",
            "%Y-W%V",
            "format '%Y-W%V' does not identify a week: %G is missing; use %G, the year that the "
            "ISO week belongs to, in place of %Y: they differ around New Year",
        ),
        (
            "daily",
            "%G-%m-%d",
            "format '%G-%m-%d' does not identify a day: %Y is missing; "
            "use %Y, the calendar year, in place of %G: they differ around New Year",
        ),
        (
            "quarterly",
            "Q%q",
            "format 'Q%q' does not identify a quarter: %Y is missing; "
            "a quarterly format needs %Y %q, or %Y %m, or %Y %j, or %G %V %u",
        ),
        (
            "yearly",
            "%G",
            "format '%G' does not identify a year: %Y is missing; "
            "use %Y, the calendar year, in place of %G: they differ around New Year",
        ),
        (
            "daily",
            "%y%m%d",
            f"format '%y%m%d' has the unknown directive %y; use %Y; {DIRECTIVES}",
        ),
        (
            "daily",
            "%Y-%m-%d %M",
            f"format '%Y-%m-%d %M' has the unknown directive %M; {DIRECTIVES}",
        ),
        (
            "daily",
            "%Y-%m-%d%",
            "format '%Y-%m-%d%' ends in a single %; "
            "write %% or one of %Y %m %d %H %j %G %V %u %q %z %%",
        ),
        ("daily", "", "format '' is no text; use '%Y-%m-%d' or the like"),
        (
            "daily",
            "%Y%m%d\n",
            r"format '%Y%m%d\n' cannot make keys: it holds the control character '\n'; "
            "use printable text",
        ),
        (
            "daily",
            "%Y%m%d\0",
            r"format '%Y%m%d\x00' cannot make keys: it holds a NUL character; use printable text",
        ),
        (
            "daily",
            "%Y%m%d\ud800",
            r"format '%Y%m%d\ud800' cannot make keys: "
            "it holds half a character (a lone surrogate); use printable text",
        ),
        (
            "daily",
            "%Y-%m-%d%z",
            "format '%Y-%m-%d%z' has %z, and a day has no one offset; "
            "leave %z out; only hourly keys can have it",
        ),
    ],
)
def test_a_format_that_makes_no_keys_is_explained(kind: str, text: str, message: str) -> None:
    with pytest.raises(BadFormat) as caught:
        compile_format(kind, text)
    assert str(caught.value) == message


def test_a_format_whose_keys_would_be_too_long_is_rejected() -> None:
    with pytest.raises(BadFormat, match="its keys would be longer than 1000 characters"):
        compile_format("daily", "%Y-%m-%d" * 100)


@given(st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)))
def test_directives_mean_what_strftime_says(moment: datetime) -> None:
    label = moment.replace(minute=0, second=0, microsecond=0)
    text = "%Y|%m|%d|%H|%j|%G|%V|%u|%%"
    compiled = compile_format("hourly", text)
    key = compiled.render(label, None)
    assert key == label.strftime(text)
    assert compiled.read(key) == (label, None)


def test_years_have_four_digits() -> None:
    assert compile_format("daily", "%Y-%m-%d").render(datetime(33, 4, 3), None) == "0033-04-03"


@given(st.sampled_from(sorted(DEFAULTS)), st.text(max_size=12))
def test_any_text_is_read_or_not_and_never_breaks(kind: str, text: str) -> None:
    compiled = compile_format(kind, DEFAULTS[kind])
    reading = compiled.read(text)
    assert reading is None or compiled.render(*reading) == text
