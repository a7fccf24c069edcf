"""What runs tell comes back from JSON as it went in."""

from __future__ import annotations

import json
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from tranche.errors import KeyRejected
from tranche.model.data_test import DataTestResult
from tranche.run.attempts import KeyOutcome
from tranche.run.feed import Ended
from tranche.run.news import (
    GoesOneByOne,
    KeysFinished,
    News,
    RunStarted,
    StepFinished,
    StepName,
    StepRetried,
    StepStarted,
    StepWaits,
)
from tranche.run.reconcile import Recovered
from tranche.views.news import news_of, told_view
from tranche.views.plain import as_json

TEXT = st.text(max_size=8)
SOME = st.none() | TEXT
NUMBER = st.integers(0, 2**63)
STATUS = st.sampled_from(["succeeded", "failed", "skipped", "cancelled"])
STEP = st.builds(StepName, NUMBER, TEXT, SOME, SOME, NUMBER)
TEST = st.builds(
    DataTestResult, test=TEXT, severity=st.sampled_from(["error", "warn"]), violations=NUMBER
)
TESTS = st.lists(TEST, max_size=2).map(tuple)
OUTCOME = st.builds(
    KeyOutcome,
    partition=SOME,
    status=STATUS,
    rows=st.none() | NUMBER,
    snapshot=SOME,
    error=SOME,
    tests=TESTS,
    provisional=st.booleans(),
)
KEYS = st.lists(OUTCOME, max_size=2).map(tuple)
TEXTS = st.lists(TEXT, max_size=2).map(tuple)
KINDS: dict[type, st.SearchStrategy[News]] = {
    RunStarted: st.builds(RunStarted, TEXT, NUMBER, TEXTS),
    Recovered: st.builds(Recovered, TEXT, STATUS, TEXTS),
    StepStarted: st.builds(StepStarted, STEP),
    StepWaits: st.builds(StepWaits, STEP, TEXT),
    StepRetried: st.builds(StepRetried, STEP, TEXT, st.floats(0, 1e6)),
    GoesOneByOne: st.builds(GoesOneByOne, STEP, TEXT),
    KeysFinished: st.builds(KeysFinished, STEP, KEYS),
    StepFinished: st.builds(
        StepFinished, STEP, STATUS, st.none() | NUMBER, SOME, TESTS, KEYS, SOME
    ),
}


def test_every_kind_is_tried() -> None:
    assert set(KINDS) == set(get_args(News))


@settings(max_examples=100, deadline=None)
@given(st.one_of(*KINDS.values()))
def test_news_come_back_as_they_were(news: News) -> None:
    name, view = told_view(news)
    # What a caller gets: bytes, in one line.
    sent = as_json(view).encode()
    assert b"\n" not in sent and b"\r" not in sent
    assert news_of(name, json.loads(sent)) == news


def test_what_another_version_tells_is_passed_over() -> None:
    assert news_of("step_danced", {"step": 1}) is None
    assert news_of("ended", {}) is None


def test_an_end_without_a_result_is_an_error() -> None:
    name, view = told_view(Ended(KeyRejected("no such key", "use another")))
    assert (name, view) == (
        "ended",
        {"error": {"kind": "KeyRejected", "message": "no such key; use another"}},
    )
