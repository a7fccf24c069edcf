"""The cells of the guide for notebooks run, one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import blocks, page

from tranche.notebook.project import ShownAsset, ShownProject
from tranche.projects.scaffold import scaffold

PAGE = "docs/guides/notebook.md"


def test_the_cells_show_what_they_are_meant_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scaffold(tmp_path / "shop")
    names: dict[str, object] = {}
    shown = []
    for block in blocks(PAGE, "python"):
        *lines, last = block.text.strip().splitlines()
        exec("\n".join(lines), names)
        shown.append(eval(last, names))
    project, asset, status = shown
    assert isinstance(project, ShownProject)
    assert isinstance(asset, ShownAsset)
    assert "<svg" in project._repr_html_()
    assert "revenue_daily" in asset._repr_html_()
    assert status == {}


def test_all_that_it_offers_is_documented() -> None:
    text = page(PAGE)
    for kind, variable in ((ShownProject, "shop"), (ShownAsset, "asset")):
        public = {name for name in dir(kind) if not name.startswith("_")}
        assert all(f"`{variable}.{name}" in text for name in public), public
