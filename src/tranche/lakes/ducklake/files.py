"""What is done with files of a lake by neither Spark nor DuckDB: names, sizes, notes, removal."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from tranche.errors import CommitLost
from tranche.model.project import Lake

PARQUET = ".parquet"


def absolute(name: str) -> str:
    """The address of a file or folder as Spark and this process take it.

    >>> absolute("/data/../lake/t/"), absolute("s3://lake/t/")
    ('/lake/t', 's3://lake/t')
    """
    return name.rstrip("/") if "://" in name else os.path.abspath(name)


class Files(ABC):
    """What is done with files; all addresses are absolute."""

    @abstractmethod
    def make_root(self, folder: str) -> None:
        """Sees that files can be put below a folder."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """What lies in a folder, if it is there: files and folders."""

    @abstractmethod
    def sizes(self, folder: str) -> dict[str, int]:
        """The files of Parquet below a folder, with their sizes."""

    @abstractmethod
    def exists(self, file: str) -> bool: ...

    @abstractmethod
    def text(self, file: str) -> str | None:
        """What a file holds; None if there is none."""

    @abstractmethod
    def put(self, file: str, text: str) -> None:
        """Makes a file, or another one of it, at once."""

    @abstractmethod
    def changed_at(self, place: str) -> datetime:
        """When a file, or a folder, was written last; now, if it is gone."""

    @abstractmethod
    def give_names(self, names: Sequence[tuple[str, str]]) -> None:
        """Gives files second names, which they may have already."""

    @abstractmethod
    def remove(self, files: Iterable[str]) -> None: ...

    @abstractmethod
    def remove_folder(self, folder: str) -> None: ...


class Folders(Files):
    """Files of this machine, or of folders that it sees."""

    def make_root(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(os.listdir(folder))
        except FileNotFoundError:
            return []

    def sizes(self, folder: str) -> dict[str, int]:
        found = sorted(Path(folder).rglob(f"*{PARQUET}"))
        return {str(path): path.stat().st_size for path in found}

    def exists(self, file: str) -> bool:
        return os.path.exists(file)

    def text(self, file: str) -> str | None:
        try:
            return Path(file).read_text()
        except FileNotFoundError:
            return None

    def put(self, file: str, text: str) -> None:
        path = Path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.{uuid4()}.new")
        new.write_text(text)
        os.replace(new, path)

    def changed_at(self, place: str) -> datetime:
        try:
            return datetime.fromtimestamp(os.stat(place).st_mtime, UTC)
        except FileNotFoundError:
            return datetime.now(UTC)

    def give_names(self, names: Sequence[tuple[str, str]]) -> None:
        for file, name in names:
            os.makedirs(os.path.dirname(name), exist_ok=True)
            if os.path.exists(name):
                continue
            try:
                os.link(file, name)
            except FileExistsError:
                continue
            except FileNotFoundError:
                raise CommitLost(
                    f"{file} is gone, which waited for its commit", "run it again"
                ) from None
            except OSError:
                # Some file systems give a file one name only.
                _copy(file, name)

    def remove(self, files: Iterable[str]) -> None:
        for file in files:
            Path(file).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(file: str, name: str) -> None:
    """A copy that is whole as soon as it has its name; what a broken one leaves is no Parquet."""
    half = f"{name}.{uuid4()}.new"
    try:
        shutil.copyfile(file, half)
        os.replace(half, name)
    except BaseException:
        Path(half).unlink(missing_ok=True)
        raise


def files_of(lake: Lake) -> Files:
    if lake.bucket is None:
        return Folders()
    from tranche.lakes.ducklake.objects import Objects

    return Objects(lake.bucket)
