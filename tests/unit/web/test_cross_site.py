"""Pages of others: what a browser asks for on their behalf, and what they could learn from it."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from .site import Site, said

LOOKS = ["/api/runs", "/api/rows?asset=d", "/api/pulse", "/metrics", "/static/main.js", "/"]
SAFE = {
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
}


def sent_by(site: str, mode: str, dest: str) -> dict[str, str]:
    return {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}


class TestAsked:
    @pytest.mark.parametrize("path", LOOKS)
    @pytest.mark.parametrize("of", ["cross-site", "same-site"])
    @pytest.mark.parametrize(
        ("mode", "dest"),
        [
            ("no-cors", "image"),
            ("no-cors", "script"),
            ("no-cors", "empty"),
            ("cors", "empty"),
            ("navigate", "iframe"),
            ("navigate", "object"),
            ("websocket", "websocket"),
        ],
    )
    def test_what_a_page_of_others_takes_in(self, path: str, of: str, mode: str, dest: str) -> None:
        # It could not read the answer, but have Spark work for it.
        answer = Site().client.get(path, headers=sent_by(of, mode, dest))
        assert said(answer) == (403, "requests that pages of others make are not answered")

    @pytest.mark.parametrize(
        "path", ["/", "/assets/lake%3A%2F%2Fmain%2Fd", "/runs/r1", "/api/runs"]
    )
    def test_a_link_on_a_page_of_others_is_followed(self, path: str) -> None:
        headers = sent_by("cross-site", "navigate", "document")
        assert Site().client.get(path, headers=headers).status_code == 200

    @pytest.mark.parametrize("of", ["same-origin", "none"])
    def test_pages_of_ours_and_people_are_heard(self, of: str) -> None:
        headers = sent_by(of, "cors", "empty")
        assert Site().client.get("/api/runs", headers=headers).status_code == 200

    def test_a_form_of_others_is_not(self) -> None:
        for of in ("cross-site", "same-site"):
            headers = sent_by(of, "navigate", "document")
            assert Site().client.post("/api/runs", headers=headers).status_code == 403


class TestAnswers:
    @pytest.mark.parametrize("path", [*LOOKS, "/healthz", "/api", "/api/nope", "/static/nope"])
    def test_are_nothing_that_others_can_take_in(self, path: str) -> None:
        headers = Site().client.get(path).headers
        assert {name: headers.get(name) for name in SAFE} == SAFE
        assert "frame-ancestors 'none'" in headers["content-security-policy"]

    def test_refusals_as_well(self) -> None:
        headers = Site().client.get("/", headers={"Host": "evil.example"}).headers
        assert {name: headers.get(name) for name in SAFE} == SAFE

    @pytest.mark.parametrize("path", ["/api/runs", "/api/session", "/metrics", "/api/nope"])
    def test_of_the_api_are_not_kept(self, path: str) -> None:
        assert Site().client.get(path).headers["cache-control"] == "no-store"


class TestCookies:
    """Browsers send them to every port of a machine."""

    def test_two_servers_of_one_machine_do_not_sign_each_other_out(self) -> None:
        one, other = Site(), Site()
        first = TestClient(one.app, base_url="http://localhost:8321")
        second = TestClient(other.app, base_url="http://localhost:8322", cookies=first.cookies)
        tokens = [one.token("read"), other.token("run")]
        for client, token in zip((first, second), tokens, strict=True):
            assert client.post("/api/session", json={"token": token}).status_code == 200
            first.cookies = second.cookies = client.cookies
        assert first.get("/api/session").json()["role"] == "read"
        assert second.get("/api/session").json()["role"] == "run"
        second.delete("/api/session")
        first.cookies = second.cookies
        assert first.get("/api/session").json()["signed_in"]
        assert second.get("/api/session").status_code == 401

    @pytest.mark.parametrize("host", ["localhost:99999", "localhost:0", "[::1]", "[::1]:8321"])
    def test_a_name_with_any_port(self, host: str) -> None:
        answer = Site().client.get("/api/session", headers={"Host": host, "Cookie": "a=b"})
        assert (answer.status_code, answer.json()["signed_in"]) == (200, False)

    @pytest.mark.parametrize(("scheme", "secure"), [("http", False), ("https", True)])
    def test_behind_what_speaks_https_it_goes_by_https_only(
        self, scheme: str, secure: bool
    ) -> None:
        site = Site()
        signed = site.client.post(
            "/api/session",
            json={"token": site.token("read")},
            headers={"Origin": f"{scheme}://localhost"},
        )
        assert ("secure" in signed.headers["set-cookie"].lower()) == secure
