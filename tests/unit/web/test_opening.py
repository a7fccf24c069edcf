"""Who is let in when a server starts, and tokens as users make them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner, Result

from tranche.cli.app import app
from tranche.cli.output import Output
from tranche.cli.serving import _application, _check_open, _say_where, _Words
from tranche.errors import UsageError
from tranche.run.runner import RunResult
from tranche.run.serving import Started
from tranche.service.tokens import create_token, revoke_token

from .site import Site


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "box.example", ""])
def test_the_network_is_let_in_only_where_callers_can_be_told_apart(host: str) -> None:
    site = Site()
    with pytest.raises(UsageError, match="everybody on the network could start runs"):
        _check_open(host, site.store)
    create_token(site.store, "mine", "run")
    _check_open(host, site.store)
    revoke_token(site.store, "mine")
    with pytest.raises(UsageError, match="make one with 'tranche token create"):
        _check_open(host, site.store)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_this_machine_needs_no_token(host: str) -> None:
    _check_open(host, Site().store)


def test_that_it_is_open_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    site = Site()
    words = _Words(Output())
    _say_where(site.server, "http://127.0.0.1:1", "127.0.0.1", site.store, words)
    told = capsys.readouterr().out
    assert "no token is configured, so that every program of this machine may use it" in told
    site.token("read")
    _say_where(site.server, "http://127.0.0.1:1", "127.0.0.1", site.store, words)
    assert "callers need a token" in capsys.readouterr().out


def test_so_it_is_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    site = Site()
    words = _Words(Output(json=True))
    _say_where(site.server, "http://127.0.0.1:1", "127.0.0.1", site.store, words)
    told = json.loads(capsys.readouterr().out)
    assert (told["event"], told["open"], told["server"]) == ("serving", True, site.server.id)


def test_runs_that_end_are_counted() -> None:
    site = Site()
    words = _Words(Output(debug=True))
    project = site.bench.project
    made = _application(project, site.server, site.store, words, host="127.0.0.1", secret="s")
    site.server.ended(Started("r", "d", kind="ordered"), RunResult("r", "succeeded", ()))
    told = TestClient(made, base_url="http://localhost").get("/metrics").text
    assert 'tranche_runs_total{kind="ordered",status="succeeded"} 1.0' in told


class TestCommands:
    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        (tmp_path / "tranche.toml").write_text("")
        (tmp_path / "pipelines").mkdir()
        return tmp_path

    def typed(self, project: Path, *words: str) -> Result:
        return CliRunner().invoke(app, ["token", *words, "--project", str(project), "--json"])

    def test_a_token_is_shown_once(self, project: Path) -> None:
        made = json.loads(self.typed(project, "create", "ci", "--role", "run").stdout)
        assert (made["name"], made["role"]) == ("ci", "run")
        assert made["token"].startswith("tranche_")
        listed = self.typed(project, "list")
        (token,) = json.loads(listed.stdout)["tokens"]
        assert (token["name"], token["role"], token["revoked_at"]) == ("ci", "run", None)
        assert "hash" not in token
        kept = b"".join(file.read_bytes() for file in project.rglob("*") if file.is_file())
        assert made["token"].encode() not in kept
        assert made["token"] not in listed.output

    def test_a_token_is_ended_once(self, project: Path) -> None:
        self.typed(project, "create", "ci")
        ended = json.loads(self.typed(project, "revoke", "ci").stdout)
        assert (ended["status"], ended["left"]) == ("revoked", 0)
        again = self.typed(project, "revoke", "ci")
        assert again.exit_code == 2
        assert "no token called 'ci' is in force" in json.loads(again.stdout)["error"]["message"]

    @pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 101, "\x1b[31m"])
    def test_names_that_are_none(self, project: Path, name: str) -> None:
        refused = self.typed(project, "create", name)
        assert refused.exit_code == 2
        assert json.loads(self.typed(project, "list").stdout)["tokens"] == []

    def test_a_name_is_taken_for_ever(self, project: Path) -> None:
        self.typed(project, "create", "ci")
        self.typed(project, "revoke", "ci")
        assert self.typed(project, "create", "ci", "--role", "admin").exit_code == 2
