"""The settings page names every setting, and its examples can be used."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from pages import Block, blocks, page

from tranche.lakes.catalogs import lake_conf
from tranche.lakes.jars import ICEBERG, SQLITE, cache_folder
from tranche.model.project import LakeFormat
from tranche.projects import config_openlineage
from tranche.projects.config import _CATALOGS, _SPARK_VARIABLES, _TABLES, _TOP, parse_settings

PAGE = "docs/settings.md"
_ROOT = Path("/projects/shop")
_VARIABLES = dict.fromkeys(
    ("STATE_PASSWORD", "CATALOG_TOKEN", "SPARK_TOKEN", "LINEAGE_KEY"), "secret"
)


@pytest.mark.parametrize(
    "setting",
    [
        f"{table.replace('*', '<name>')}.{name}"
        for table, names in _TABLES.items()
        for name in names
    ],
)
def test_every_setting_has_a_row(setting: str) -> None:
    assert f"\n| `{setting}` |" in page(PAGE)


@pytest.mark.parametrize("table", _TOP)
def test_every_table_has_a_section(table: str) -> None:
    headings = [line for line in page(PAGE).splitlines() if line.startswith("## `[")]
    assert any(heading.startswith(f"## `[{table}") for heading in headings)


def test_formats_and_catalogs_are_named() -> None:
    for name in (*get_args(LakeFormat), *_CATALOGS):
        assert f"`{name}`" in page(PAGE)


@pytest.mark.parametrize("block", blocks(PAGE, "toml"), ids=str)
@pytest.mark.parametrize("target", [None, "prod"])
def test_every_example_can_be_used(block: Block, target: str | None) -> None:
    if target is not None and f"[targets.{target}" not in block.text:
        target = None
    settings = parse_settings(block.text, _ROOT, target, _VARIABLES)
    assert settings.target == target


def test_the_first_example_holds_the_defaults() -> None:
    first = blocks(PAGE, "toml")[0]
    assert parse_settings(first.text, _ROOT, None, {}) == parse_settings("", _ROOT, None, {})


def test_the_overlay_changes_what_it_names() -> None:
    [block] = [block for block in blocks(PAGE, "toml") if "[targets." in block.text]
    plain = parse_settings(block.text, _ROOT, None, _VARIABLES)
    prod = parse_settings(block.text, _ROOT, "prod", _VARIABLES)
    assert plain.spark.master == "local[*]"
    assert prod.spark.master.startswith("spark://")
    assert prod.lakes["main"].catalog is not None


def test_the_cache_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANCHE_CACHE", "/cache")
    assert cache_folder() == Path("/cache")
    assert "`TRANCHE_CACHE`" in page(PAGE)


def test_the_variables_of_spark_are_named() -> None:
    for variable in _SPARK_VARIABLES.values():
        assert f"`{variable}`" in page(PAGE)


def test_transports_and_the_variables_of_their_client_are_named() -> None:
    for kind, options in config_openlineage._OPTIONS.items():
        for name in (kind, *options):
            assert f"`{name}`" in page(PAGE)
    for name in (
        *config_openlineage._OTHERS[:-1],
        *config_openlineage.TRANSPORT_VARIABLES,
        config_openlineage.NAMESPACE_VARIABLE,
        config_openlineage.DISABLED_VARIABLE,
    ):
        assert f"`{name}`" in page(PAGE)


def test_the_guide_to_openlineage() -> None:
    for block in blocks("docs/guides/openlineage.md", "toml"):
        assert parse_settings(block.text, _ROOT, None, _VARIABLES).openlineage is not None


def test_the_guide_to_clusters() -> None:
    name = "docs/guides/cluster.md"
    [block] = blocks(name, "toml")
    found = parse_settings(block.text, _ROOT, "prod", _VARIABLES)
    assert found.spark.remote == "sc://spark.example.com:15002/;use_ssl=true;token=secret"
    extensions = lake_conf(found)["spark.sql.extensions"]
    for words in (ICEBERG, SQLITE.rpartition(":")[0], f"spark.sql.extensions={extensions}"):
        assert words in page(name)
