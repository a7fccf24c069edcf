"""From a run to where its events go, by the official client."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tranche import service
from tranche.model.asset import LakeTable
from tranche.model.lineage import (
    ColumnLineage,
    Influence,
    Origin,
    ScriptLineage,
    SourceColumn,
)
from tranche.model.project import Project
from tranche.openlineage.watching import Lineage
from tranche.ports import Staged, Unwatched, Work
from tranche.projects.config import load_settings, parse_settings
from tranche.projects.load import load_project
from tranche.testing import MemoryEngine
from tranche.testing.engine import MemoryTrial

from .scene import CHAIN, Scene

KEY = "2026-05-16"


class Received:
    """An HTTP server of this machine that keeps what it gets."""

    def __init__(self, status: int = 200, delay: float = 0.0) -> None:
        self.events: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        received = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(delay)
                received.events.append(json.loads(body))
                received.headers.append(dict(self.headers))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def receiving(status: int = 200, delay: float = 0.0) -> Iterator[Received]:
    received = Received(status, delay)
    try:
        yield received
    finally:
        received.stop()


def ran(
    toml: str, root: Path, environ: dict[str, str] | None = None, *, flush: float = 5.0
) -> tuple[str, float]:
    """How a run ended whose events go where the settings say, and how long it took."""
    scene = Scene(root=root)
    settings = parse_settings(toml, root, None, environ or {})
    assert settings.openlineage is not None
    lineage = Lineage(settings, settings.openlineage, flush=flush)
    scene.store.watcher = lineage
    began = time.monotonic()
    result = scene.run("a")
    took = time.monotonic() - began
    lineage.wait()
    return result.status, took


def http(url: str) -> str:
    return (
        "[openlineage]\nnamespace = 'shop'\n[openlineage.transport]\ntype = 'http'\n"
        f"url = '{url}'\ntimeout = 1\nretry = {{ total = 0 }}\n"
        "auth = { type = 'api_key', apiKey = '${OL_API_KEY}' }\n"
    )


def test_events_are_written_to_a_file_of_the_project(tmp_path: Path) -> None:
    toml = "[openlineage.transport]\ntype = 'file'\nlog_file_path = 'events/all.jsonl'\nappend = true\n"
    assert ran(toml, tmp_path)[0] == "succeeded"
    lines = (tmp_path / "events/all.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["eventType"] for event in events].count("COMPLETE") == 5
    assert len(events) == 10
    # The project's name, unless the settings have another.
    assert {event["job"]["namespace"] for event in events} == {tmp_path.name}


def test_events_arrive_at_a_server(tmp_path: Path) -> None:
    with receiving() as received:
        status, _ = ran(http(received.url), tmp_path, {"OL_API_KEY": "a-long-key"})
    assert status == "succeeded"
    assert len(received.events) == 10
    assert {headers["Authorization"] for headers in received.headers} == {"Bearer a-long-key"}
    assert {event["job"]["namespace"] for event in received.events} == {"shop"}


def test_the_environment_of_the_client_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as received:
        environ = {"OPENLINEAGE_URL": received.url, "OPENLINEAGE_API_KEY": "a-long-key"}
        # The client sets some more of them, which are gone afterwards.
        monkeypatch.setattr("os.environ", {**os.environ, **environ})
        assert ran("", tmp_path, environ)[0] == "succeeded"
    assert len(received.events) == 10
    assert received.headers[0]["Authorization"] == "Bearer a-long-key"


class TestTrouble:
    """Whatever becomes of the events, the run is the same."""

    def check(self, toml: str, root: Path, caplog: pytest.LogCaptureFixture, why: str) -> None:
        with caplog.at_level(logging.WARNING, "tranche.openlineage"):
            status, took = ran(toml, root, {"OL_API_KEY": "a-long-key"}, flush=1.0)
        assert status == "succeeded"
        assert took < 2.5
        said = [record.getMessage() for record in caplog.records if "tranche" in record.name]
        # A client of the test before, which nobody waited for, may be told only now that it is over.
        ports = re.findall(r"127\.0\.0\.1:(\d+)", toml)
        said = [text for text in said if "port=" not in text or f"port={ports[0]}" in text]
        assert why in said[0]
        assert said[-1].endswith("could not be sent")
        assert len(said) <= 2
        assert "a-long-key" not in caplog.text

    def test_nobody_listens(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
            self.check(http(url), tmp_path, caplog, "ConnectionError")

    def test_its_tries_are_not_told_of(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with receiving(status=503) as received:
            toml = http(received.url).replace("total = 0", "total = 2, backoff_factor = 0.01")
            self.check(toml, tmp_path, caplog, "503")
        assert len(received.events) > 3
        assert {record.name for record in caplog.records} == {"tranche.openlineage"}

    def test_it_says_no(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with receiving(status=401) as received:
            self.check(http(received.url), tmp_path, caplog, "HTTPError: 401")

    def test_it_hangs(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen()
            url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
            toml = http(url).replace("timeout = 1", "timeout = 30")
            self.check(toml, tmp_path, caplog, "events of OpenLineage could not be sent")

    def test_it_is_slow(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with receiving(delay=0.3) as received:
            self.check(http(received.url), tmp_path, caplog, "events of OpenLineage could not be")
        assert 1 <= len(received.events) < 10

    def test_the_file_cannot_be_written(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "events").write_text("no folder")
        toml = "[openlineage.transport]\ntype = 'file'\nlog_file_path = 'events/all.jsonl'\n"
        self.check(toml, tmp_path, caplog, "FileExistsError")

    def test_there_is_no_such_class(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        toml = "[openlineage.transport]\ntype = 'nowhere.Transport'\n"
        self.check(toml, tmp_path, caplog, "Failed to import nowhere.Transport")

    def test_the_client_is_not_installed(
        self,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("tranche.openlineage.watching.find_spec", lambda _: None)
        status, _ = ran("[openlineage.transport]\ntype = 'console'\n", tmp_path)
        assert status == "succeeded"
        [said] = [record.getMessage() for record in caplog.records]
        assert said == (
            "events of OpenLineage are not sent, because their client is not installed;"
            " install tranche[openlineage]"
        )


def test_events_are_shown_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.getLogger("openlineage.client.transport.console").handlers.clear()
    assert ran("[openlineage.transport]\ntype = 'console'\n", tmp_path)[0] == "succeeded"
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len([line for line in shown.err.splitlines() if line.startswith("{")]) == 10


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "pipelines").mkdir()
    for name, text in CHAIN.items():
        (tmp_path / "pipelines" / f"{name}.sql").write_text(text, encoding="utf-8")
    (tmp_path / "tranche.toml").write_text(
        "[openlineage.transport]\ntype = 'file'\nlog_file_path = 'all.jsonl'\nappend = true\n"
    )
    return load_project(load_settings(tmp_path, None, {}))


def events_of(project: Project) -> list[dict[str, Any]]:
    text = Path(project.settings.root, "all.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def run_once(
    project: Project, target: str = "a", engine: MemoryEngine | None = None, **request: Any
) -> None:
    from tranche.model.plan import Request

    with service.open_state(project, create=True) as store:
        asked = Request(target=target, fire_time=service.now(), partition=KEY, **request)
        service.run(service.plan(project, asked, store), engine or MemoryEngine(), store)
        lineage = store.watcher
    assert isinstance(lineage, Lineage)
    lineage.wait()


def test_whoever_opens_the_state_is_watched(project: Project) -> None:
    run_once(project)
    events = events_of(project)
    assert len(events) == 10
    begun = next(event for event in events if event["job"]["name"] == "b")
    assert begun["job"]["facets"]["sql"]["query"] == CHAIN["b"]


def column_lineage(project: Project, job: str) -> dict[str, Any]:
    ended = [e for e in events_of(project) if e["eventType"] == "COMPLETE" and e["outputs"]]
    output = next(e for e in ended if e["job"]["name"] == job)["outputs"][0]
    found: dict[str, Any] = output["facets"]["columnLineage"]
    return found


def ways(fields: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(f["field"], way["subtype"]) for f in fields for way in f["transformations"]}


def test_columns_are_told_by_what_the_text_says(project: Project) -> None:
    text = CHAIN["a"].replace("SELECT", "SELECT sum(n) AS total, upper(name) AS name,", 1)
    text = f"{text} FROM src WHERE day > '2026-01-01' GROUP BY name"
    Path(project.settings.root, "pipelines", "a.sql").write_text(text)
    run_once(load_project(project.settings))
    told = column_lineage(project, "a")
    assert ways(told["fields"]["total"]["inputFields"]) == {("n", "AGGREGATION")}
    assert ways(told["fields"]["name"]["inputFields"]) == {("name", "TRANSFORMATION")}
    assert ways(told["dataset"]) >= {("day", "FILTER"), ("name", "GROUP_BY")}


SEEN = """\
# pipeline
# partitioned daily
# materialize lake://main/seen
# column note <- lake://main/notes.text
def main(spark):
    return spark.range(1)
"""


class SeenTrial(MemoryTrial):
    """A trial that finds out where columns come from, unless it is known."""

    def stage(self) -> Staged:
        if self.work.traced is not None:
            return super().stage()
        table = LakeTable("main", "src")
        day, n = SourceColumn(table, "day"), SourceColumn(table, "n")
        columns = (
            ColumnLineage("total", (Origin(n, "aggregation"),)),
            ColumnLineage("note", (Origin(n, "identity"),)),
        )
        found = ScriptLineage(columns=columns, rows=(Influence(day, "filter"),), tables=(table,))
        return replace(super().stage(), traced=found)


class SeeingEngine(MemoryEngine):
    @contextmanager
    def attempt(self, work: Work) -> Iterator[SeenTrial]:
        self.asked.append(work.traced)
        yield SeenTrial(self, work)

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, ...] | None] = []


def test_columns_of_python_are_told_by_what_was_seen(project: Project) -> None:
    Path(project.settings.root, "pipelines", "seen.py").write_text(SEEN)
    project, engine = load_project(project.settings), SeeingEngine()
    run_once(project, "seen", engine)
    run_once(project, "seen", engine)
    assert engine.asked == [None, ("total", "note")]
    told = column_lineage(project, "seen")
    assert ways(told["fields"]["total"]["inputFields"]) == {("n", "AGGREGATION")}
    # What a line says wins.
    [note] = told["fields"]["note"]["inputFields"]
    assert note["field"] == "text"
    assert ways(told["dataset"]) == {("day", "FILTER")}
    # Commands ask the state, and no Spark.
    with service.open_partitions(project) as state:
        traced = service.column_lineage(project, state, "seen.total", "up")
        assert [(str(link.source), link.how) for link in traced.links] == [
            ("lake://main/src.n", "aggregation"),
            ("rows of lake://main/src", "rows"),
            ("lake://main/src.day", "filter"),
        ]
        assert traced.complete

    # It is not told of code that was changed since.
    Path(project.settings.root, "pipelines", "seen.py").write_text(SEEN + "\nMORE = 1\n")
    changed = load_project(project.settings)
    with service.open_partitions(changed) as state:
        assert not service.column_lineage(changed, state, "seen.total", "up").complete


def test_the_texts_of_scripts_stay_here_if_they_shall(project: Project) -> None:
    told = project.settings.openlineage
    assert told is not None
    settings = replace(project.settings, openlineage=replace(told, code=False))
    run_once(replace(project, settings=settings))
    assert "SELECT" not in str(events_of(project))


def test_a_plan_tells_nobody(project: Project) -> None:
    from tranche.model.plan import Request

    with service.open_state(project, create=True) as store:
        asked = Request(target="a", fire_time=service.now(), partition=KEY)
        service.plan(project, asked, store)
    assert not Path(project.settings.root, "all.jsonl").exists()


def test_nobody_watches_unless_the_settings_say_so(project: Project) -> None:
    plain = replace(project, settings=replace(project.settings, openlineage=None))
    with service.open_state(plain, create=True) as store:
        assert isinstance(store.watcher, Unwatched)


PROBE = """\
import sys
from pathlib import Path
from tranche import service
from tranche.model.plan import Request
from tranche.testing import MemoryEngine
from tranche.testing.engine import MemoryTrial
project = service.open_project(Path(sys.argv[1]))
with service.open_state(project, create=True) as store:
    asked = Request(target="a", fire_time=service.now(), partition="2026-05-16")
    plan = service.plan(project, asked, store)
    before = sorted(name for name in sys.modules if name.partition(".")[0] == "openlineage")
    result = service.run(plan, MemoryEngine(), store)
print(result.status, before, "tranche.openlineage" in sys.modules, flush=True)
"""


def probed(root: str) -> tuple[str, str, int]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, root], capture_output=True, text=True, check=False
    )
    return done.stdout.strip(), done.stderr, done.returncode


def test_a_process_sends_what_is_left_before_it_ends(project: Project) -> None:
    assert probed(project.settings.root) == ("succeeded [] True", "", 0)
    assert len(events_of(project)) == 10


def test_what_is_not_used_is_not_imported(project: Project) -> None:
    Path(project.settings.root, "tranche.toml").write_text("")
    assert probed(project.settings.root) == ("succeeded [] False", "", 0)


def test_a_process_ends_although_nobody_answers(project: Project) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        toml = http(f"http://127.0.0.1:{deaf.getsockname()[1]}").replace("= 1\n", "= 60\n")
        Path(project.settings.root, "tranche.toml").write_text(toml.replace("${OL_API_KEY}", "key"))
        began = time.monotonic()
        out, err, code = probed(project.settings.root)
    assert (out, code) == ("succeeded [] True", 0)
    assert "10 events of OpenLineage could not be sent" in err
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("listens", [True, False])
def test_a_transport_that_sends_in_the_background_tells_what_it_lost(
    project: Project, listens: bool
) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        if listens:
            deaf.listen()
        toml = http(f"http://127.0.0.1:{deaf.getsockname()[1]}").replace("'http'", "'async_http'")
        Path(project.settings.root, "tranche.toml").write_text(toml.replace("${OL_API_KEY}", "key"))
        began = time.monotonic()
        out, err, code = probed(project.settings.root)
    assert (out, code) == ("succeeded [] True", 0)
    assert err.splitlines()[-1] == "events of OpenLineage may not have arrived"
    assert time.monotonic() - began < 30
