"""New projects: they load without faults, and nothing that is there is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tranche.errors import UsageError
from tranche.projects.config import load_settings
from tranche.projects.demo import DAYS, EMPTY_DAY, customers, make_demo, orders
from tranche.projects.load import load_project
from tranche.projects.scaffold import scaffold


def test_a_new_project_has_no_faults(tmp_path: Path) -> None:
    made = scaffold(tmp_path / "my shop")
    project = load_project(load_settings(made.folder, None, {}))
    assert project.faults == ()
    assert project.settings.name == "my shop"
    assert [script.name for script in project.scripts] == ["ingest_orders", "revenue_daily"]
    assert all((made.folder / file).is_file() for file in made.files)


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine")
    assert ".gitignore" not in scaffold(tmp_path).files
    assert (tmp_path / ".gitignore").read_text() == "mine"
    with pytest.raises(UsageError) as caught:
        scaffold(tmp_path)
    assert str(caught.value) == f"{tmp_path}/tranche.toml is there already; choose an empty folder"


def test_a_name_cannot_break_the_settings(tmp_path: Path) -> None:
    made = scaffold(tmp_path / 'a "quoted" {name}')
    assert load_settings(made.folder, None, {}).name == "a quoted {name}"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot be written: .*; choose another folder"):
        scaffold(tmp_path / "file" / "x")


def test_the_demo_loads_and_can_be_made_again(tmp_path: Path) -> None:
    make_demo(tmp_path / "shop")
    make_demo(tmp_path / "shop")
    project = load_project(load_settings(tmp_path / "shop", None, {}))
    assert project.faults == ()
    assert len(project.scripts) == 6
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").touch()
    with pytest.raises(UsageError, match="is not empty and holds no demo; choose another folder"):
        make_demo(tmp_path / "other")


def test_the_demos_data_is_the_same_everywhere() -> None:
    assert orders() == orders()
    assert customers() == customers()
    assert len(orders()) == len(customers()) == DAYS
    assert orders()[f"data/orders/{EMPTY_DAY}.json"] == ""
    lines = [line for text in orders().values() for line in text.splitlines()]
    assert len(lines) > len(set(lines)), "some orders are sent twice"
