"""Graphs say what a script waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tranche.cli.graphs import as_dot, as_mermaid, as_text
from tranche.model.project import Project
from tranche.projects.config import parse_settings
from tranche.script.lakes import Lakes
from tranche.script.sql import read_sql_script
from tranche.views.graph import graph_view

ON = "on lake://main/a", "on lake://main/b", "on lake://main/x"
CONDITION = "(lake://main/a & lake://main/b) | lake://main/x"


def project(*lines: str) -> Project:
    text = "".join(f"-- {line}\n" for line in ("pipeline", *ON, *lines)) + "SELECT 1 AS a"
    read = read_sql_script("c", "pipelines/c.sql", text, Lakes(frozenset({"main"}), "main"))
    assert read.script is not None, read.faults
    return Project(settings=parse_settings("", Path("/p"), None, {}), scripts=(read.script,))


def test_a_condition_shows() -> None:
    found = project(f"trigger {CONDITION}")
    assert list(as_text(found)) == [
        "c",
        *(f"  ⚡ lake://main/{name}" for name in "abx"),
        f"    when {CONDITION}",
    ]
    assert f'["c<br/>when {CONDITION.replace("&", "&amp;")}"]' in "\n".join(as_mermaid(found))
    assert f'"c" [shape=box, label="c\\nwhen {CONDITION}"];' in "\n".join(as_dot(found))
    assert graph_view(found)["scripts"][0]["condition"] == CONDITION


def test_a_schedule_shows() -> None:
    found = project('on schedule "0 6 * * 1-5" tz="Europe/Berlin"')
    assert list(as_text(found))[:2] == ["c", "  ⚡ schedule 0 6 * * 1-5 (Europe/Berlin)"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], None),
        (["trigger lake://main/a | lake://main/x | lake://main/b"], None),
        (["trigger all"], "lake://main/a & lake://main/b & lake://main/x"),
    ],
)
def test_plain_any_needs_no_word(lines: list[str], expected: str | None) -> None:
    found = project(*lines)
    assert graph_view(found)["scripts"][0]["condition"] == expected
    assert any("when" in line for line in as_text(found)) is (expected is not None)
