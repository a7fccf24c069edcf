"""What each route answers when it is asked properly."""

from __future__ import annotations

from tranche.errors import StatementFailed

from .site import KEY, Site


def test_assets_say_how_many_keys_stand_where() -> None:
    site = Site()
    site.post("/api/runs", target="a", partition=KEY)
    site.settle()
    found = {each["asset"]: each for each in site.get("/api/assets")["assets"]}
    assert found["lake://main/a"] == {
        "asset": "lake://main/a",
        "partitioning": "daily",
        "partitions": {"succeeded": 1},
    }
    assert found["lake://main/d"]["partitions"] == {}


def test_the_graph_has_scripts_and_edges() -> None:
    graph = Site().get("/api/graph")
    assert "lake://main/src" in graph["sources"]
    assert {"from": "lake://main/a", "to": "b", "triggers": True, "map": "identity"} in graph[
        "edges"
    ]


def test_partitions_are_those_of_a_range() -> None:
    site = Site()
    site.post("/api/backfills", target="d", start="2026-05-01", end="2026-05-05")
    site.settle()
    page = site.get("/api/partitions", asset="d", start="2026-05-02", end="2026-05-03")
    assert [each["partition"] for each in page["partitions"]] == ["2026-05-02", "2026-05-03"]
    assert page["asset"] == "lake://main/d"
    assert (page["more"], page["next"]) == (False, None)


def test_a_range_may_begin_before_the_partitioning_does() -> None:
    text = '-- pipeline\n-- partitioned daily start="2026-05-02"\n-- materialize lake://main/s\n'
    site = Site({"s": f"{text}SELECT 1 AS x"})
    site.post("/api/runs", target="s", partition="2026-05-03")
    site.settle()
    page = site.get("/api/partitions", asset="s", start="2020-01-01", end="2026-05-03")
    assert [each["partition"] for each in page["partitions"]] == ["2026-05-03"]


def test_ranges_are_stretches_that_stand_alike() -> None:
    site = Site()
    site.post("/api/backfills", target="d", start="2026-05-02", end="2026-05-03")
    site.settle()
    found = site.get("/api/ranges", asset="d", start="2026-05-01", end="2026-05-04")
    assert found["asset"] == "lake://main/d"
    stretches = [(r["start"], r["end"], r["status"], r["partitions"]) for r in found["ranges"]]
    assert stretches == [
        ("2026-05-01", "2026-05-01", "missing", 1),
        ("2026-05-02", "2026-05-03", "succeeded", 2),
        ("2026-05-04", "2026-05-04", "missing", 1),
    ]


def test_ranges_end_at_the_time_of_the_server() -> None:
    site = Site()
    site.post("/api/runs", target="d", partition="2026-05-14")
    site.settle()
    assert site.get("/api/ranges", asset="d")["ranges"][-1]["end"] <= "2026-05-16"


def test_explain_tells_the_story_of_a_key() -> None:
    site = Site()
    site.post("/api/runs", target="a", partition=KEY)
    site.settle()
    found = site.get("/api/explain", target="a", partition=KEY)
    assert (found["script"], found["partition"], found["verdict"]) == ("a", KEY, "run")
    assert found["story"]["status"] == "built"
    assert site.get("/api/explain", target="a")["partition"] == "2026-05-16"


def test_a_run_is_begun_and_looked_at() -> None:
    site = Site()
    begun = site.client.post("/api/runs", json={"target": "a", "partition": KEY})
    assert begun.status_code == 202
    run = begun.json()["run"]
    assert begun.json()["status"] == "running"
    assert [step["script"] for step in begun.json()["plan"]["steps"]] == ["a", "b", "m"]
    assert site.get(f"/api/runs/{run}")["status"] == "running"
    site.settle()
    found = site.get(f"/api/runs/{run}")
    assert found["status"] == "succeeded"
    assert [(s["script"], s["status"]) for s in found["steps"]] == [
        ("a", "succeeded"),
        ("b", "succeeded"),
        ("m", "succeeded"),
    ]


def test_a_run_takes_all_that_the_command_does() -> None:
    site = Site()
    asked = [
        {"target": "d", "at": "2026-05-03T06:00:00+02:00", "only": True, "exact": True},
        {"target": "tenant", "payload": {"tenant": "acme"}},
        {"target": "whole", "arguments": {"n": "7"}, "patience": 0},
    ]
    keys = [site.post("/api/runs", **body)["plan"]["steps"][0]["partition"] for body in asked]
    assert keys == ["2026-05-03", "acme", None]
    site.settle()
    statuses = [run["status"] for run in site.get("/api/runs")["runs"]]
    assert statuses == ["succeeded"] * 3


def test_a_past_run_is_repeated() -> None:
    site = Site()
    first = site.post("/api/runs", target="a", partition=KEY, only=True)["run"]
    site.settle()
    again = site.post("/api/runs", like=first)
    assert [step["partition"] for step in again["plan"]["steps"]] == [KEY]


def test_a_dry_run_answers_with_the_plan_and_leaves_no_trace() -> None:
    site = Site()
    before = site.tables()
    for path in ("/api/runs", "/api/backfills"):
        body = {"target": "d", "dry_run": True}
        body |= {"partition": KEY} if path == "/api/runs" else {"keys": [KEY]}
        answer = site.client.post(path, json=body)
        assert answer.status_code == 200
        assert "warnings" in answer.json()
    assert site.tables() == before


def test_a_run_that_waits_is_cancelled() -> None:
    site = Site()
    run = site.post("/api/runs", target="d", partition=KEY)["run"]
    answer = site.client.post(f"/api/runs/{run}/cancel")
    assert (answer.status_code, answer.json()) == (202, {"run": run, "status": "cancelling"})
    site.settle()
    assert site.get(f"/api/runs/{run}")["status"] == "cancelled"
    assert site.engine.executed == []
    again = site.client.post(f"/api/runs/{run}/cancel")
    assert again.json()["error"]["message"] == f"the run {run} has cancelled already"


def test_a_backfill_is_begun_listed_and_looked_at() -> None:
    site = Site()
    asked = {"target": "d", "start": "2026-05-01", "end": "2026-05-03"}
    begun = site.client.post("/api/backfills", json=asked)
    assert begun.status_code == 202
    id = begun.json()["backfill"]
    assert (begun.json()["status"], begun.json()["partitions"]) == ("queued", 3)
    assert [each["status"] for each in site.get("/api/backfills")["backfills"]] == ["queued"]
    site.settle()
    found = site.get(f"/api/backfills/{id}")
    assert found["status"] == "succeeded"
    assert [key["status"] for key in found["partitions"]] == ["succeeded"] * 3


def test_a_backfill_without_anything_to_do_has_succeeded_at_once() -> None:
    site = Site()
    site.post("/api/runs", target="d", partition=KEY)
    site.settle()
    answer = site.client.post("/api/backfills", json={"target": "d", "start": KEY, "end": KEY})
    assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")


def test_a_backfill_is_cancelled_and_gone_on_with() -> None:
    site = Site()
    id = site.post("/api/backfills", target="d", keys=[KEY])["backfill"]
    cancelled = site.client.post(f"/api/backfills/{id}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelled")
    site.settle()
    assert site.engine.executed == []
    resumed = site.client.post(f"/api/backfills/{id}/resume")
    assert resumed.json() == {"backfill": id, "status": "queued", "partitions": 1}
    site.settle()
    assert site.get(f"/api/backfills/{id}")["status"] == "succeeded"
    assert site.client.post(f"/api/backfills/{id}/resume").status_code == 400


def test_the_run_of_a_backfill_is_cancelled_with_the_backfill() -> None:
    site = Site()
    id = site.post("/api/backfills", target="d", keys=[KEY])["backfill"]
    answers = []

    def asks(step: object) -> None:
        (run,) = site.server.running
        answers.append(site.client.post(f"/api/runs/{run.run}/cancel"))

    site.breaks = asks
    site.settle()
    (answer,) = answers
    assert answer.status_code == 400
    assert f"cancel that: POST /api/backfills/{id}/cancel" in answer.json()["error"]["message"]
    assert site.get(f"/api/backfills/{id}")["status"] == "succeeded"


def test_an_event_is_recorded_listed_and_taken_back() -> None:
    site = Site()
    site.settle()
    asked = {"asset": "lake://main/src", "partition": KEY, "payload": {"n": 1}}
    made = site.client.post("/api/events", json=asked)
    assert made.status_code == 201
    event = made.json()
    assert event["asked"][0]["partitions"] == [KEY]
    (listed,) = site.get("/api/events", asset="lake://main/src")["events"]
    assert (listed["event"], listed["payload"]) == (event["event"], {"n": 1})
    site.server.turn()
    assert [row["partition"] for row in site.get("/api/pending")["pending"]] == [KEY]
    taken = site.post(f"/api/events/{event['event']}/retract")
    assert taken["dropped"] == [{"asset": "lake://main/a", "partition": KEY}]
    assert site.get("/api/pending", asset="a")["pending"] == []


def test_an_event_wakes_the_server() -> None:
    site = Site()
    site.server._wake.clear()
    site.post("/api/events", asset="lake://main/src", partition=KEY)
    assert site.server._wake.is_set()


def test_pausing_keeps_keys_waiting_until_it_is_resumed() -> None:
    site = Site()
    site.settle()
    assert site.post("/api/pauses", asset="a") == {"asset": "lake://main/a", "status": "paused"}
    assert site.get("/api/pending")["paused"] == {"lake://main/a": site.now.isoformat()}
    site.heard(KEY)
    site.settle()
    assert site.engine.executed == []
    answer = site.client.delete("/api/pauses", params={"asset": "a"})
    assert answer.json() == {"asset": "lake://main/a", "status": "resumed"}
    site.settle()
    assert len(site.engine.executed) == 3


def test_a_failed_run_says_why() -> None:
    site = Site()
    site.breaks = lambda step: StatementFailed("no such column")
    run = site.post("/api/runs", target="d", partition=KEY)["run"]
    site.settle()
    found = site.get(f"/api/runs/{run}")
    assert (found["status"], found["steps"][0]["error"]) == ("failed", "no such column")


def test_healthz_says_whether_it_serves() -> None:
    site = Site()
    assert site.get("/healthz") == {"status": "serving", "server": site.server.id}
    site.server.stop()
    answer = site.client.get("/healthz")
    assert (answer.status_code, answer.json()["status"]) == (503, "stopping")


def test_a_server_that_stops_takes_on_no_run() -> None:
    site = Site()
    site.server.stop()
    before = site.tables()
    answer = site.client.post("/api/runs", json={"target": "d", "partition": KEY})
    assert answer.status_code == 429
    assert answer.json()["error"]["message"].startswith("this server is stopping")
    assert site.tables() == before


def test_the_description_lists_every_address() -> None:
    site = Site()
    described = site.get("/api")
    assert described["info"]["title"] == "Tranche"
    assert "/api/runs/{id}/progress" in described["paths"]
    assert "post" in described["paths"]["/api/backfills"]
