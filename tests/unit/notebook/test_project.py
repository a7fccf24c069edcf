"""A project in a notebook."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import tranche
from tranche.errors import ProjectNotFound, UnknownTarget
from tranche.model.asset import LakeTable
from tranche.notebook.project import ShownProject

from .shop import CHAIN, DAILY, NOW, Read, ended, read, shop

EVIL = '<img src=x onerror="alert(1)">'


def test_the_graph_says_how_each_asset_stands(tmp_path: Path) -> None:
    shown = shop(tmp_path, CHAIN)
    ended(shown, "lake://main/raw", ["2026-11-16", "2026-11-17"])
    ended(shown, "lake://main/orders", ["2026-11-16"], lambda _: "failed", rows=None)
    found = read(shown)
    assert found.tags.count("svg") == 1
    assert "✓ fresh 1" in found.text
    assert "lake://main/raw: fresh" in found.text
    assert "fresh · daily · 2 keys" in found.text
    assert "failed · daily · 1 of 1 keys" in found.text
    assert "lake://main/outside: source" in found.text
    assert "Nothing was run yet" not in found.text


def test_a_small_project_as_it_is_drawn(tmp_path: Path) -> None:
    shown = shop(tmp_path, {"orders": "-- materialize lake://main/orders\nSELECT 1 AS id"})
    html = shown._repr_html_()
    start, end = html.index("<svg"), html.index("</svg>") + len("</svg>")
    assert html[start:end] == (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="The graph: 1 node, 0 arrows"'
        ' width="208" height="84" viewBox="0 0 208 84"'
        ' font-family="system-ui,-apple-system,&#x27;Segoe UI&#x27;,sans-serif"'
        ' font-size="11" fill="currentColor" style="max-width:none">'
        '<g fill="none" opacity="0.75"></g>'
        "<g><title>lake://main/orders: never</title>"
        '<rect x="12" y="28" width="184" height="44" rx="8" fill="#7b8494" fill-opacity="0.13"'
        ' stroke="#7b8494" stroke-width="1.4"></rect>'
        '<text x="21" y="46" font-size="13" fill="#7b8494">○</text>'
        '<text x="38" y="46" font-size="13" font-weight="600">orders</text>'
        '<text x="21" y="63" opacity="0.8">never · one table</text></g></svg>'
    )


def test_before_the_first_run_it_says_how_to_begin(tmp_path: Path) -> None:
    found = read(shop(tmp_path, CHAIN))
    assert "Nothing was run yet; tranche run ingest makes a first partition." in found.text
    assert "○ never 2" in found.text
    assert not (tmp_path / ".tranche" / "state.db").exists()


def test_no_scripts_and_only_faulty_ones(tmp_path: Path) -> None:
    (tmp_path / "a" / "pipelines").mkdir(parents=True)
    assert "There is no script in this project yet." in read(tranche.project(tmp_path / "a")).text
    broken = shop(tmp_path / "b", {"x": "-- partitioned dayly\nSELECT 1 AS x"})
    assert "Every script has faults" in read(broken).text
    assert "✗ pipelines/x.sql:2: unknown kind 'dayly'" in read(broken).text
    assert repr(broken) == "project 'b': 0 scripts, 0 assets, 1 fault"


def test_very_many_faults_are_cut(tmp_path: Path) -> None:
    lines = "-- partitioned dayly\nSELECT 1 AS x"
    shown = shop(tmp_path, {f"x{number}": lines for number in range(30)})
    found = read(shown)
    assert found.text.count("unknown kind") == 20
    assert "… and 10 more; tranche check lists them all" in found.text


def test_a_folder_that_is_no_project_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProjectNotFound, match="make one with 'tranche init'"):
        tranche.project(tmp_path)


def test_a_state_that_cannot_be_read_is_told_and_the_faults_still_are(tmp_path: Path) -> None:
    shown = shop(tmp_path, CHAIN | {"x": "-- partitioned dayly\nSELECT 1 AS x"})
    (tmp_path / ".tranche").mkdir(exist_ok=True)
    (tmp_path / ".tranche" / "state.db").write_text("no database " * 1000)
    found = read(shown)
    assert "state.db" in found.text
    assert "unknown kind 'dayly'" in found.text
    assert "svg" not in found.tags


def test_whatever_users_call_things_stays_text(tmp_path: Path) -> None:
    (tmp_path / "pipelines").mkdir()
    name = "<script>alert(1)<&'"
    (tmp_path / "tranche.toml").write_text(f'[project]\nname = "{name}"\n')
    folder = "<b onload=x>"
    shown = shop(
        tmp_path,
        {
            f"{folder}/a": f"{DAILY}-- materialize lake://main/a\n"
            "SELECT * FROM read_csv('<i>\"x.csv')",
            "faulty": f"-- partitioned {EVIL}\nSELECT 1 AS x",
        },
    )
    found = read(shown)
    assert name in found.text
    assert folder in found.text
    assert "<i>" in found.text
    assert "<img" in found.text
    assert {"script", "img", "b", "i"}.isdisjoint(found.tags)
    assert not any(key.startswith("on") for key, _ in found.attributes)


def test_nothing_in_it_comes_from_elsewhere_or_is_shared_with_other_outputs(
    tmp_path: Path,
) -> None:
    found = read(shop(tmp_path, CHAIN))
    assert {"script", "style", "link", "iframe"}.isdisjoint(found.tags)
    assert {"id", "class", "href", "src"}.isdisjoint(key for key, _ in found.attributes)


def test_five_hundred_assets_are_drawn_and_more_are_counted(tmp_path: Path) -> None:
    shown = shop(
        tmp_path, {"a": "-- materialize lake://main/a\nSELECT 1 AS x", **_chained(range(1, 30))}
    )
    script = shown._project.scripts[0]
    assert len(shown._repr_html_()) < 30 * 1_500
    made = script.annotations.materialize
    assert made is not None
    many = [
        replace(
            script,
            name=f"s{number}",
            annotations=replace(
                script.annotations,
                materialize=replace(made, asset=LakeTable("main", f"t{number}")),
            ),
        )
        for number in range(501)
    ]
    more = ShownProject(replace(shown._project, scripts=tuple(many)), lambda: NOW)
    assert "501 assets and sources are too many for one picture." in read(more).text
    assert len(more._repr_html_()) < 2_000


def _chained(numbers: range) -> dict[str, str]:
    return {
        f"s{number}": f"-- materialize lake://main/t{number}\nSELECT x FROM t{number - 1}"
        for number in numbers
    }


def test_assets_are_found_by_address_table_and_script(tmp_path: Path) -> None:
    shown = shop(tmp_path, CHAIN)
    assert shown.assets == ("lake://main/raw", "lake://main/orders")
    assert shown._ipython_key_completions_() == list(shown.assets)
    assert shown["raw"].address == shown.asset("ingest").address == "lake://main/raw"
    assert repr(shown["lake://main/orders"]) == "asset 'lake://main/orders': merge, daily"
    with pytest.raises(UnknownTarget, match="did you mean 'lake://main/orders'"):
        shown["lake://main/order"]


def test_the_function_stays_a_function_and_starts_no_spark(tmp_path: Path) -> None:
    shop(tmp_path, CHAIN)
    code = (
        "import sys, tranche, tranche.cli.app, tranche.projects.load\n"
        f"shown = tranche.project({str(tmp_path)!r})\n"
        "shown._repr_html_(), shown['raw']._repr_html_()\n"
        "print(repr(shown), 'pyspark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"project {tmp_path.name!r}: 2 scripts, 2 assets False\n"


def test_html_is_well_formed() -> None:
    with pytest.raises(AssertionError):
        Read("<p><b></p>")
