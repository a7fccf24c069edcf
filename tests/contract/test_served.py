"""What every store does alike with tokens, and with backfills that servers work off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tranche.model.backfill import Backfill
from tranche.model.token import Token
from tranche.ports import StateStore

from .builders import NOON, ORDERS, SECOND, a_run, in_threads
from .conftest import NewStore


def a_token(name: str = "ci", **changes: Any) -> Token:
    return replace(Token(name=name, role="run", hash="h", created_at=NOON), **changes)


def queued(store: StateStore, id: str = "b1", **changes: Any) -> None:
    made = Backfill(
        id=id, target="a", asset=ORDERS, status="queued", created_at=NOON, keys=("x", "y")
    )
    store.begin_backfill(replace(made, **changes))


class TestTokens:
    def test_each_name_is_taken_once(self, store: StateStore) -> None:
        assert store.tokens() == []
        assert store.add_token(a_token())
        assert not store.add_token(a_token(role="admin", hash="other"))
        assert store.add_token(a_token("née 'x'", created_at=NOON + SECOND, role="read"))
        assert [(t.name, t.role, t.hash) for t in store.tokens()] == [
            ("ci", "run", "h"),
            ("née 'x'", "read", "h"),
        ]

    def test_one_that_is_ended_stays_known(self, store: StateStore) -> None:
        store.add_token(a_token())
        assert store.revoke_token("ci", at=NOON + SECOND)
        assert not store.revoke_token("ci", at=NOON)
        assert not store.revoke_token("nobody", at=NOON)
        assert [token.revoked_at for token in store.tokens()] == [NOON + SECOND]
        assert not store.add_token(a_token())

    def test_a_name_that_cannot_be_kept_is_refused(self, store: StateStore) -> None:
        with pytest.raises(ValueError):
            store.add_token(a_token("x" * 100_000))


class TestQueuedBackfills:
    def test_one_server_has_it(self, new_store: NewStore) -> None:
        store = new_store()
        queued(store)
        taken = in_threads(lambda n: new_store().take_backfill("b1", server=f"s{n}", run=f"r{n}"))
        assert sum(taken) == 1
        found = store.backfill("b1")
        assert found is not None and found.status == "running" and found.server and found.run
        assert store.backfill_status("b1") == "running"
        assert store.backfill_status("no such") is None
        assert not store.take_backfill("no such", server="s", run="r")

    @pytest.mark.parametrize(
        ("asked", "left"), [("running", "queued"), ("cancelling", "cancelled")]
    )
    def test_of_a_server_that_is_gone_another_can_have_it(
        self, store: StateStore, asked: Any, left: str
    ) -> None:
        store.serve("s")
        queued(store)
        store.take_backfill("b1", server="s", run="r1")
        store.change_backfill("b1", status=asked)
        assert store.is_served("s")
        assert store.give_back() == 0
        store.leave("s")
        assert not store.is_served("s")
        assert store.give_back() == 1
        assert store.backfill_status("b1") == left
        assert store.give_back() == 0

    def test_not_before_its_run_has_ended(self, store: StateStore) -> None:
        queued(store)
        store.begin_run(a_run(), [])
        store.take_backfill("b1", server="gone", run="r1")
        assert store.give_back() == 0
        store.finish_run("r1", "failed", at=NOON)
        assert store.give_back() == 1

    def test_one_that_has_a_process_of_its_own_is_left_to_it(self, store: StateStore) -> None:
        queued(store, status="waiting")
        assert not store.take_backfill("b1", server="s", run="r")
        store.change_backfill("b1", status="running", run="r")
        assert store.give_back() == 0
