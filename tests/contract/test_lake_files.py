"""What is done with files of a lake is the same in folders and in a bucket."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tranche.errors import BucketLost, CommitLost, EngineUnavailable
from tranche.lakes.ducklake.files import Files, Folders
from tranche.lakes.ducklake.objects import Objects
from tranche.model.project import Bucket

from ..stores import KEY, SECRET, Store, store

NAMES = ("a.json", "p=it's", "p=a%2Fb c%25", "東　京", '~!@#$&*()+,;?[]{}|^`"<>:')


@pytest.fixture(scope="module")
def objects() -> Iterator[Store]:
    with store("lake") as found:
        yield found


def bucket(objects: Store, name: str = "lake", **more: Any) -> Bucket:
    given = {"endpoint": objects.endpoint, "access_key": KEY, "secret_key": SECRET, **more}
    return Bucket(name=name, path_style=True, **given)


@pytest.fixture(params=["folders", "objects"])
def place(request: pytest.FixtureRequest, tmp_path: Path, objects: Store) -> tuple[Files, str]:
    """The files, and a folder for each test."""
    if request.param == "folders":
        return Folders(), str(tmp_path)
    return Objects(bucket(objects)), f"s3://lake/{tmp_path.name}/some data"


@pytest.mark.parametrize("name", NAMES)
def test_notes(place: tuple[Files, str], name: str) -> None:
    files, folder = place
    note = f"{folder}/{name}/note.json"
    assert files.text(note) is None and not files.exists(note)
    for text in ("one", "zwei ü", ""):
        files.put(note, text)
        assert files.text(note) == text
    assert files.exists(note) and not files.exists(f"{folder}/{name}/note")
    assert files.names(folder) == [name] and files.names(f"{folder}/{name}") == ["note.json"]
    assert datetime.now(UTC) - files.changed_at(note) < timedelta(minutes=1)


def test_what_is_not_there(place: tuple[Files, str]) -> None:
    files, folder = place
    assert files.names(f"{folder}/none") == [] and files.sizes(f"{folder}/none") == {}
    files.remove([f"{folder}/none"])
    files.remove_folder(f"{folder}/none")
    files.give_names([])


def test_a_copy_has_its_name_once_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "waiting.parquet", tmp_path / "table" / "a.parquet"
    first.write_text("all of it")
    copy = shutil.copyfile

    def one_name_only(*_: str) -> None:
        raise PermissionError("this file system gives a file one name")

    def broken(_: str, to: str) -> None:
        Path(to).write_text("all")
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", one_name_only)
    monkeypatch.setattr(shutil, "copyfile", broken)
    with pytest.raises(KeyboardInterrupt):
        Folders().give_names([(str(first), str(second))])
    assert list(second.parent.iterdir()) == []
    monkeypatch.setattr(shutil, "copyfile", copy)
    Folders().give_names([(str(first), str(second))])
    assert second.read_text() == "all of it" and first.exists()


def test_second_names(place: tuple[Files, str]) -> None:
    files, folder = place
    pairs = []
    for number, name in enumerate(NAMES):
        first = f"{folder}/waiting/{name}/{number}.parquet"
        files.put(first, "x" * number)
        pairs.append((first, f"{folder}/table/{name}/{number}.parquet"))
    files.put(f"{folder}/waiting/other.json", "{}")
    files.give_names(pairs)
    files.give_names(pairs)
    expected = {name: number for number, (_, name) in enumerate(pairs)}
    assert files.sizes(f"{folder}/table") == expected
    files.remove_folder(f"{folder}/waiting")
    assert files.names(folder) == ["table"]
    assert files.sizes(f"{folder}/table") == expected
    files.remove([pairs[0][1]])
    assert not files.exists(pairs[0][1])
    assert len(files.sizes(f"{folder}/table")) == len(NAMES) - 1


def test_what_waited_is_gone(place: tuple[Files, str]) -> None:
    """Others may clear up what no catalog names."""
    files, folder = place
    with pytest.raises(CommitLost, match=r"/none\.parquet is gone, which waited for its commit"):
        files.give_names([(f"{folder}/none.parquet", f"{folder}/t/none.parquet")])
    assert files.sizes(folder) == {}


def test_folders_whose_names_begin_alike(place: tuple[Files, str]) -> None:
    files, folder = place
    for name in ("t", "t2", "t-0"):
        files.put(f"{folder}/{name}/x.parquet", name)
    files.remove_folder(f"{folder}/t")
    assert sorted(files.names(folder)) == ["t-0", "t2"] or files.names(folder) == ["t", "t-0", "t2"]
    assert files.sizes(f"{folder}/t") == {}
    assert len(files.sizes(folder)) == 2


@pytest.mark.slow
def test_more_than_one_page(objects: Store) -> None:
    files, folder = Objects(bucket(objects)), "s3://lake/many"
    first = f"{folder}/0.parquet"
    files.put(first, "x")
    files.give_names([(first, f"{folder}/{number}.parquet") for number in range(1, 1_100)])
    assert len(files.sizes(folder)) == 1_100 and len(files.names(folder)) == 1_100
    files.remove_folder(folder)
    assert files.names(folder) == []


def test_what_a_bucket_refuses_is_told(objects: Store) -> None:
    none = Objects(bucket(objects, "nosuch"))
    asks = (
        lambda: none.put("s3://nosuch/x", ""),
        lambda: none.make_root("s3://nosuch"),
        lambda: none.text("s3://nosuch/x"),
        lambda: none.names("s3://nosuch/x"),
    )
    for ask in asks:
        with pytest.raises(EngineUnavailable, match="there is no bucket 'nosuch'"):
            ask()
    with pytest.raises(EngineUnavailable, match="s3://other/x is not in the bucket 'lake'"):
        Objects(bucket(objects)).put("s3://other/x", "")
    gone = Objects(bucket(objects, endpoint="http://127.0.0.1:1"))
    with pytest.raises(BucketLost, match="the bucket 'lake' does not answer"):
        gone.text("s3://lake/x")


def test_nobody_says_who_may(objects: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    files = Objects(bucket(objects, access_key=None, secret_key=None))
    with pytest.raises(EngineUnavailable, match="nothing says who may use the bucket 'lake'"):
        files.text("s3://lake/x")
