"""The page of the API names every route with its role, every event of a stream and every metric."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from pages import page

from tranche.model.project import Project
from tranche.projects.config import parse_settings
from tranche.run.serving import Server
from tranche.script.schedules import moved
from tranche.service import now
from tranche.testing import MemoryEngine, MemoryStore
from tranche.web.app import application
from tranche.web.asking import BackfillBody, RunBody
from tranche.web.callers import Callers
from tranche.web.guard import names_of
from tranche.web.metrics import Metrics
from tranche.web.served import Served

PAGE = page("docs/api.md")
_ROW = re.compile(r"`(GET|POST|DELETE) (/[^`?]*)[^`]*`")


def client() -> TestClient:
    store = MemoryStore()
    server = Server(
        project=Project(settings=parse_settings("", Path("/p"), None, {}), scripts=()),
        engine=MemoryEngine(),
        store=store,
        clock=now,
        separates=lambda _: None,
        moves=moved,
        sleep=lambda _: None,
    )
    callers = Callers(store, "own", is_open=False)
    app = application(Served(server, callers), names_of("127.0.0.1"), Metrics(server))
    return TestClient(app, base_url="http://localhost")


def documented() -> dict[tuple[str, str], str]:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `") and _ROW.search(line)]
    return {
        (method, path): line.split("|")[-2].strip()
        for line in rows
        for method, path in _ROW.findall(line)
    }


def test_every_route_is_documented_and_no_other() -> None:
    described = client().get("/api", headers={"Authorization": "Bearer own"}).json()["paths"]
    there = {
        (method.upper(), path.replace("{id}", "{id}"))
        for path, methods in described.items()
        for method in methods
    }
    assert there | {("GET", "/metrics"), ("GET", "/healthz")} == set(documented())


@pytest.mark.parametrize(("method", "path"), documented())
def test_without_a_token_only_what_needs_no_role_answers(method: str, path: str) -> None:
    answer = client().request(method, path.replace("{id}", "x"))
    assert (answer.status_code == 401) == (documented()[method, path] != "none")


@pytest.mark.parametrize("body", [RunBody, BackfillBody])
def test_every_field_of_a_body_is_documented(body: type[RunBody] | type[BackfillBody]) -> None:
    assert all(f"`{name}`" in PAGE for name in body.model_fields)


def test_every_metric_is_documented() -> None:
    text = client().get("/metrics", headers={"Authorization": "Bearer own"}).text
    found = set(re.findall(r"^# HELP (\w+)", text, flags=re.MULTILINE))
    named = set(re.findall(r"^\| `(tranche_\w+)`", PAGE, flags=re.MULTILINE))
    assert {name.removesuffix("_created") for name in found} <= named | {
        name.removesuffix("_total") for name in named
    }
    assert all(name.removesuffix("_total") in text for name in named)


def test_every_kind_of_news_is_documented() -> None:
    from typing import get_args

    from tranche.run.feed import Told
    from tranche.run.reconcile import Recovered

    kinds = [
        re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
        for kind in get_args(Told)
        if kind is not Recovered
    ]
    assert "step_finished" in kinds
    assert all(f"| `{kind}` |" in PAGE for kind in [*kinds, "recovered"])
