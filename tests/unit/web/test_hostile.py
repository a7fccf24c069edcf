"""What pages ask for, asked by somebody who means no good, or who mistypes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tranche.run.serving import Server
from tranche.state.opening import open_store

from .site import SHOP, Site, said

ZONES = {
    "hours": '-- pipeline\n-- partitioned hourly tz="Australia/Lord_Howe" start="2020-01-01"\n'
    "-- materialize lake://main/hours\nSELECT 1 AS x",
    "days": '-- pipeline\n-- partitioned daily tz="America/Sao_Paulo" start="1913-01-01"\n'
    "-- materialize lake://main/days\nSELECT 1 AS x",
}
PARTS = {
    "parts": '-- pipeline\n-- partitioned day: daily start="2026-01-01" | region: static'
    ' keys="us,eu"\n-- materialize lake://main/parts\nSELECT 1 AS x'
}
NO_KEYS = ["", "\0", "a\0b", "x" * 2_000]


class Kept(Site):
    """A site whose state is a database, which cannot keep every text."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder}/state.db"
        super().__init__(SHOP | ZONES)

    def another(self) -> Server:
        self.bench.store = open_store(self.url, create=True)  # type: ignore[assignment]
        return super().another()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Kept(tmp_path_factory.mktemp("state"))
    made.settle()
    with made.client:
        yield made


class TestKeys:
    """A text that can be no key is refused, wherever it is asked for."""

    @pytest.mark.parametrize("key", NO_KEYS)
    @pytest.mark.parametrize("asset", ["d", "tenant", "whole", "region"])
    def test_of_what_is_made(self, site: Site, asset: str, key: str) -> None:
        query = {"asset": asset, "partition": key}
        status, message = said(site.client.get("/api/key", params=query))
        assert status == 400
        assert "is no key" in message

    @pytest.mark.parametrize("key", NO_KEYS)
    @pytest.mark.parametrize("path", ["/api/rows", "/api/violations"])
    def test_of_what_programs_write(self, site: Site, path: str, key: str) -> None:
        query = {"asset": "lake://main/theirs", "partition": key}
        assert said(site.client.get(path, params=query))[0] in (400, 404)

    @pytest.mark.parametrize(
        "path", ["rows", "violations", "key", "asset", "tests", "columns", "snapshots", "lineage"]
    )
    @pytest.mark.parametrize("name", ["x" * 2_000, "a\0b"])
    def test_a_name_that_no_state_can_keep(self, site: Site, path: str, name: str) -> None:
        query = {"asset": f"lake://main/{name}"}
        assert said(site.client.get(f"/api/{path}", params=query))[0] == 404


class TestTimes:
    """Ends of the calendar take no longer than other days."""

    @pytest.mark.parametrize("path", ["/api/grid", "/api/ranges"])
    @pytest.mark.parametrize("asset", ["days", "hours"])
    def test_an_end_at_the_end_of_all_days(self, site: Site, path: str, asset: str) -> None:
        began = time.process_time()
        site.get(path, asset=asset, end="9999-12-31")
        assert time.process_time() - began < 4


class TestCode:
    """A script is shown whatever is asked for beside it."""

    @pytest.mark.parametrize(
        ("name", "key", "reason"),
        [
            ("region", None, "the run has no key"),
            ("tenant", None, "the key is read from the payload"),
            ("whole", None, "needs the argument $n"),
            ("parts", None, "would run for 2 keys"),
            ("d", "2026-5-1", "2026-05-01"),
            ("region", "<b>", "is no static key"),
        ],
    )
    def test_without_what_it_takes_to_run(
        self, tmp_path: Path, name: str, key: str | None, reason: str
    ) -> None:
        site = Site(SHOP | PARTS)
        for each, text in (SHOP | PARTS).items():
            (tmp_path / "pipelines").mkdir(exist_ok=True)
            (tmp_path / f"pipelines/{each}.sql").write_text(text)
        settings = replace(site.server.project.settings, root=str(tmp_path))
        site.server.project = replace(site.server.project, settings=settings)
        found = site.get("/api/code", asset=name, **({} if key is None else {"partition": key}))
        assert found["path"] == f"pipelines/{name}.sql"
        assert found["lines"]
        assert found["explained"]["verdict"] == "fail"
        assert reason in found["explained"]["reason"]

    def test_a_key_of_now_is_a_whole_key(self) -> None:
        site = Site(SHOP | PARTS)
        assert site.get("/api/asset", asset="parts")["current"] is None
        assert site.get("/api/asset", asset="d")["current"] == "2026-05-15"


class TestSpoilt:
    """A state that somebody has written into by hand."""

    @pytest.mark.parametrize(
        ("table", "column", "paths"),
        [
            ("runs", "started_at", ["/api/runs"]),
            ("runs", "payload", ["/api/runs"]),
            ("partitions", "at", ["/api/asset?asset=d", "/api/grid?asset=d&stale=true"]),
            ("materializations", "inputs", ["/api/key?asset=d&partition=2026-05-01"]),
            ("materializations", "tests", ["/api/tests?asset=d"]),
        ],
    )
    @pytest.mark.parametrize("value", ["{bad", "2026-99-99", b"\xff\x00"])
    def test_is_said_to_be_so(
        self, tmp_path: Path, table: str, column: str, paths: list[str], value: str | bytes
    ) -> None:
        site = Kept(tmp_path)
        site.post("/api/runs", target="d", partition="2026-05-01")
        site.settle()
        with sqlite3.connect(tmp_path / "state.db") as state:
            state.execute(f"UPDATE {table} SET {column} = ?", (value,))
        for path in paths:
            status, message = said(site.client.get(path))
            assert status == 503
            assert message.startswith("the state has ")
            assert message.endswith("put back a copy of it")
