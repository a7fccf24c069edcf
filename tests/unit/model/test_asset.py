"""Addresses: what they name, and what is wrong with others."""

from __future__ import annotations

import pytest

from tranche.model.asset import (
    AssetUri,
    BadAddress,
    FileSet,
    JobTask,
    LakeTable,
    below,
    parse_address,
)
from tranche.model.storage import Storage


@pytest.mark.parametrize(
    ("text", "asset"),
    [
        ("lake://main/orders", LakeTable("main", "orders")),
        ("file:///data/a.json", FileSet("file", "/data/a.json")),
        ("file:data/a.json", FileSet("file", "data/a.json")),
        ("s3:///raw/a.json", FileSet("s3", "/raw/a.json")),
        ("s3a://bucket/raw/a.json", FileSet("s3a", "bucket/raw/a.json")),
        ("abfss://lake@acct.dfs.core.windows.net/data", FileSet("abfss", "lake@acct.dfs.core.windows.net/data")),
        ("job://sales/report", JobTask("sales", "report")),
    ],
)  # fmt: skip
def test_an_address_is_what_it_names(text: str, asset: AssetUri) -> None:
    assert parse_address(text) == asset
    assert str(asset) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job://sales", "'job://sales' names no task; write job://<job>/<task>"),
        ("job://sales/a.b", "'job://sales/a.b' names no task; write job://<job>/<task>"),
        ("s3a://bucket", "'s3a://bucket' names no file; write s3a://<where>/<path>"),
        ("s3a:///x", "'s3a:///x' names no file; write s3a://<where>/<path>"),
    ],
)
def test_what_is_no_address(text: str, message: str) -> None:
    with pytest.raises(BadAddress) as caught:
        parse_address(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("folder", "address"),
    [
        ("data", "file:data/t"),
        ("./data/", "file:data/t"),
        ("/data", "file:///data/t"),
        ("file:///data", "file:///data/t"),
        ("s3:///lake", "s3:///lake/t"),
        ("gs://bucket", "gs://bucket/t"),
    ],
)
def test_files_below_a_folder(folder: str, address: str) -> None:
    assert str(below(folder, "t")) == address


@pytest.mark.parametrize("folder", ["../data", "data/../../x", "lake://main", "http://x/y"])
def test_what_is_no_folder(folder: str) -> None:
    with pytest.raises(BadAddress):
        below(folder, "t")


def test_a_store_of_its_own_is_no_path() -> None:
    place = Storage("/shop", "/shop/.tranche/storage")
    assert place.path(FileSet("s3a", "bucket/raw")) == "s3a://bucket/raw"
    assert place.path(FileSet("s3", "/raw")) == "/shop/.tranche/storage/raw"
