"""What is refused: in the sentences of the command line, and without a trace in the tables."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tranche.errors import TrancheError
from tranche.model.backfill import BackfillRequest
from tranche.model.plan import Request
from tranche.service import backfilling, explain, key_bounds, plan, triggering
from tranche.web.guard import MOST_BYTES
from tranche.web.served import cursor

from .site import KEY, Site, said

DEEP = "[" * 5_000 + "]" * 5_000
DEEPISH = "[" * 150 + "]" * 150


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    made.settle()
    # One loop for all requests, instead of one for each.
    with made.client:
        yield made


@pytest.fixture(autouse=True)
def _no_trace(site: Site) -> Iterator[None]:
    before = site.tables()
    yield
    assert site.tables() == before
    assert len(site.server.orders) == 0


def sentence(call: Any) -> str:
    """What the command line would say."""
    with pytest.raises(TrancheError) as caught:
        call()
    return str(caught.value)


class TestSentences:
    """The same ones whoever asks."""

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"target": "d", "partition": "2026-5-1"}, 400),
            ({"target": "d", "partition": "9999-12-31"}, 400),
            ({"target": "dd"}, 404),
            ({"target": "lake://main/dd"}, 404),
            ({"target": "region", "partition": "jp"}, 400),
            ({"target": "whole"}, 400),
            ({"target": "whole", "arguments": {"n": "seven"}}, 400),
            ({"target": "whole", "partition": KEY, "arguments": {"n": "1"}}, 400),
        ],
    )
    def test_runs(self, site: Site, body: dict[str, Any], status: int) -> None:
        request = Request(fire_time=site.now, **body)
        wanted = sentence(lambda: plan(site.bench.project, request, site.store))
        assert said(site.client.post("/api/runs", json=body)) == (status, wanted)

    def test_a_near_match_is_named(self, site: Site) -> None:
        status, message = said(site.client.post("/api/runs", json={"target": "regoin"}))
        assert (status, "did you mean 'region'?" in message) == (404, True)

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"target": "nobody", "keys": [KEY]}, 404),
            ({"target": "d", "keys": ["yesterday"]}, 400),
            ({"target": "d", "start": "2026-05-09", "end": "2026-05-01"}, 400),
            ({"target": "d", "start": "9999-12-31", "end": "9999-12-31"}, 400),
            ({"target": "d", "start": "0001-01-01", "end": "9999-01-01"}, 400),
            ({"target": "tenant"}, 400),
            ({"target": "whole"}, 400),
            ({"target": "region", "start": "us"}, 400),
        ],
    )
    def test_backfills(self, site: Site, body: dict[str, Any], status: int) -> None:
        asked = body | ({"keys": tuple(body["keys"])} if "keys" in body else {})
        request = BackfillRequest(at=site.now, **asked)
        wanted = sentence(lambda: backfilling.plan(site.bench.project, request, site.store))
        assert said(site.client.post("/api/backfills", json=body)) == (status, wanted)

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"asset": "lake://main/scr"}, 404),
            ({"asset": "nothing"}, 404),
            ({"asset": "lake://main/a", "partition": "2026-5-1"}, 400),
            ({"asset": "lake://main/whole", "partition": KEY}, 400),
            ({"asset": "lake://main/src", "partition": ""}, 400),
            ({"asset": "lake://main/src", "partition": "a\0b"}, 400),
            ({"asset": "lake://main/src", "partition": "x" * 2_000}, 400),
        ],
    )
    def test_events(self, site: Site, body: dict[str, Any], status: int) -> None:
        wanted = sentence(lambda: triggering.emit(site.bench.project, store=site.store, **body))
        assert said(site.client.post("/api/events", json=body)) == (status, wanted)

    def test_pauses(self, site: Site) -> None:
        wanted = sentence(lambda: triggering.pause(site.bench.project, "regio", site.store))
        assert said(site.client.post("/api/pauses", json={"asset": "regio"})) == (404, wanted)
        wanted = sentence(lambda: triggering.resume(site.bench.project, "a", site.store))
        assert said(site.client.delete("/api/pauses", params={"asset": "a"})) == (400, wanted)

    @pytest.mark.parametrize("query", [{"start": "x"}, {"end": "9999-12-31"}])
    def test_ranges_of_keys(self, site: Site, query: dict[str, str]) -> None:
        wanted = sentence(lambda: key_bounds(site.bench.project, "d", site.store, **query))
        answer = site.client.get("/api/partitions", params={"asset": "d"} | query)
        assert said(answer) == (400, wanted)

    def test_keys_without_time_have_no_range(self, site: Site) -> None:
        wanted = sentence(
            lambda: key_bounds(site.bench.project, "region", site.store, start="2026-05-01")
        )
        query = {"asset": "region", "start": "2026-05-01"}
        for path in ("/api/partitions", "/api/ranges"):
            assert said(site.client.get(path, params=query)) == (400, wanted)

    @pytest.mark.parametrize("path", ["/api/partitions", "/api/ranges"])
    @pytest.mark.parametrize("asset", ["lake://main/aa", "nope", "lake://main/" + "x" * 3_000])
    def test_unknown_assets(self, site: Site, path: str, asset: str) -> None:
        status, message = said(site.client.get(path, params={"asset": asset}))
        assert status == 404
        assert message.startswith(f"no script of this project makes '{asset}'")

    def test_explain(self, site: Site) -> None:
        request = Request(target="regoin", fire_time=site.now)
        wanted = sentence(lambda: explain(site.bench.project, request, site.store))
        assert said(site.client.get("/api/explain", params={"target": "regoin"})) == (404, wanted)

    @pytest.mark.parametrize(
        ("method", "path", "status"),
        [
            ("GET", "/api/runs/r1", 404),
            ("POST", "/api/runs/r1/cancel", 404),
            ("GET", "/api/runs/r1/progress", 404),
            ("GET", "/api/backfills/b1", 404),
            ("POST", "/api/backfills/b1/cancel", 404),
            ("POST", "/api/backfills/b1/resume", 404),
            ("GET", "/api/backfills/b1/progress", 404),
            ("POST", "/api/events/e1/retract", 400),
        ],
    )
    def test_what_is_not_there(self, site: Site, method: str, path: str, status: int) -> None:
        found, message = said(site.client.request(method, path))
        assert found == status
        assert message.startswith("there is no ")


class TestBodies:
    @pytest.mark.parametrize(
        "body",
        [
            "{",
            "",
            "null",
            "[]",
            '"d"',
            "{}",
            '{"target": "d", "tagret": 1}',
            '{"target": 5}',
            '{"target": ["d"]}',
            '{"target": "d", "arguments": {"n": 1}}',
            '{"target": "d", "payload": [1]}',
            '{"target": "d", "payload": {"n": NaN}}',
            '{"target": "d", "payload": {"n": 1e999}}',
            '{"target": "d", "payload": {"n": ' + "9" * 5_000 + "}}",
            '{"target": "d", "payload": {"n": ' + DEEP + "}}",
            '{"target": "d", "payload": {"n": ' + DEEPISH + "}}",
            '{"target": "tenant", "partition": "x", "payload": {"n": ' + DEEPISH + "}}",
            '{"target": "d", "patience": -1}',
            '{"target": "d", "patience": NaN}',
            '{"target": "d", "patience": 1e9}',
            '{"target": "d", "at": "2026-05-01T00:00:00"}',
            '{"target": "d", "at": "0001-01-01T00:00:00+14:00"}',
            '{"target": "d", "at": "9999-12-31T23:59:59-14:00"}',
            '{"like": "a\\u0000b"}',
            '{"like": ""}',
            '{"like": "../../etc/passwd"}',
            '{"like": "' + "x" * 300 + '"}',
            '{"like": "r1", "target": "d"}',
            '{"like": "r1", "exact": true}',
            '{"target": "tenant", "partition": "a\\u0000b"}',
            '{"target": "tenant", "partition": "\\ud800"}',
            '{"target": "\\ud800"}',
            '{"target": "d\\u0000"}',
            '{"target": "d", "arguments": {"\\ud800": "1"}}',
            '{"target": "d", "\\ud800": 1}',
        ],
    )
    def test_a_run_that_cannot_be_understood(self, site: Site, body: str) -> None:
        status, message = said(site.told(body))
        assert status in (400, 404)
        assert message

    @pytest.mark.parametrize(
        "body",
        [
            "{}",
            '{"target": "d", "keys": "2026-05-01"}',
            '{"target": "d", "keys": ["2026-05-01\\u0000"]}',
            '{"target": "tenant", "keys": ["a\\u0000"]}',
            '{"target": "tenant", "keys": ["\\ud800"]}',
            '{"target": "tenant", "keys": ["' + "x" * 2_000 + '"]}',
            '{"target": "d", "keys": ["2026-05-01"], "overlap": "wait"}',
            '{"target": "d", "keys": ["2026-05-01"], "max_keys_per_job": 0}',
            '{"target": "d", "keys": ["2026-05-01"], "max_keys_per_job": ' + "9" * 5_000 + "}",
            '{"target": "d", "dimensions": {"region": ["us"]}}',
            '{"target": "region", "keys": ["us"], "arguments": {"\\ud800": "\\ud800"}}',
        ],
    )
    def test_a_backfill_that_cannot_be_understood(self, site: Site, body: str) -> None:
        status, message = said(site.told(body, "/api/backfills"))
        assert (status, bool(message)) == (400, True)

    @pytest.mark.parametrize(
        "body",
        [
            "{}",
            '{"asset": 1}',
            '{"asset": "lake://main/src", "payload": 1}',
            '{"asset": "lake://main/src", "payload": {"n": NaN}}',
            '{"asset": "lake://main/src", "payload": {"n": ' + DEEPISH + "}}",
            '{"asset": "lake://main/src", "partition": "\\ud800"}',
            '{"asset": "lake://main/\\ud800"}',
            '{"asset": "lake://main/src", "at": "2026-05-01T00:00:00Z"}',
        ],
    )
    def test_an_event_that_cannot_be_understood(self, site: Site, body: str) -> None:
        status, message = said(site.told(body, "/api/events"))
        assert status in (400, 404)
        assert message

    def test_what_is_no_json_is_called_so(self, site: Site) -> None:
        status, message = said(site.told("{'a': 1}"))
        assert status == 400
        assert message.startswith("the body is no JSON: ")

    def test_a_field_that_is_not_known_is_named(self, site: Site) -> None:
        status, message = said(site.told('{"target": "d", "partion": "x"}'))
        assert (status, message) == (400, "partion is not known here")

    def test_what_is_not_utf_8(self, site: Site) -> None:
        assert said(site.told(b'{"target": "\xff\xfe"}'))[0] == 400

    def test_a_body_of_another_type_is_not_guessed_at(self, site: Site) -> None:
        # A page of somebody else may send such a one without asking.
        body = json.dumps({"target": "d", "partition": KEY})
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            headers = {"Content-Type": kind}
            answer = site.client.post("/api/runs", content=body, headers=headers)
            assert said(answer)[0] == 400

    def test_a_body_that_is_too_large(self, site: Site) -> None:
        status, message = said(site.told(b" " * (MOST_BYTES + 1)))
        assert status == 413
        assert message == "the body is larger than 1,048,576 bytes; send less at once"

    def test_one_that_does_not_say_how_large_it_is(self, site: Site) -> None:
        def chunks() -> Iterator[bytes]:
            for _ in range(20):
                yield b" " * 100_000

        headers = {"Content-Type": "application/json"}
        answer = site.client.post("/api/runs", content=chunks(), headers=headers)
        assert answer.request.headers["transfer-encoding"] == "chunked"
        assert said(answer)[0] == 413

    def test_a_body_just_small_enough_is_read(self, site: Site) -> None:
        body = b'{"target": "nobody"' + b" " * (MOST_BYTES - 20) + b"}"
        assert len(body) == MOST_BYTES
        assert said(site.told(body))[0] == 404

    @pytest.mark.parametrize("length", ["-1", "x", "\xb2", "9" * 5_000, "1_0", " "])
    def test_a_length_that_is_none(self, site: Site, length: str) -> None:
        headers = [(b"content-length", length.encode("latin-1"))]
        assert said(site.client.post("/api/runs", headers=headers))[0] == 400


class TestAddresses:
    @pytest.mark.parametrize("id", ["%00", "a%00b", "%ff", "a%20b", "a%0a", "%ED%A0%80", "x" * 101])
    @pytest.mark.parametrize("path", ["/api/runs/{}", "/api/backfills/{}", "/api/runs/{}/progress"])
    def test_ids_that_are_none(self, site: Site, path: str, id: str) -> None:
        assert said(site.client.get(path.format(id)))[0] == 400

    @pytest.mark.parametrize("path", ["/api/", "/api/nope", "/api/runs/../../etc", "/docs"])
    def test_addresses_that_lead_nowhere(self, site: Site, path: str) -> None:
        wanted = "there is nothing at this address; /api lists what there is"
        assert said(site.client.get(path)) == (404, wanted)

    @pytest.mark.parametrize("path", ["/api/assets/", "/healthz/", "//api/assets"])
    def test_an_address_has_one_form(self, site: Site, path: str) -> None:
        answer = site.client.get(path)
        assert answer.status_code == 404
        assert "location" not in answer.headers

    @pytest.mark.parametrize("method", ["PUT", "OPTIONS", "HEAD", "PATCH", "TRACE"])
    def test_methods_that_an_address_does_not_take(self, site: Site, method: str) -> None:
        answer = site.client.request(method, "/api/runs")
        assert answer.status_code == 405
        assert set(answer.headers["allow"].split(", ")) & {"GET", "POST"}
        assert "access-control-allow-origin" not in answer.headers
        if method != "HEAD":
            assert said(answer)[1] == "this address takes other methods; /api lists them"


class TestPages:
    @pytest.mark.parametrize("limit", ["0", "-1", "1001", "1e3", "x", "", "9" * 5_000, "\xb2"])
    @pytest.mark.parametrize(
        "path",
        [
            "/api/partitions?asset=d",
            "/api/runs?",
            "/api/events?",
            "/api/pending?",
            "/api/backfills?",
        ],
    )
    def test_sizes_that_are_none(self, site: Site, path: str, limit: str) -> None:
        status, message = said(site.client.get(f"{path}&limit={limit}"))
        assert status == 400
        assert message.startswith("limit: ")

    @pytest.mark.parametrize("path", ["/api/partitions?asset=d", "/api/pending?"])
    @pytest.mark.parametrize(
        "after",
        [
            "",
            "x",
            "\xe9",
            cursor(),
            cursor(None),
            cursor("a\0b"),
            cursor("\ud800"),
            cursor("x" * 2_000),
            cursor("lake://main/a", "\0"),
            cursor(None, None),
            cursor("a", "b", "c"),
            base64.urlsafe_b64encode(b"[" * 9_000).decode(),
            base64.urlsafe_b64encode(b"{}").decode(),
            base64.urlsafe_b64encode(b"[[]]").decode(),
            base64.urlsafe_b64encode(b"5").decode(),
        ],
    )
    def test_ends_of_pages_that_are_none(self, site: Site, path: str, after: str) -> None:
        wanted = "after is no end of a page; take it from 'next' of the page before"
        answer = site.client.get(f"{path}&after={after}")
        assert said(answer) == (400, wanted)

    def test_an_end_of_a_page_of_another_asset(self, site: Site) -> None:
        # It would begin anew otherwise, and who pages on would never come to an end.
        query = {"asset": "d", "after": cursor("2020-01-01")}
        status, message = said(site.client.get("/api/partitions", params=query))
        assert status == 400
        assert "'2020-01-01'" in message


def test_many_faults_are_all_said(site: Site) -> None:
    body = '{"target": 1, "patience": -1, "wrong": 2}'
    message = said(site.told(body))[1]
    assert [part.split(":")[0].split(" ")[0] for part in message.split("; ")] == [
        "target",
        "patience",
        "wrong",
    ]


def test_a_text_without_a_form_in_utf_8_comes_back_as_it_was() -> None:
    # In a payload it is kept; whoever lists events afterwards must be able to.
    site = Site()
    body = '{"asset": "lake://main/src", "payload": {"\\ud800": "\\udc00"}}'
    assert site.told(body, "/api/events").status_code == 201
    (event,) = site.get("/api/events")["events"]
    assert event["payload"] == {"\ud800": "\udc00"}


def test_what_nobody_foresaw_is_not_told_to_callers(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site()

    def breaks(*_: object, **__: object) -> None:
        raise RuntimeError("postgresql://user:hunter2@db")

    monkeypatch.setattr(site.store, "runs", breaks)
    status, message = said(site.client.get("/api/runs"))
    assert status == 500
    assert message.startswith("unexpected RuntimeError; this is a fault of Tranche")
    (record,) = [each for each in caplog.records if each.name == "tranche.web"]
    assert record.getMessage() == "GET /api/runs failed"
