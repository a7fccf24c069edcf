"""What pages are made of: the files, who may see them, and what the API tells them."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tranche.errors import StatementFailed
from tranche.model.rows import Rows
from tranche.views.rows import rows_view
from tranche.web.pages import FOLDER

from .site import KEY, Site, said

FILES = sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize(
    "path", ["/", "/assets/lake%3A%2F%2Fmain%2Fa", "/runs", "/runs/x", "/backfills/x", "/pending"]
)
def test_every_page_has_an_address_of_its_own(path: str) -> None:
    answer = Site().client.get(path)
    assert answer.status_code == 200
    assert "/static/main.js" in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy


@pytest.mark.parametrize("name", FILES)
def test_files_are_given_and_checked_again(name: str) -> None:
    answer = Site().client.get(f"/static/{name}")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_what_is_no_page_is_not_there() -> None:
    site = Site()
    assert site.client.get("/nothing").status_code == 404
    assert site.client.get("/static/../app.py").status_code == 404
    assert site.client.get("/static/%2e%2e/app.py").status_code == 404


def test_modules_parse_no_markup_and_name_no_other_site() -> None:
    for name in FILES:
        text = (FOLDER / name).read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        addresses = set(re.findall(r"https?://[\w./]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}


def test_every_module_that_is_imported_is_there() -> None:
    for name in FILES:
        if name.endswith(".js"):
            found = re.findall(r'from "\./([\w.]+)"', (FOLDER / name).read_text())
            assert set(found) <= set(FILES)


class TestSession:
    def test_a_browser_signs_in_once(self) -> None:
        site = Site(is_open=False)
        secret = site.token("run")
        assert site.client.get("/api/session").status_code == 401
        signed = site.client.post("/api/session", json={"token": secret})
        assert signed.json()["role"] == "run"
        kept = signed.headers["set-cookie"].lower()
        assert "httponly" in kept and "samesite=strict" in kept
        # The cookie alone is enough, and for no more than the role.
        assert site.client.get("/api/session").json()["signed_in"] is True
        assert site.client.get("/api/overview").status_code == 200
        assert site.client.post("/api/pauses", json={"asset": "a"}).status_code == 403
        site.client.delete("/api/session")
        assert site.client.get("/api/overview").status_code == 401

    def test_a_wrong_token_is_not_kept(self) -> None:
        site = Site(is_open=False)
        site.token("read")
        refused = site.client.post("/api/session", json={"token": "nonsense"})
        assert said(refused)[0] == 401
        assert "set-cookie" not in refused.headers

    def test_a_header_counts_before_a_cookie(self) -> None:
        site = Site(is_open=False)
        reads, runs = site.token("read"), site.token("run")
        site.client.post("/api/session", json={"token": runs})
        shown = site.client.get("/api/session", headers={"Authorization": f"Bearer {reads}"})
        assert shown.json()["role"] == "read"

    @pytest.mark.parametrize(
        "headers", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}]
    )
    def test_pages_of_others_change_nothing(self, headers: dict[str, str]) -> None:
        site = Site(is_open=False)
        site.client.post("/api/session", json={"token": site.token("admin")})
        answer = site.client.post("/api/events", json={"asset": "a"}, headers=headers)
        assert answer.status_code == 403

    def test_without_tokens_this_machine_may_do_everything(self) -> None:
        found = Site().get("/api/session")
        assert (found["role"], found["signed_in"], found["tokens"]) == ("admin", False, False)


class TestOverview:
    def test_each_asset_stands_somewhere(self) -> None:
        site = Site()
        broken = StatementFailed("no such table")
        site.breaks = lambda step: broken if step.script.name == "b" else None
        site.post("/api/runs", target="a", partition=KEY)
        site.settle()
        found = {node["id"]: node for node in site.get("/api/overview")["nodes"]}
        assert found["lake://main/a"]["standing"] == "fresh"
        assert found["lake://main/b"]["standing"] == "failed"
        assert found["lake://main/d"]["standing"] == "never"
        assert found["lake://main/src"]["kind"] == "source"
        assert found["lake://main/a"]["layer"] < found["lake://main/b"]["layer"]

    def test_a_script_that_changed_makes_its_asset_stale(self) -> None:
        site = Site()
        site.post("/api/runs", target="d", partition=KEY)
        site.settle()
        state = site.store.partition("lake://main/d", KEY)
        assert state is not None
        site.store._partitions["lake://main/d", KEY] = type(state)(
            **{field: getattr(state, field) for field in state.__slots__ if field != "fingerprint"},
            fingerprint="another",
        )
        nodes = {node["id"]: node for node in site.get("/api/overview")["nodes"]}
        assert nodes["lake://main/d"]["standing"] == "stale"


def test_an_asset_tells_what_its_page_needs() -> None:
    site = Site()
    site.post("/api/runs", target="a", partition=KEY, only=True)
    site.settle()
    found = site.get("/api/asset", asset="a")
    assert (found["asset"], found["standing"]) == ("lake://main/a", "fresh")
    assert found["keys"]["kind"] == "daily"
    assert "lake://main/b" in found["read_by"]
    assert found["latest"]["partition"] == KEY
    assert site.get("/api/asset", asset="region")["keys"]["values"] == ["us", "eu"]
    assert site.get("/api/asset", asset="whole")["keys"] is None
    assert said(site.client.get("/api/asset", params={"asset": "nobody"}))[0] == 404


def test_what_comes_from_outside_has_a_page_too() -> None:
    found = Site().get("/api/asset", asset="lake://main/src")
    assert (found["standing"], found["script"]) == ("source", None)
    assert found["read_by"] == ["lake://main/a"]


def test_a_grid_tells_keys_without_listing_them() -> None:
    site = Site()
    site.post("/api/backfills", target="d", start="2026-05-02", end="2026-05-03")
    site.settle()
    found = site.get("/api/grid", asset="d", start="2026-05-01", end="2026-05-04")
    (row,) = found["rows"]
    assert row == {"beside": "", "before": "", "after": "", "standing": "ms2m"}
    assert (found["letters"]["m"], found["letters"]["s"]) == ("missing", "succeeded")
    assert (found["keys"], found["first"], found["last"]) == (4, "2026-05-01", "2026-05-04")
    assert found["period"] == {"minutes": 24 * 60, "months": 0}
    assert found["format"] == [["", "Y"], ["-", "m"], ["-", "d"]]
    begins = datetime(2026, 5, 1, tzinfo=UTC).timestamp() // 60
    assert found["times"] == [{"begins": begins, "keys": 4, "offset": ""}]
    assert site.get("/api/grid", asset="region") == {"kind": None}


def test_a_key_has_its_attempts() -> None:
    site = Site()
    for _ in range(2):
        site.post("/api/runs", target="d", partition=KEY)
        site.settle()
    found = site.get("/api/key", asset="d", partition=KEY)
    assert found["state"]["status"] == "succeeded"
    assert [entry["status"] for entry in found["log"]] == ["succeeded", "succeeded"]
    assert site.get("/api/key", asset="d", partition="2020-01-01")["state"] is None


def test_rows_are_values_in_order() -> None:
    site = Site()
    site.engine.answers["d"] = lambda step: [{"id": 1, "blob": b"a", "nested": [1, None]}]
    site.post("/api/runs", target="d", partition=KEY)
    site.settle()
    found = site.get("/api/rows", asset="d", partition=KEY)
    names = [column["name"] for column in found["columns"]]
    row = dict(zip(names, found["rows"][0], strict=True))
    assert (row["id"], row["blob"], row["nested"]) == (1, "0x61", "[1, null]")


def test_code_has_colours_and_what_goes_to_spark() -> None:
    site = Site()
    found = site.client.get("/api/code", params={"asset": "d", "partition": KEY})
    # The scripts of this project are in no file.
    assert said(found)[0] == 404


def test_runs_by_status_and_by_asset() -> None:
    site = Site()
    for target in ("a", "d"):
        site.post("/api/runs", target=target, partition=KEY, only=True)
    site.settle()
    assert {run["target"] for run in site.get("/api/runs", asset="d")["runs"]} == {"d"}
    assert len(site.get("/api/runs", status="succeeded", limit=2)["runs"]) == 2
    assert site.get("/api/runs", status="failed")["runs"] == []
    assert len(site.get("/api/runs", status="succeeded", asset="d")["runs"]) == 1
    assert site.get("/api/runs", status="failed", asset="d")["runs"] == []
    assert site.client.get("/api/runs", params={"status": "odd"}).status_code == 400


def test_what_a_run_tells_comes_in_pieces() -> None:
    site = Site()
    run = site.post("/api/runs", target="d", partition=KEY)["run"]
    site.settle()
    found = site.get("/api/told", of=run)
    assert found["known"] and found["over"]
    assert [piece["event"] for piece in found["told"]][-1] == "ended"
    assert site.get("/api/told", of=run, after=found["next"])["told"] == []
    assert site.get("/api/told", of="nobody")["known"] is False


def test_the_pulse_moves_when_something_happens() -> None:
    site = Site()
    before = site.get("/api/pulse")["number"]
    site.post("/api/runs", target="d", partition=KEY)
    site.settle()
    assert site.get("/api/pulse")["number"] > before


def test_keys_that_are_names_stand_somewhere_too() -> None:
    site = Site()
    for tenant in ("acme", "<img onerror=x>"):
        site.post("/api/runs", target="tenant", partition=tenant)
        site.settle()
    state = site.store.partition("lake://main/tenant", "acme")
    assert state is not None
    site.store._partitions["lake://main/tenant", "acme"] = replace(state, fingerprint="another")
    found = site.get("/api/partitions", asset="tenant", stale=True)["partitions"]
    assert {each["partition"]: each["standing"] for each in found} == {
        "acme": "stale",
        "<img onerror=x>": "succeeded",
    }
    assert "standing" not in site.get("/api/partitions", asset="tenant")["partitions"][0]


class TestRows:
    ROWS = (
        {"id": 1, "name": "ada", "at": datetime(2026, 5, 1), "blob": b"\x01\xff", "tags": ["a"]},
        {"id": 2, "name": None, "at": datetime(2026, 5, 3), "blob": None, "tags": []},
        {"id": 3, "name": "NULL", "at": None, "blob": b"", "tags": ["a", "b"]},
        {"id": 10, "name": "Bob <b>", "at": datetime(2026, 5, 2), "blob": b"ab", "tags": None},
    )

    def site(self) -> Site:
        site = Site()
        site.engine.answers["d"] = lambda step: self.ROWS
        site.post("/api/runs", target="d", partition=KEY)
        site.settle()
        return site

    def ids(self, **wanted: Any) -> list[int]:
        return [row[0] for row in self.site().get("/api/rows", asset="d", **wanted)["rows"]]

    @pytest.mark.parametrize(
        ("where", "ids"),
        [
            (["id > 2"], [3, 10]),
            (["id >= 2", "id<10"], [2, 3]),
            (["name = NULL"], [3]),
            (["name is null"], [2]),
            (["name != ada"], [3, 10]),
            (["name contains <B>"], [10]),
            (["at < 2026-05-02T00:00:01Z"], [1, 10]),
            (["blob = 0x6162"], [10]),
            (["blob contains FF"], [1]),
            (["tags contains b"], [3]),
            (["ID = 1e1"], [10]),
        ],
    )
    def test_all_rows_are_looked_at_for_those_that_pass(
        self, where: list[str], ids: list[int]
    ) -> None:
        assert self.ids(where=where) == ids

    def test_they_come_in_an_order_and_nothing_comes_last(self) -> None:
        assert self.ids(order="id desc") == [10, 3, 2, 1]
        assert self.ids(order="at") == [1, 10, 2, 3]
        assert self.ids(order="at desc") == [2, 10, 1, 3]
        assert self.ids(order="name desc", limit=1) == [1]

    @pytest.mark.parametrize(
        ("wanted", "sentence"),
        [
            ({"where": "nobody = 1"}, "there is no column 'nobody'; the columns are id, name"),
            ({"where": "id > ten"}, "'ten' cannot be compared with id; it takes a number"),
            ({"where": "tags = 1"}, "tags has parts"),
            ({"where": "id"}, "'id' compares no column with a value"),
            ({"order": "id; drop table d"}, "is no column to sort by"),
            ({"order": "nobody"}, "there is no column 'nobody'"),
        ],
    )
    def test_what_is_wrong_is_said(self, wanted: dict[str, str], sentence: str) -> None:
        answer = self.site().client.get("/api/rows", params={"asset": "d", **wanted})
        status, told = said(answer)
        assert status == 400
        assert sentence in told
        assert answer.json()["error"]["kind"] == "FilterRejected"

    def test_columns_stay_where_no_row_passes(self) -> None:
        found = self.site().get("/api/rows", asset="d", where="id > 99")
        assert found["rows"] == []
        assert [column["name"] for column in found["columns"]][:2] == ["id", "name"]

    def test_a_table_that_was_dropped_is_told_from_one_that_was_never_made(self) -> None:
        site = self.site()
        site.engine.tables.clear()
        status, told = said(site.client.get("/api/rows", params={"asset": "d"}))
        assert status == 404
        assert "the table is gone" in told and "backfill" in told
        status, told = said(site.client.get("/api/rows", params={"asset": "region"}))
        assert (status, told.partition(";")[0]) == (404, "lake://main/region does not exist yet")

    def test_a_snapshot_that_is_not_kept(self) -> None:
        answer = self.site().client.get("/api/rows", params={"asset": "d", "snapshot": "99"})
        assert said(answer)[0] == 404


def test_long_values_come_whole_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tranche.views.rows._ROOM", 7_000)
    rows = Rows(
        (("text", "string"), ("blob", "binary")),
        (("x" * 3_000, None), ("y" * 5_000, base64.b64encode(b"a" * 4_000).decode())),
    )
    (first, second) = rows_view(rows)["rows"]
    assert first == ["x" * 3_000, None]
    assert second[0] == {"text": "y" * 2_000, "length": 5_000}
    assert second[1] == {"text": f"0x{'61' * 999}", "length": 4_000}
