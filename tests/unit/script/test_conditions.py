"""`trigger <condition>`: what parses, and what is said of the rest."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tranche.model.condition import Asset, Condition, OwnSchedule
from tranche.script.annotations import CommentLine, Header, read_header
from tranche.script.conditions import parse_condition
from tranche.script.words import Malformed

A, B, C = (Asset(f"lake://main/{name}") for name in "abc")
SCHEDULE = OwnSchedule()


def long(text: str) -> str:
    """With addresses of tables for single letters."""
    return re.sub(r"\b[abc]\b", lambda name: f"lake://main/{name[0]}", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", A),
        ("(a)", A),
        ("a & b", A & B),
        ("a|b", A | B),
        ("a & b | c", (A & B) | C),
        ("a | b & c", A | (B & C)),
        ("(a | b) & c", (A | B) & C),
        ("((a & b)) | (c)", (A & B) | C),
        ("a & (b & c)", A & B & C),
        ("  a  &\tb ", A & B),
        ("schedule & a", SCHEDULE & A),
        ("a & a", A),
    ],
)
def test_conditions(text: str, expected: Condition) -> None:
    assert parse_condition(long(text)) == expected


def test_words_and_quotes() -> None:
    assert parse_condition("lake://main/a and lake://main/b OR schedule") == (A & B) | SCHEDULE
    assert parse_condition('"lake://main/a"&"file:///a (1) & \\"b\\".csv"') == A & Asset(
        'file:///a (1) & "b".csv'
    )


WHICH = "name an asset of an 'on' line there, or schedule"
BETWEEN = "write & or | between two assets"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'trigger' says nothing; write trigger all, or trigger (lake://main/a & lake://main/b) | lake://main/c"),
        ("lake://main/a &", f"'trigger lake://main/a &' ends where an asset should follow; {WHICH}"),
        ("& lake://main/a", f"unexpected '&' at character 1 of '& lake://main/a'; {WHICH}"),
        ("lake://main/a & | lake://main/b", f"unexpected '|' at character 17 of 'lake://main/a & | lake://main/b'; {WHICH}"),
        ("lake://main/a && lake://main/b", f"unexpected '&' at character 16 of 'lake://main/a && lake://main/b'; {WHICH}"),
        ("()", f"unexpected ')' at character 2 of '()'; {WHICH}"),
        ("lake://main/a lake://main/b", f"unexpected 'lake://main/b' at character 15 of 'lake://main/a lake://main/b'; {BETWEEN}; put an address with brackets in \"…\""),
        ("lake://main/a)", f"unexpected ')' at character 14 of 'lake://main/a)'; {BETWEEN}; put an address with brackets in \"…\""),
        ("(lake://main/a lake://main/b)", f"unexpected 'lake://main/b' at character 16 of '(lake://main/a lake://main/b)'; {BETWEEN}, and ) at the end of a group"),
        ("lake://main/a | (lake://main/b", "the ( at character 17 of 'lake://main/a | (lake://main/b' is not closed; add )"),
        ("(" * 21 + "a", f"unexpected '(' at character 21 of '{'(' * 21}a'; use fewer brackets, at most 20 within each other"),
        ("lake://main/a & orders", "'orders' is no address, at character 17 of 'lake://main/a & orders'; write lake://<lake>/<table>, file:///… or s3:///…; if this is prose, begin it with another word"),
        ('"lake://main/a', "a quote is not closed in '\"lake://main/a'; end it with \""),
        ("all & lake://main/a", "'all' is no address, at character 1 of 'all & lake://main/a'; write lake://<lake>/<table>, file:///… or s3:///…; if this is prose, begin it with another word"),
    ],
)  # fmt: skip
def test_what_does_not_parse(text: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse_condition(text)
    assert f"{caught.value.what}; {caught.value.remedy}" == message


@given(
    st.lists(st.sampled_from(["a", "&", "|", "(", ")", "and", "schedule", " ", '"'])).map("".join)
)
def test_any_text_parses_or_is_malformed(text: str) -> None:
    with contextlib.suppress(Malformed):
        parse_condition(long(text))


def header(*lines: str) -> Header:
    numbered = enumerate(["pipeline", "partitioned daily", *lines], 1)
    return read_header("s.sql", [CommentLine(number, text) for number, text in numbered], [])


AB = "on lake://main/a", "on lake://main/b"


def test_the_line_may_stand_anywhere() -> None:
    found = header("trigger schedule & lake://main/a", "on lake://main/a", "on schedule")
    assert found.faults == []
    assert found.annotations.condition == SCHEDULE & A
    assert header(*AB, "trigger lake://main/a | lake://main/b").annotations == (
        header(*AB, "trigger lake://main/a or ducklake://main/b").annotations
    )


@pytest.mark.parametrize(
    ("lines", "messages"),
    [
        ((*AB, "trigger lake://main/a & lake://main/b & lake://main/x"), ["5: 'trigger' names lake://main/x, and no 'on' line does; add the line 'on lake://main/x'"]),
        ((*AB, "trigger lake://main/a & lake://main/b & s3:///raw/files"), ["5: 'trigger' names s3:///raw/files, and no 'on' line does; add the line 'on s3:///raw/files'"]),
        ((*AB, "trigger (lake://main/a & lake://main/b) | schedule"), ["5: 'trigger' names the schedule, and no 'on schedule' is there; add one"]),
        ((*AB, "trigger lake://main/a & lake://main/bb"), ["5: 'trigger' names lake://main/bb, and no 'on' line does; did you mean lake://main/b?"]),
        ((*AB, "trigger lake://main/a"), ["4: 'on lake://main/b' could never matter: the 'trigger' line leaves it out; name it there, or remove this line: what is only read needs none"]),
        ((*AB, "on schedule", "trigger lake://main/a & lake://main/b"), ["5: 'on schedule' could never matter: the 'trigger' line leaves it out; name it there, or remove this line: what is only read needs none"]),
        ((*AB, "trigger all", "trigger lake://main/a & lake://main/b"), ["6: a second 'trigger' line, the first is line 5; keep one"]),
        ((*AB, "trigger"), ["5: 'trigger' says nothing; write trigger all, or trigger (lake://main/a & lake://main/b) | lake://main/c"]),
        # Only the line that does not parse is complained about.
        (("on lake://main/a mapp=all", AB[1], "trigger lake://main/a & lake://main/b"), ["3: unknown option 'mapp' in 'on'; did you mean 'map'?"]),
        (("trigger happy", *AB), ["3: 'happy' is no address, at character 1 of 'happy'; write lake://<lake>/<table>, file:///… or s3:///…; if this is prose, begin it with another word"]),
    ],
)  # fmt: skip
def test_lines_that_do_not_fit_together(lines: tuple[str, ...], messages: list[str]) -> None:
    assert [str(fault) for fault in header(*lines).faults] == [f"s.sql:{each}" for each in messages]
