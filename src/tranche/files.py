"""Files by their addresses: `read_file` and `write_file`.

In a run, `{partition}` in an address stands for the key that the code is for.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from contextlib import suppress
from datetime import date
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args
from uuid import uuid4

from tranche.errors import FileRejected, KeyRejected, SourceMissing, UsageError
from tranche.jobs.context import Active, current_partition, now_active
from tranche.jobs.conversion import converted, frame_kind, needed
from tranche.model.asset import PARTITION_TOKEN, BadAddress, FileSet, parse_address
from tranche.model.storage import Storage, filled, takes_key

Into: TypeAlias = Literal["bytes", "text", "json", "pandas", "polars", "lazy", "arrow"]
"""What the contents of a file can be read into."""
_FRAMES = ("pandas", "polars", "lazy", "arrow")
_ENDINGS: Final = ("parquet", "csv", "json", "jsonl", "ndjson")
_LINES: Final = ("json", "jsonl", "ndjson")


def read_file(address: str, into: Into | None = None, *, partition: str | None = None) -> Any:
    """What is in a file: of JSON the value, of others the bytes, or what `into` asks for.

    `partition` says which key is meant, where it is not the one that the code is for.
    """
    if into is not None and into not in get_args(Into):
        raise UsageError(f"into={into!r} is unknown", f"use {', '.join(get_args(Into))}")
    path, _, _ = _place(address, partition)
    ending = _ending(path)
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise SourceMissing(
            f"nothing is at {address}: there is no {path}", "run what writes it, or correct it"
        ) from None
    except OSError as error:
        raise FileRejected(f"{address} cannot be read: {error.strerror}") from None
    if into is None:
        into = "json" if ending in _LINES else "bytes"
    if into in _FRAMES:
        return _frame(content, ending, into, address)
    if into == "bytes":
        return content
    try:
        text = content.decode("utf-8-sig" if into == "json" else "utf-8")
        return _values(text, ending) if into == "json" else text
    except ValueError as error:
        raise FileRejected(f"{address} is no {into}: {error}", "read it into bytes") from None


def write_file(address: str, data: Any, *, partition: str | None = None) -> None:
    """Writes a file whole: readers see what was there before, or all of what is there now.

    `data` is bytes, a text, a frame of pandas, Polars, Arrow or Spark for an address that ends in
    .parquet, .csv or .json, or for .json anything that JSON can say.
    """
    path, storage, call = _place(address, partition)
    content = _content(data, _ending(path), address)
    if parse_address(address).scheme == "s3":  # type: ignore[union-attr]
        _check_inside(path, storage.folder, address)
    try:
        _replace(Path(path), content)
    except OSError as error:
        raise FileRejected(f"{address} cannot be written: {error.strerror}") from None
    if call is not None:
        call.note(path, hashlib.sha256(content).hexdigest())


def _place(address: str, partition: str | None) -> tuple[str, Storage, Active | None]:
    """Where the file of an address lies."""
    if not isinstance(address, str):
        raise UsageError(f"{address!r} is no address", "give a text such as s3:///raw/orders.json")
    try:
        files = parse_address(address)
    except BadAddress as error:
        raise FileRejected(str(error)) from None
    if not isinstance(files, FileSet):
        raise FileRejected(
            f"{address} is a table, and no file",
            "a script reads tables by parameters and writes one by what main returns",
        )
    if files.remote:
        raise FileRejected(
            f"{address} lies in a store that only Spark reaches",
            "take spark and read it with that, or use s3:///… for the project's own storage",
        )
    call = now_active()
    if takes_key(files):
        files = _of_key(files, partition, call)
    elif partition is not None:
        raise UsageError(f"{address} has no {PARTITION_TOKEN}", "leave partition= out")
    storage = call.storage if call is not None else None
    storage = storage or _own_storage()
    path = storage.path(files)
    if path.endswith("/"):
        raise FileRejected(f"{address} names a folder", "add the name of a file")
    return path, storage, call


def _of_key(files: FileSet, partition: str | None, call: Active | None) -> FileSet:
    if partition is None:
        key = current_partition()
        return filled(files, call.partitioning if call is not None else None, key)
    if call is None or call.partitioning is None:
        raise UsageError(
            "partition= says which key is meant in a run that has partitions",
            f"put the key in place of {PARTITION_TOKEN} yourself",
        )
    try:
        return filled(files, call.partitioning, call.partitioning.validate(partition))
    except KeyRejected as error:
        raise FileRejected(error.what, error.remedy) from None


def _own_storage() -> Storage:
    """That of the project which the folder of this process belongs to."""
    from tranche.projects.config import environment, find_root, load_settings

    return load_settings(find_root(Path.cwd()), None, environment()).storage


def _ending(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].lower()


def _check_inside(path: str, folder: str, address: str) -> None:
    """A link within the storage must not lead writes out of it."""
    parent, base = os.path.realpath(os.path.dirname(path)), os.path.realpath(folder)
    if parent != base and not parent.startswith(f"{base.rstrip('/')}/"):
        raise FileRejected(
            f"{address} leads out of the storage folder, by a symbolic link to {parent}",
            "remove the link, or write to a file:/// address",
        )


def _replace(path: Path, content: bytes) -> None:
    """Writes beside the file, and takes its place in one move."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # To Spark and to shells, names with a dot are hidden.
    temporary = path.with_name(f".tranche-{uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _content(data: Any, ending: str, address: str) -> bytes:
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    if isinstance(data, str):
        return data.encode()
    if frame_kind(data) is not None:
        return _packed(data, ending, address)
    if ending not in _LINES:
        raise FileRejected(
            f"a value of the type {type(data).__qualname__} cannot be written to {address}",
            "give bytes, a text or a frame, or an address that ends in .json",
        )
    try:
        if ending != "json" and isinstance(data, list | tuple):
            lines = (json.dumps(each, ensure_ascii=False, allow_nan=False) for each in data)
            return "".join(f"{line}\n" for line in lines).encode()
        # On one line, so that Spark reads a list of objects as so many rows.
        return json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise FileRejected(
            f"JSON cannot say what is to be written to {address}: {error}",
            "make texts and numbers of it first",
        ) from None


def _values(text: str, ending: str) -> Any:
    """The value of a JSON text, or a list of those of its lines."""
    if ending == "json":
        try:
            return json.loads(text)
        except ValueError:
            if "\n" not in text.strip():
                raise
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _packed(rows: Any, ending: str, address: str) -> bytes:
    """A frame as the contents of a file."""
    _check_ending(ending, address)
    table = converted(rows, "arrow")
    out = io.BytesIO()
    if ending == "parquet":
        needed("pyarrow.parquet", "Parquet").write_table(table, out)
    elif ending == "csv":
        needed("pyarrow.csv", "CSV").write_csv(table, out)
    else:
        for batch in table.to_batches(max_chunksize=10_000):
            for record in batch.to_pylist():
                line = json.dumps(_plain(record), ensure_ascii=False, default=_text)
                out.write(f"{line}\n".encode())
    return out.getvalue()


def _plain(value: Any) -> Any:
    """A value without numbers that JSON does not have."""
    match value:
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case float() if not isfinite(value):
            return None
        case _:
            return value


def _text(value: object) -> str:
    """What JSON has no form for, as Spark would read it."""
    match value:
        case date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case _:
            raise FileRejected(
                f"JSON cannot say a value of the type {type(value).__qualname__}",
                "make a text of it first, or write .parquet",
            )


def _frame(content: bytes, ending: str, into: Into, address: str) -> Any:
    _check_ending(ending, address)
    what = f"{ending} as a frame"
    try:
        if ending == "parquet":
            table = needed("pyarrow.parquet", what).read_table(io.BytesIO(content))
        elif ending == "csv":
            table = needed("pyarrow.csv", what).read_csv(io.BytesIO(content))
        else:
            text = content.decode("utf-8-sig")
            found = _values(text, ending) if text.strip() else []
            records = found if isinstance(found, list) else [found]
            table = needed("pyarrow", what).Table.from_pylist(records)
    except (ValueError, TypeError, AttributeError) as error:
        raise FileRejected(f"{address} holds no rows of {ending}: {error}") from None
    return converted(table, into)  # type: ignore[arg-type]


def _check_ending(ending: str, address: str) -> None:
    if ending not in _ENDINGS:
        raise FileRejected(
            f"{address} does not say in which format its rows are",
            f"let it end in .{', .'.join(_ENDINGS)}",
        )
