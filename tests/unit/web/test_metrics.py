"""What Prometheus reads."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tranche.errors import StateUnavailable

from .site import KEY, Site


def samples(site: Site) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    answer = site.client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def requests(site: Site) -> dict[tuple[str, str, str], float]:
    """How many requests there were, by method, route and status."""
    return {
        tuple(value for _, value in labels): value  # type: ignore[misc]
        for (name, labels), value in samples(site).items()
        if name == "tranche_request_seconds_count"
    }


def test_what_stands_at_this_moment() -> None:
    site = Site()
    site.settle()
    site.heard(KEY)
    site.server.turn()
    site.post("/api/runs", target="d", partition=KEY)
    found = samples(site)
    assert found["tranche_workers", (("state", "busy"),)] == 0
    assert found["tranche_workers", (("state", "idle"),)] == 2
    assert found["tranche_orders", ()] == 1
    assert found["tranche_pending_keys", (("status", "ready"),)] == 1
    assert found["tranche_pending_keys", (("status", "waiting"),)] == 0
    assert found["tranche_running_runs", ()] == 1
    assert found["tranche_state_up", ()] == 1
    site.settle()
    found = samples(site)
    assert found["tranche_orders", ()] == 0
    assert found["tranche_running_runs", ()] == 0


def test_requests_are_counted_by_their_route() -> None:
    site = Site()
    site.client.get("/api/runs/one")
    site.client.get("/api/runs/two")
    site.client.get("/healthz")
    found = requests(site)
    assert found["GET", "/api/runs/{id}", "404"] == 2
    assert found["GET", "/healthz", "200"] == 1


def test_what_callers_make_up_is_not_kept() -> None:
    site = Site()
    for number in range(20):
        site.client.get(f"/nowhere/{number}")
        site.client.request(f"METHOD{number}", "/api/assets")
        site.client.get("/healthz", headers={"Host": f"{number}.example"})
    found = requests(site)
    assert found["GET", "", "404"] == 20
    assert found["other", "/api/assets", "405"] == 20
    assert len(found) == 2


def test_a_state_that_is_away_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site()
    site.get("/api/graph")

    def away() -> None:
        raise StateUnavailable("away")

    monkeypatch.setattr(site.store, "pending_counts", away)
    found = samples(site)
    assert found["tranche_state_up", ()] == 0
    assert not any(name == "tranche_pending_keys" for name, _ in found)


def test_runs_are_counted_by_how_they_ended() -> None:
    site = Site()
    site.metrics.runs.labels("ordered", "failed").inc()
    labels = (("kind", "ordered"), ("status", "failed"))
    assert samples(site)["tranche_runs_total", labels] == 1
