"""Files by their addresses: where they lie, what is in them, and what is refused."""

from __future__ import annotations

import os
import threading
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tranche import read_file, write_file
from tranche.errors import FileRejected, OutsideRun, SourceMissing, TrancheError, UsageError
from tranche.jobs.context import Active, active
from tranche.jobs.conversion import converted
from tranche.model.asset import FileSet
from tranche.model.partitioning import Composite, Daily, Dynamic, Partitioning, Static
from tranche.model.storage import Storage, filled, key_path

SLASHED = Daily(format="%Y/%m/%d")
TENANTS = Dynamic("$.tenant")
RECORDS = [{"id": 1, "name": "ä"}, {"id": None, "name": None}]


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(str(tmp_path), str(tmp_path / "storage"))


def run(storage: Storage, *keys: str, rule: Partitioning | None = SLASHED) -> Active:
    return Active(keys, rule, storage)


def test_addresses_lie_where_the_project_says(storage: Storage, tmp_path: Path) -> None:
    with active(run(storage, "2026/05/16")):
        write_file("s3:///raw/{partition}/a.txt", "one")
        write_file("file:data/{partition}.txt", "two")
        write_file(f"file://{tmp_path}/abs/{{partition}}.txt", "three")
    assert (tmp_path / "storage/raw/2026/05/16/a.txt").read_text() == "one"
    assert (tmp_path / "data/2026/05/16.txt").read_text() == "two"
    assert (tmp_path / "abs/2026/05/16.txt").read_text() == "three"


def test_which_key_is_meant_can_be_said(storage: Storage, tmp_path: Path) -> None:
    with active(run(storage, "2026/05/16", "2026/05/17")):
        with pytest.raises(OutsideRun, match="the call is for 2 keys"):
            write_file("s3:///{partition}", b"")
        write_file("s3:///{partition}", b"x", partition="2026/05/17")
        assert read_file("s3:///{partition}", partition="2026/05/17") == b"x"
        with pytest.raises(FileRejected, match="is no daily key"):
            write_file("s3:///{partition}", b"x", partition="../17")
        with pytest.raises(UsageError, match=r"has no \{partition\}"):
            write_file("s3:///a", b"x", partition="2026/05/17")


def test_outside_a_run_the_project_of_the_folder_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tranche.toml").write_text('[storage]\nfolder = "files"\n')
    monkeypatch.chdir(tmp_path)
    write_file("s3:///a/b.json", {"a": 1})
    assert (tmp_path / "files/a/b.json").read_text() == '{"a": 1}'
    with pytest.raises(OutsideRun, match="outside a run"):
        read_file("s3:///{partition}/b.json")
    with pytest.raises(UsageError, match="put the key in place of"):
        read_file("s3:///{partition}/b.json", partition="2026-05-16")


@pytest.mark.parametrize(
    ("name", "data", "into", "expected"),
    [
        ("a.bin", b"\x00\xff", None, b"\x00\xff"),
        ("a.bin", bytearray(b"x"), "bytes", b"x"),
        ("a.txt", "ä\n", None, "ä\n".encode()),
        ("a.txt", "ä\n", "text", "ä\n"),
        ("a.json", {"a": [1, None, "ä"]}, None, {"a": [1, None, "ä"]}),
        ("a.json", [1, 2], None, [1, 2]),
        ("a.json", '{"a": 1}\n{"a": 2}\n', None, [{"a": 1}, {"a": 2}]),
        ("a.jsonl", [{"a": 1}, {"a": 2}], "text", '{"a": 1}\n{"a": 2}\n'),
        ("a.jsonl", [{"a": 1}], None, [{"a": 1}]),
    ],
)
def test_contents(name: str, data: Any, into: Any, expected: Any, storage: Storage) -> None:
    with active(run(storage, rule=None)):
        write_file(f"s3:///{name}", data)
        assert read_file(f"s3:///{name}", into) == expected


@pytest.mark.parametrize("ending", ["parquet", "csv", "json", "jsonl"])
@pytest.mark.parametrize(
    "rows", [pd.DataFrame(RECORDS), pl.DataFrame(RECORDS), pl.LazyFrame(RECORDS), pa.Table.from_pylist(RECORDS)],
    ids=["pandas", "polars", "lazy", "arrow"],
)  # fmt: skip
def test_frames(ending: str, rows: Any, storage: Storage) -> None:
    with active(run(storage, rule=None)):
        write_file(f"s3:///a.{ending}", rows)
        for into in ("pandas", "polars", "lazy", "arrow"):
            found = converted(read_file(f"s3:///a.{ending}", into), "arrow").to_pylist()
            assert [row["id"] for row in found] == [1, None]
            assert found[0]["name"] == "ä"
            assert not found[1]["name"]


def test_no_rows_are_rows_too(storage: Storage) -> None:
    with active(run(storage, rule=None)):
        write_file("s3:///a.json", pd.DataFrame({"id": []}))
        assert read_file("s3:///a.json", "arrow").num_rows == 0


def test_values_that_json_has_no_form_for(storage: Storage) -> None:
    day = date(2026, 5, 16)
    row = {"day": day, "at": datetime(2026, 5, 16, 9, tzinfo=UTC), "amount": Decimal("1.50")}
    with active(run(storage, rule=None)):
        write_file("s3:///a.json", pa.Table.from_pylist([{**row, "x": float("nan"), "n": 2**60}]))
        assert read_file("s3:///a.json") == {
            "day": "2026-05-16",
            "at": "2026-05-16T09:00:00+00:00",
            "amount": "1.50",
            "x": None,
            "n": 2**60,
        }
        with pytest.raises(FileRejected, match="JSON cannot say a value of the type bytes"):
            write_file("s3:///b.json", pa.Table.from_pylist([{"b": b"x"}]))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.bin", {"a": 1}, "a value of the type dict cannot be written to s3:///a.bin; give bytes"),
        ("a.json", {1, 2}, "JSON cannot say what is to be written to s3:///a.json: Object of type set"),
        ("a.json", [float("nan")], "JSON cannot say what is to be written to s3:///a.json: Out of range"),
        ("a.txt", pd.DataFrame(RECORDS), "s3:///a.txt does not say in which format its rows are; let it end in"),
        ("folder/", b"", "s3:///folder/ names a folder; add the name of a file"),
        ("../a", b"", "'s3:///../a' has a '.' or '..' in its path; write the path without them"),
        ("a/./b", b"", "'s3:///a/./b' has a '.' or '..' in its path"),
        ("a\x00b", b"", "an address holds a NUL character"),
        ("n" * 300, b"", "cannot be written: File name too long"),
    ],
)  # fmt: skip
def test_what_cannot_be_written(name: str, data: Any, message: str, storage: Storage) -> None:
    with active(run(storage, rule=None)), pytest.raises(FileRejected) as caught:
        write_file(f"s3:///{name}", data)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        ("s3:///none.json", SourceMissing, "nothing is at s3:///none.json: there is no "),
        ("lake://main/t", FileRejected, "lake://main/t is a table, and no file; a script reads tables by parameters"),
        ("s3://bucket/x", FileRejected, "'s3://bucket/x' names no file; write s3:///<path>, with three slashes"),
        ("s3a://bucket/x", FileRejected, "s3a://bucket/x lies in a store that only Spark reaches; take spark"),
        ("orders.json", FileRejected, "'orders.json' is no address; write "),
        (3, UsageError, "3 is no address; give a text such as"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(
    address: Any, error: type[TrancheError], message: str, storage: Storage
) -> None:
    with active(run(storage, rule=None)), pytest.raises(error) as caught:
        read_file(address)
    assert message in str(caught.value)


def test_contents_that_are_not_what_is_asked_for(storage: Storage) -> None:
    with active(run(storage, rule=None)):
        write_file("s3:///a.json", "{")
        write_file("s3:///a.txt", b"\xff")
        write_file("s3:///a.parquet", b"no")
        with pytest.raises(FileRejected, match="is no json"):
            read_file("s3:///a.json")
        with pytest.raises(FileRejected, match="is no text"):
            read_file("s3:///a.txt", "text")
        with pytest.raises(FileRejected, match="holds no rows of parquet"):
            read_file("s3:///a.parquet", "arrow")
        with pytest.raises(UsageError, match="into='rows' is unknown; use bytes, text, json"):
            read_file("s3:///a.txt", "rows")  # type: ignore[arg-type]


def test_links_do_not_lead_writes_out_of_the_storage(storage: Storage, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    Path(storage.folder).mkdir()
    os.symlink(outside, Path(storage.folder) / "link")
    os.symlink(outside / "target.txt", Path(storage.folder) / "file.txt")
    with active(run(storage, rule=None)):
        with pytest.raises(FileRejected, match="leads out of the storage folder"):
            write_file("s3:///link/a.txt", "x")
        with pytest.raises(FileRejected, match="leads out of the storage folder"):
            write_file("s3:///link/new/folder/a.txt", "x")
        # A link in the place of the file is replaced, and not followed.
        write_file("s3:///file.txt", "x")
    assert list(outside.iterdir()) == []


def test_readers_see_all_or_nothing(storage: Storage) -> None:
    texts = [letter * 200_000 for letter in "ab"]
    over = threading.Event()
    seen: set[str] = set()

    def read() -> None:
        while not over.is_set():
            seen.add(read_file("s3:///a.txt", "text"))

    with active(run(storage, rule=None)):
        write_file("s3:///a.txt", texts[0])
        reader = threading.Thread(target=read)
        reader.start()
        for n in range(50):
            write_file("s3:///a.txt", texts[n % 2])
        over.set()
        reader.join()
    assert seen <= set(texts)
    assert os.listdir(storage.folder) == ["a.txt"]


def test_what_a_write_left_half_done_is_removed(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", broken)
    with active(run(storage, rule=None)), pytest.raises(FileRejected, match="No space left"):
        write_file("s3:///a/b.txt", "x")
    assert os.listdir(Path(storage.folder) / "a") == []


def test_what_was_written_is_noted(storage: Storage) -> None:
    call = run(storage, rule=None)
    with active(call):
        write_file("s3:///a.txt", "x")
    assert list(call.files()) == [f"{storage.folder}/a.txt"]


KEYS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from("./\\%|~"), min_size=1
)


@given(KEYS, st.sampled_from(["/{partition}", "/a/{partition}/b.json", "/a/x{partition}y"]))
def test_no_key_leaves_its_place(key: str, path: str) -> None:
    storage = Storage("/project", "/project/storage")
    found = storage.path(filled(FileSet("s3", path), TENANTS, key))
    assert os.path.normpath(found) == found
    assert found.startswith("/project/storage/")
    assert found.count("/") == storage.folder.count("/") + path.count("/")


@given(KEYS, KEYS)
def test_different_keys_have_different_places(one: str, other: str) -> None:
    assert (key_path(TENANTS, one) == key_path(TENANTS, other)) == (one == other)


@given(st.tuples(KEYS, KEYS), st.tuples(KEYS, KEYS))
def test_so_have_those_of_several_dimensions(one: tuple[str, str], other: tuple[str, str]) -> None:
    rule = Composite(a=TENANTS, b=TENANTS)
    paths = [key_path(rule, rule.join(segments)) for segments in (one, other)]
    assert (paths[0] == paths[1]) == (one == other)


@pytest.mark.parametrize(
    ("rule", "key", "expected"),
    [
        (SLASHED, "2026/05/16", "2026/05/16"),
        (Static(["a/b"]), "a/b", "a%2Fb"),
        (TENANTS, "..", "%2E%2E"),
        (TENANTS, "50%", "50%25"),
        (Composite(day=SLASHED, tenant=TENANTS), "2026/05/16|a/b", "2026/05/16|a%2Fb"),
        (None, "a b", "a b"),
    ],
)  # fmt: skip
def test_only_the_slashes_of_a_format_stay(
    rule: Partitioning | None, key: str, expected: str
) -> None:
    assert key_path(rule, key) == expected


def test_dimensions_by_name(storage: Storage, tmp_path: Path) -> None:
    rule = Composite(day=SLASHED, tenant=TENANTS)
    with active(run(storage, "2026/05/16|a/b", rule=rule)):
        write_file("s3:///{partition.tenant}/{partition.day}.txt", "x")
        with pytest.raises(FileRejected, match="names 'region', which is no dimension"):
            write_file("s3:///{partition.region}.txt", "x")
    assert (tmp_path / "storage/a%2Fb/2026/05/16.txt").read_text() == "x"


@pytest.mark.parametrize(
    ("key", "expected"),
    [("{partition.b}|x", "{partition.b}/x"), ("{partition}|x", "{partition}/x"), ("{partition.c}|x", "{partition.c}/x")],
)  # fmt: skip
def test_keys_that_look_like_tokens_stay_what_they_are(key: str, expected: str) -> None:
    rule = Composite(a=TENANTS, b=TENANTS)
    assert filled(FileSet("s3", "/{partition.a}/{partition.b}"), rule, key).path == f"/{expected}"


def test_formats_that_make_no_path_are_refused() -> None:
    with pytest.raises(FileRejected, match="cannot be part of a path; change the format="):
        key_path(Daily(format="../%Y/%m/%d"), "../2026/05/16")
    with pytest.raises(FileRejected, match="holds a NUL character"):
        key_path(TENANTS, "a\0b")
