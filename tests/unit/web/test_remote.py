"""Commands that a server of their project does the work for."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tranche.cli.app import app
from tranche.cli.output import Output
from tranche.cli.remote import Remote, followed, remote_of, run_remotely
from tranche.cli.remote_backfill import begin_by, resume_by
from tranche.errors import (
    KeyRejected,
    KeysTaken,
    NotAllowed,
    ServerError,
    StatementFailed,
    TrancheError,
    UnknownTarget,
    UsageError,
)
from tranche.model.backfill import BackfillRequest
from tranche.model.plan import Step
from tranche.model.project import Project
from tranche.run.news import News, StepFinished, StepStarted
from tranche.run.serving import Server
from tranche.service import open_settings
from tranche.service.serving import Announced, announced

from .site import KEY, OWN, Site


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tranche.web.following._LOOK", 0.02)


def known(site: Site, url: str, secret: str = OWN) -> Remote:
    return Remote(Announced(site.server.id, url, secret, "", os.getpid()))


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def remote(site: Site) -> Iterator[Remote]:
    site.token("read")
    with site.listening() as url, site.running():
        yield known(site, url)


def nobody(_: News) -> None: ...


class TestRuns:
    def test_one_is_told_as_if_it_were_here(self, remote: Remote) -> None:
        told: list[News] = []
        view = run_remotely(remote, {"target": "a", "partition": KEY}, told.append)
        assert view["status"] == "succeeded"
        finished = [news.step.label for news in told if isinstance(news, StepFinished)]
        assert finished == ["lake://main/a", "lake://main/b", "lake://main/m"]

    def test_one_that_fails_is_no_error(self, site: Site, remote: Remote) -> None:
        site.breaks = lambda step: StatementFailed("boom")
        view = run_remotely(remote, {"target": "d", "partition": KEY}, nobody)
        assert (view["status"], view["steps"][0]["error"]) == ("failed", "boom")

    def test_errors_are_those_of_the_server(self, site: Site, remote: Remote) -> None:
        bodies: list[tuple[dict[str, Any], type[TrancheError]]] = [
            ({"target": "d", "partition": "2026-5-1"}, KeyRejected),
            ({"target": "nope"}, UnknownTarget),
            ({"tagret": "d"}, UsageError),
        ]
        for body, kind in bodies:
            with pytest.raises(TrancheError) as caught:
                run_remotely(remote, body, nobody)
            assert type(caught.value) is kind
            assert caught.value.exit_code == 2
            headers = {"Authorization": f"Bearer {OWN}"}
            answer = site.client.post("/api/runs", json=body, headers=headers)
            assert str(caught.value) == answer.json()["error"]["message"]

    def test_one_that_ends_with_an_error_raises_it(
        self, remote: Remote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def breaks(*_: object, **__: object) -> None:
            raise KeyRejected("no such key", "use another")

        monkeypatch.setattr(Server, "_run_plan", breaks)
        with pytest.raises(KeyRejected, match="no such key; use another"):
            run_remotely(remote, {"target": "d", "partition": KEY}, nobody)

    def test_what_nobody_foresaw_is_no_crash(
        self, site: Site, remote: Remote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def breaks(*_: object, **__: object) -> None:
            raise RuntimeError("hidden")

        monkeypatch.setattr(site.store, "runs", breaks)
        with pytest.raises(TrancheError, match="unexpected RuntimeError") as caught:
            remote.ask("GET", "/api/runs")
        assert caught.value.exit_code == 1

    def test_a_secret_that_holds_no_more(self, site: Site, remote: Remote) -> None:
        stranger = known(site, remote.about.url, "wrong")
        with pytest.raises(NotAllowed, match="this token is not known"):
            stranger.ask("GET", "/api/assets")
        with pytest.raises(NotAllowed):
            stranger.follow("/api/runs/x/progress", nobody)

    def test_an_interruption_ends_it_on_the_server(self, site: Site, remote: Remote) -> None:
        begun, go = threading.Event(), threading.Event()

        def holds(step: Step) -> None:
            begun.set()
            assert go.wait(10)

        def interrupts(news: News) -> None:
            if isinstance(news, StepStarted):
                assert begun.wait(10)
                raise KeyboardInterrupt

        site.breaks = holds
        cancelled = site.engine.cancel

        def cancel(attempt: str | None = None) -> None:
            cancelled(attempt)
            go.set()

        site.engine.cancel = cancel  # type: ignore[method-assign]
        view = run_remotely(remote, {"target": "a", "partition": KEY}, interrupts)
        assert view["status"] == "cancelled"
        assert [step["status"] for step in view["steps"][1:]] == ["cancelled"] * 2

    def test_one_that_has_ended_before_it_is_interrupted(self, site: Site, remote: Remote) -> None:
        run = remote.ask("POST", "/api/runs", {"target": "d", "partition": KEY})["run"]
        left = [KeyboardInterrupt]

        def interrupts(news: News) -> None:
            remote.follow(f"/api/runs/{run}/progress", nobody)
            if left:
                raise left.pop()

        assert followed(remote, f"/api/runs/{run}", interrupts)["status"] == "succeeded"

    def test_who_hears_may_break_without_blaming_the_server(self, remote: Remote) -> None:
        def breaks(_: News) -> None:
            raise BrokenPipeError

        with pytest.raises(BrokenPipeError):
            run_remotely(remote, {"target": "d", "partition": KEY}, breaks)


@contextmanager
def answering(*answers: bytes) -> Iterator[str]:
    """Something at a port that gives each caller the same, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def work() -> None:
            for answer in answers:
                caller, _ = listener.accept()
                with caller:
                    caller.recv(65_536)
                    caller.sendall(answer)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


class TestServersThatDie:
    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            b"HTTP/1.1 200",
            CHUNKED,
            CHUNKED + b"10\r\nevent: st",
            CHUNKED + b"0\r\n\r\n",
            CHUNKED + b"zz\r\n",
            OK + b"\r\nevent: ended\ndata: {\n\n",
            OK + b"\r\nevent: ended\ndata: \xff\n\n",
            OK + b"\r\n: ping\n\n",
            b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nbad",
        ],
    )
    def test_a_stream_that_breaks_off(self, site: Site, answer: bytes) -> None:
        with answering(answer) as url:
            wanted = (
                f"the server {site.server.id} at {url} does not answer any more; see what is there"
            )
            with pytest.raises(ServerError) as caught:
                known(site, url).follow("/api/runs/x/progress", nobody)
        assert str(caught.value).startswith(wanted)
        assert OWN not in str(caught.value)

    def test_one_that_is_not_there_any_more(self, site: Site) -> None:
        with site.listening() as url:
            pass
        with pytest.raises(ServerError, match="does not answer any more"):
            known(site, url).ask("GET", "/api/runs")

    @pytest.mark.parametrize("body", [b"[]", b"5", b"{}", b'{"error": 5}'])
    def test_an_answer_that_is_not_understood(self, site: Site, body: bytes) -> None:
        head = f"HTTP/1.1 500 X\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with answering(head + body) as url, pytest.raises(ServerError, match="not understood"):
            known(site, url).ask("GET", "/api/runs")

    def test_one_whose_run_goes_on_elsewhere(self, site: Site) -> None:
        # A server that stops hands over what it has not begun.
        with site.listening() as url:
            id = site.post("/api/backfills", target="d", keys=[KEY])["backfill"]
            site.server.stop()
            with pytest.raises(ServerError, match="run again what is missing"):
                followed(known(site, url), f"/api/backfills/{id}", nobody)


class TestBackfills:
    def request(self, site: Site, **how: Any) -> BackfillRequest:
        return BackfillRequest(**{"target": "d", "at": site.now, "keys": (KEY,), **how})

    def test_one_is_worked_off(
        self, site: Site, remote: Remote, capsys: pytest.CaptureFixture[str]
    ) -> None:
        request = self.request(site, keys=(), start=KEY, end="2026-05-03")
        assert begin_by(remote, request, Output(), agreed=False, detach=False)
        assert "lake://main/d: 3 keys succeeded" in capsys.readouterr().out

    def test_one_that_fails_is_gone_on_with(
        self, site: Site, remote: Remote, capsys: pytest.CaptureFixture[str]
    ) -> None:
        site.breaks = lambda step: StatementFailed("boom")
        assert not begin_by(remote, self.request(site), Output(), agreed=False, detach=False)
        site.breaks = lambda step: None
        ((backfill, _),) = [(each, 0) for each in site.store.backfills(limit=9)]
        assert resume_by(remote, backfill.id, Output(), detach=False)
        assert "1 key succeeded" in capsys.readouterr().out

    def test_keys_that_another_has(
        self, site: Site, remote: Remote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, go = threading.Event(), threading.Event()

        def holds(step: Step) -> None:
            begun.set()
            assert go.wait(10)

        site.breaks = holds
        assert begin_by(remote, self.request(site), Output(), agreed=False, detach=True)
        assert begun.wait(10)
        with pytest.raises(KeysTaken) as caught:
            begin_by(remote, self.request(site), Output(), agreed=False, detach=True)
        assert caught.value.exit_code == 2
        monkeypatch.setattr("tranche.cli.remote_backfill.time.sleep", lambda _: go.set())
        waits = self.request(site, overlap="wait")
        assert begin_by(remote, waits, Output(json=True), agreed=False, detach=False)

    def test_one_that_is_cancelled_before_it_began_did_not_have_nothing_to_do(
        self, site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with site.listening() as url:
            remote = known(site, url)
            id = remote.ask("POST", "/api/backfills", {"target": "d", "keys": [KEY]})["backfill"]
            remote.ask("POST", f"/api/backfills/{id}/cancel")
            monkeypatch.setattr(Remote, "ask", lambda *_: {"backfill": id, "status": "queued"})
            assert not resume_by(remote, id, Output(), detach=False)
        told = capsys.readouterr().out
        assert "nothing to do" not in told
        assert f"backfill {id} cancelled" in told


class TestCommands:
    """What a user types, with a server of the project beside."""

    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        (tmp_path / "tranche.toml").write_text("")
        (tmp_path / "pipelines").mkdir()
        return tmp_path

    @contextmanager
    def served(self, site: Site, project: Path) -> Iterator[None]:
        settings = open_settings(project)
        with (
            site.listening() as url,
            site.running(),
            announced(Project(settings=settings, scripts=()), site.server.id, url, OWN),
        ):
            yield

    def typed(self, project: Path, *words: str) -> Result:
        return CliRunner().invoke(app, [*words, "--project", str(project)])

    def test_exit_codes_are_those_of_the_command_itself(self, site: Site, project: Path) -> None:
        site.token("read")
        with self.served(site, project):
            well = self.typed(project, "run", "d", "--partition", KEY, "--json")
            assert (well.exit_code, json.loads(well.stdout)["status"]) == (0, "succeeded")
            wrong = self.typed(project, "run", "d", "--partition", "2026-5-1", "--json")
            error = json.loads(wrong.stdout)["error"]
            assert (wrong.exit_code, error["kind"]) == (2, "KeyRejected")
            site.breaks = lambda step: StatementFailed("boom")
            failed = self.typed(project, "run", "d", "--partition", KEY, "--json")
            assert (failed.exit_code, json.loads(failed.stdout)["status"]) == (1, "failed")
            assert OWN not in well.output + wrong.output + failed.output

    def test_which_server_is_used(self, site: Site, project: Path) -> None:
        settings = open_settings(project)
        assert remote_of(settings) is None
        with self.served(site, project):
            found = remote_of(settings)
            assert found is not None and found.about.server == site.server.id
            assert remote_of(open_settings(project / "pipelines")) is not None
            site.server.stop()
            assert remote_of(settings) is None
        assert remote_of(settings) is None

    @pytest.mark.parametrize("body", [b"[]", b"5", b"null", b'{"server": "other"}', b"<html>", b""])
    def test_what_else_may_be_at_its_port_is_not(self, project: Path, body: bytes) -> None:
        # Its process was killed, its number and its port have gone to others.
        settings = open_settings(project)
        made = Project(settings=settings, scripts=())
        answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body
        with answering(answer) as url, announced(made, "s1", url, OWN):
            assert remote_of(settings) is None
