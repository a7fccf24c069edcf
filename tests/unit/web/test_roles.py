"""Who may do what: each route takes a role."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts

from tranche.errors import NotAllowed, StateUnavailable
from tranche.model.token import ROLES, Role
from tranche.service.tokens import create_token, revoke_token
from tranche.web.callers import Callers
from tranche.web.pages import PAGES

from .site import KEY, OWN, Site, said

OPEN = {
    ("GET", "/healthz"),
    ("GET", "/api"),
    ("HEAD", "/api"),
    ("POST", "/api/session"),
    ("DELETE", "/api/session"),
    # Pages are the same for everybody; what they show, they ask for.
    *product(("GET", "HEAD"), PAGES),
}
"""What says nothing of the project."""
NEEDED: dict[tuple[str, str], Role] = {
    ("GET", "/api/assets"): "read",
    ("GET", "/api/graph"): "read",
    ("GET", "/api/partitions"): "read",
    ("GET", "/api/ranges"): "read",
    ("GET", "/api/overview"): "read",
    ("GET", "/api/asset"): "read",
    ("GET", "/api/grid"): "read",
    ("GET", "/api/key"): "read",
    ("GET", "/api/rows"): "read",
    ("GET", "/api/snapshots"): "read",
    ("GET", "/api/columns"): "read",
    ("GET", "/api/lineage"): "read",
    ("GET", "/api/traced"): "read",
    ("GET", "/api/tests"): "read",
    ("GET", "/api/violations"): "read",
    ("GET", "/api/code"): "read",
    ("GET", "/api/schedules"): "read",
    ("GET", "/api/told"): "read",
    ("GET", "/api/pulse"): "read",
    ("GET", "/api/session"): "read",
    ("GET", "/api/explain"): "read",
    ("GET", "/api/runs"): "read",
    ("POST", "/api/runs"): "run",
    ("GET", "/api/runs/{id}"): "read",
    ("POST", "/api/runs/{id}/cancel"): "run",
    ("GET", "/api/runs/{id}/progress"): "read",
    ("GET", "/api/backfills"): "read",
    ("POST", "/api/backfills"): "run",
    ("GET", "/api/backfills/{id}"): "read",
    ("POST", "/api/backfills/{id}/cancel"): "run",
    ("POST", "/api/backfills/{id}/resume"): "run",
    ("GET", "/api/backfills/{id}/progress"): "read",
    ("GET", "/api/events"): "read",
    ("POST", "/api/events"): "run",
    ("POST", "/api/events/{id}/retract"): "admin",
    ("GET", "/api/pending"): "read",
    ("POST", "/api/pauses"): "admin",
    ("DELETE", "/api/pauses"): "admin",
    ("GET", "/api/progress"): "read",
    ("GET", "/metrics"): "read",
}
BODIES: dict[str, dict[str, Any]] = {
    "/api/runs": {"target": "d", "partition": KEY},
    "/api/backfills": {"target": "d", "keys": [KEY]},
    "/api/events": {"asset": "lake://main/src"},
    "/api/pauses": {"asset": "a"},
}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    # Streams that nobody ends would go on for ever; this one ends at once.
    made.server.stop()
    # One loop for all requests, instead of one for each.
    with made.client:
        yield made


@pytest.fixture(scope="module")
def tokens(site: Site) -> dict[Role, str]:
    return {role: site.token(role) for role in ROLES}


def ask(site: Site, method: str, path: str, token: str | None) -> Any:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    asset = {"asset": "a", "target": "a"}
    given: dict[str, Any] = {"params": asset} if method != "POST" else {"json": BODIES.get(path)}
    return site.client.request(method, path.replace("{id}", "none"), headers=headers, **given)


def test_every_route_is_in_the_table(site: Site) -> None:
    found = {
        (method, str(route.path))
        for route in iter_route_contexts(site.app.routes)
        for method in route.methods or ()
    }
    assert found == set(NEEDED) | OPEN


@pytest.mark.parametrize(("method", "path"), sorted(NEEDED))
def test_without_a_token_nothing_is_told_or_done(
    site: Site, tokens: dict[Role, str], method: str, path: str
) -> None:
    before = site.tables()
    for token in (None, "", "wrong", OWN[:-1], OWN + "x", tokens["admin"][:-1]):
        answer = ask(site, method, path, token)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["error"]["kind"] == "NotAllowed"
    assert site.tables() == before


@pytest.mark.parametrize(("route", "role"), list(product(sorted(NEEDED), ROLES)))
def test_each_role_may_do_what_it_may(
    site: Site, tokens: dict[Role, str], route: tuple[str, str], role: Role
) -> None:
    before = site.tables()
    answer = ask(site, *route, tokens[role])
    if ROLES.index(role) >= ROLES.index(NEEDED[route]):
        assert answer.status_code not in (401, 403)
        return
    assert said(answer) == (
        403,
        f"this token has the role {role}, and this takes {NEEDED[route]};"
        f" use one made with 'tranche token create NAME --role {NEEDED[route]}'",
    )
    assert site.tables() == before


@pytest.mark.parametrize(
    ("method", "path"), sorted(OPEN - {("HEAD", "/api"), ("POST", "/api/session")})
)
def test_some_need_none(site: Site, tokens: dict[Role, str], method: str, path: str) -> None:
    assert ask(site, method, path, None).status_code in (200, 503)


class TestTokens:
    def test_while_there_is_none_everybody_of_this_machine_may_do_everything(self) -> None:
        site = Site()
        assert site.post("/api/pauses", asset="a")["status"] == "paused"

    def test_elsewhere_nobody_may(self) -> None:
        assert Site(is_open=False).client.get("/api/assets").status_code == 401

    def test_once_there_is_one_callers_need_one(self) -> None:
        site = Site()
        site.token("read")
        assert said(site.client.get("/api/assets")) == (
            401,
            "this server wants a token; send the header 'Authorization: Bearer TOKEN';"
            " 'tranche token create' makes one",
        )

    def test_so_it_is_when_all_have_ended(self) -> None:
        site = Site()
        secret = site.token("read", "mine")
        revoke_token(site.store, "mine")
        site.callers._read_at = -99.0
        assert site.client.get("/api/assets").status_code == 401
        headers = {"Authorization": f"Bearer {secret}"}
        assert said(site.client.get("/api/assets", headers=headers)) == (
            401,
            "this token is not known, or holds no more; 'tranche token create' makes one",
        )

    def test_the_commands_of_the_project_have_one_of_their_own(self) -> None:
        site = Site(is_open=False)
        headers = {"Authorization": f"Bearer {OWN}"}
        assert site.client.get("/api/assets", headers=headers).status_code == 200

    @pytest.mark.parametrize(
        "header",
        ["", " ", "Bearer", "Bearer ", "Basic {}", "{}", "Bearer  ", "Bearer {} x", "Bearer é"],
    )
    def test_headers_that_show_none(self, header: str) -> None:
        site = Site()
        secret = site.token("admin")
        raw = header.format(secret).encode("latin-1")
        answer = site.client.get("/api/assets", headers=[(b"authorization", raw)])
        assert answer.status_code == 401

    @pytest.mark.parametrize("header", ["Bearer {}", "bearer {}", "BEARER   {}"])
    def test_headers_that_show_one(self, header: str) -> None:
        site = Site()
        secret = site.token("read")
        headers = {"Authorization": header.format(secret)}
        assert site.client.get("/api/assets", headers=headers).status_code == 200

    def test_one_in_the_address_is_not_taken(self) -> None:
        site = Site()
        secret = site.token("read")
        assert site.client.get(f"/api/assets?token={secret}").status_code == 401

    def test_they_are_not_read_with_every_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        site = Site()
        reads = []
        told = site.store.tokens
        monkeypatch.setattr(site.store, "tokens", lambda: reads.append(1) or told())
        monkeypatch.setattr("tranche.web.callers.time.monotonic", times := Times())
        for _ in range(5):
            site.get("/api/assets")
        assert len(reads) == 1
        times.now += 1.0
        site.get("/api/assets")
        assert len(reads) == 2

    def test_a_state_that_is_away_lets_nobody_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        site = Site()

        def away() -> None:
            raise StateUnavailable("the state is away")

        monkeypatch.setattr(site.store, "tokens", away)
        assert said(site.client.get("/api/graph")) == (503, "the state is away")


class Times:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class TestSecrets:
    def test_only_a_hash_is_kept(self) -> None:
        site = Site()
        secret = site.token("admin")
        (token,) = site.store.tokens()
        assert token.hash == hashlib.sha256(secret.encode()).hexdigest()
        assert secret not in repr(site.tables())

    def test_nothing_that_is_printed_shows_one(self) -> None:
        site = Site()
        made = create_token(site.store, "mine", "read")
        callers = Callers(site.store, "own-secret", is_open=False)
        shown = f"{made!r} {made.token!r} {callers!r} {made} {site.app.routes!r}"
        assert made.secret not in shown
        assert made.token.hash not in shown
        assert "own-secret" not in shown

    def test_no_answer_and_no_log_has_one(
        self, site: Site, tokens: dict[Role, str], caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        hashes = [token.hash for token in site.store.tokens()]
        secrets = [*tokens.values(), *hashes, OWN]
        for (method, path), secret in product(sorted(NEEDED), (tokens["read"], "wrong-secret")):
            answer = ask(site, method, path, secret)
            assert not any(each in answer.text for each in [*secrets, "wrong-secret"])
        ours = [each for each in caplog.records if not each.name.startswith("httpx2")]
        told = " ".join(f"{each.getMessage()} {each.exc_text}" for each in ours)
        assert not any(each in told for each in secrets)

    def test_an_error_says_nothing_of_the_one_that_was_shown(self) -> None:
        callers = Callers(Site().store, OWN, is_open=False)
        with pytest.raises(NotAllowed) as caught:
            callers.role("Bearer guessed-one")
        assert "guessed-one" not in f"{caught.value!r} {caught.value}"
