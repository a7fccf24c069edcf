"""Traces of columns as people and programs see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tranche.cli.app import app
from tranche.cli.lineages import as_mermaid, as_text
from tranche.model.asset import FileSet, LakeTable
from tranche.model.lineage import Link, Point, Trace

SCRIPTS = {
    "orders": "-- materialize lake://main/orders\n"
    "SELECT id, day, amount, status FROM read_json('data/a.json')",
    "daily": "-- materialize lake://main/daily\n-- column note <- lake://main/notes.text\n"
    "SELECT day, sum(CASE WHEN status = 'x' THEN amount END) AS total, max(id) AS note\n"
    "FROM orders GROUP BY day",
    "wild": "-- materialize lake://main/wild\nSELECT * FROM elsewhere",
    "look": "SELECT total FROM daily",
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in SCRIPTS.items():
        file = tmp_path / "pipelines" / f"{name}.sql"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"-- pipeline\n{text}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["lineage", *args])
    return done.exit_code, done.stdout


def test_up(shop: Path) -> None:
    assert run("daily.total") == (
        0,
        "lake://main/daily.total\n"
        "  ← lake://main/orders.amount  (aggregation)\n"
        "    ← file:data/a.json.amount  (identity)\n"
        "  ⇠ lake://main/orders.status  (conditional)\n"
        "    ← file:data/a.json.status  (identity)\n"
        "rows of lake://main/daily\n"
        "  made of lake://main/orders\n"
        "  group lake://main/orders.day\n"
        "rows of lake://main/orders\n"
        "  made of file:data/a.json\n",
    )


@pytest.mark.parametrize("name", ["file:data/a.json.day", "lake://main/orders.day", "orders.DAY"])
def test_down(shop: Path, name: str) -> None:
    code, text = run(name, "--down")
    assert code == 0
    assert text.endswith(
        "→ lake://main/daily.day  (identity)\n"
        + ("    " if "json" in name else "  ")
        + "⇢ all of lake://main/daily  (group)\n"
        "read by look, which writes nothing\n"
    )


def test_an_asset(shop: Path) -> None:
    code, text = run("lake://main/daily")
    assert code == 0
    assert "lake://main/daily.note\n  ← lake://main/notes.text  (expression, declared)\n" in text
    assert "file:data/a.json" not in text


def test_as_json(shop: Path) -> None:
    code, text = run("daily.note", "--json")
    assert code == 0
    value = json.loads(text)
    assert (value["asset"], value["column"], value["direction"], value["complete"]) == (
        *("lake://main/daily", "note", "up", True),
    )
    assert value["links"][0] == {
        "from": {"asset": "lake://main/notes", "column": "text", "field": None},
        "to": {"asset": "lake://main/daily", "column": "note", "field": None},
        "direct": True,
        "how": "expression",
        "declared": True,
        "script": "daily",
        "depth": 1,
    }
    assert run("daily.note", "--format", "json") == (0, text)


def test_what_is_not_known_is_said(shop: Path) -> None:
    done = CliRunner().invoke(app, ["lineage", "wild.x"])
    assert done.exit_code == 0
    assert "← lake://main/elsewhere.x  (identity)" in done.stdout
    value = json.loads(run("wild.x", "--json")[1])
    assert not value["complete"]
    assert value["unknown"] == [
        {
            "script": "wild",
            "path": "pipelines/wild.sql",
            "line": None,
            "what": "the columns of lake://main/elsewhere are not known",
        }
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["daily.totl"], "lake://main/daily has no column 'totl'; did you mean 'total'?"),
        (["file:data/a.json.amont"], "no script reads a column 'amont' of file:data/a.json; did"),
        (["dayly.total"], "'dayly.total' names no asset and no column of one"),
        (["lake://main/dail.total"], "did you mean 'lake://main/daily'?"),
        (["daily.total", "--up", "--down"], "--up and --down go different ways"),
    ],
)
def test_wrong_use(shop: Path, args: list[str], message: str) -> None:
    code, text = run(*args, "--json")
    assert code == 2
    assert message in json.loads(text)["error"]["message"]


def test_names_cannot_break_out() -> None:
    odd = Point(FileSet("file", 'a"]; click x <b>\n'), 'c"|x|<script>\n')
    table = LakeTable("main", "t")
    link = Link(odd, Point(table, "x\x1b[31m"), "identity", "s", 1)
    found = Trace(odd, "down", (odd,), (link,))
    drawn = "\n".join(as_mermaid(found))
    assert '"]; click' not in drawn and "<b>" not in drawn and "<script>" not in drawn
    assert len(drawn.splitlines()) == 8
    text = "\n".join(as_text(found))
    assert "\x1b" not in text and len(text.splitlines()) == 2


def test_mermaid(shop: Path) -> None:
    code, text = run("daily.day", "-f", "mermaid")
    assert code == 0
    assert text.startswith('graph LR\n  subgraph a0["lake://main/daily"]\n    n0["day"]\n')
    assert '-->|"identity"| n0' in text
    assert '-.->|"group"|' in text
