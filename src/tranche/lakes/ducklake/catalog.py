"""The catalog of a DuckLake, as this process has it attached."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from tranche.errors import (
    CatalogLost,
    CommitLost,
    ConfigError,
    EngineError,
    EngineUnavailable,
    SourceMissing,
    TrancheError,
)
from tranche.lakes.ducklake.access import access_extensions, access_statement
from tranche.lakes.ducklake.duck import literal, opened
from tranche.lakes.ducklake.files import absolute, files_of
from tranche.model.project import Bucket, Lake

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LAKE = "dl"
"""What the lake is called in statements."""
META = "__ducklake_metadata_dl"
"""What DuckLake calls the database of the catalog."""
VERSIONS = ("1.0",)
"""The versions of catalogs whose tables are known here."""
_EXTENSIONS = {"sqlite": ("sqlite_scanner",), "postgres": ("postgres_scanner",), "duckdb": ()}
_PATIENCE = 60.0
_BUSY = ("database is locked", "Could not set lock on file", "Conflicting lock is held")
_RACED = (
    "Failed to commit", "Transaction conflict", "could not serialize", "duplicate key value",
    "deadlock detected", *_BUSY,
    # A client has made the table of these rows after the transaction began.
    "Failed to read inlined data from DuckLake",
)  # fmt: skip
_LOST = (
    "Unable to connect to Postgres", "server closed the connection", "no connection to the server",
    "terminating connection", "Failed to execute query \"ROLLBACK\"",
)  # fmt: skip
_GONE = re.compile(r"(?:No files found that match the pattern|Cannot open file) \"([^\"]+)\"")
_OTHER_VERSION = re.compile(r"(?:DuckLake version|version|Version)[^\d\n]*([\d][\w.-]*)")
_BUCKET = re.compile(r"Data path (\S+) requires the extension")
_PASSWORD = re.compile(r"password\s*=\s*(?:'((?:[^'\\]|\\.)+)'|([^\s']\S*))|//[^:/@]*:([^@/]+)@")
_ATTACHING = re.compile(r"Failed to attach DuckLake MetaData \S+ at path \+ ?\"[^\"]*\" ?:? ?")
_LONGEST = 300

Rows = list[tuple[Any, ...]]


class Catalog:
    """One lake. All threads of a process share its connection, one at a time.

    A catalog in a file of DuckDB can be open in one process only, and is let go of after each use.
    """

    def __init__(self, lake: Lake) -> None:
        assert lake.database is not None
        self.lake = lake
        self.kind, _, self.place = lake.database.partition(":")
        self.root, self.folder = "", ""
        """Where the files are, once it was looked at: as the catalog says it, and absolute."""
        self.files = files_of(lake)
        self.known: dict[object, object] = {}
        """What was looked up before of snapshots, which do not change."""
        self._lock = threading.RLock()
        self._file = FileLock(f"{self.place}.tranche.lock", timeout=_PATIENCE)
        self._duck: DuckDBPyConnection | None = None
        self._attached = False
        self._depth = 0

    # What users of it do

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> Rows:
        with self.using():
            return self.asked(statement, parameters)

    @contextmanager
    def using(self) -> Iterator[None]:
        """Alone with the connection."""
        with self._lock:
            self._depth += 1
            try:
                self._attach()
                yield
            finally:
                self._depth -= 1
                if self._depth == 0 and self.kind == "duckdb":
                    self._let_go()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what is done in here is committed at its end, or nothing is."""
        with self._lock, self._only_process(), self.using():
            self.asked("BEGIN")
            try:
                yield
                self.asked("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def asked(self, statement: str, parameters: Sequence[Any] = ()) -> Rows:
        """The answer to a statement; only while it is used."""
        assert self._duck is not None
        try:
            return self._duck.execute(statement, list(parameters)).fetchall()
        except Exception as error:
            raise self.explained(error) from self._cause(error)

    def missing(self, statement: str, parameters: Sequence[Any] = ()) -> Rows | None:
        """The answer, or None if a table in it is not there."""
        assert self._duck is not None
        import duckdb

        try:
            return self._duck.execute(statement, list(parameters)).fetchall()
        except duckdb.CatalogException:
            return None
        except Exception as error:
            raise self.explained(error) from self._cause(error)

    def _cause(self, error: Exception) -> Exception | None:
        """What may be shown beside an error of ours; DuckDB's own may tell a password."""
        return None if self.kind == "postgres" else error

    def explained(self, error: Exception) -> Exception:
        """What DuckDB says, as an error of ours; what is not DuckDB's stays what it is."""
        if not type(error).__module__.startswith(("duckdb", "_duckdb")):
            return error
        said = self._shown(str(error))
        if type(error).__name__ in ("FatalException", "InternalException"):
            # It may answer nothing any more.
            self._close()
        if any(words in said for words in _LOST):
            return self._lost(said)
        if any(words in said for words in _RACED):
            return CommitLost(
                f"another writer came first to the DuckLake {self.lake.name!r}: {_line(said)}",
                "run it again when they are done",
            )
        gone = _GONE.search(said)
        if gone is not None:
            return SourceMissing(
                f"{gone[1]} is missing, which the catalog of {self.lake.name!r} names",
                "bring the file back, or go back to a snapshot without it",
            )
        return EngineError(
            f"the DuckLake {self.lake.name!r} refused: {_line(said)}", "see what it says"
        )

    # Inside

    def _lost(self, said: str) -> CatalogLost:
        return CatalogLost(
            f"the catalog of the DuckLake {self.lake.name!r} does not answer: {_line(said)}",
            "run it again once its database is there",
        )

    @contextmanager
    def _only_process(self) -> Iterator[None]:
        """Catalogs in a file take one writer at a time; the lock ends with its process."""
        if self.kind == "postgres":
            yield
            return
        Path(self.place).parent.mkdir(parents=True, exist_ok=True)
        try:
            # One object, which its thread can take twice.
            self._file.acquire()
        except Timeout:
            raise self._held() from None
        try:
            yield
        finally:
            self._file.release()

    def _attach(self) -> None:
        if self._attached:
            return
        if self._duck is None:
            needed = access_extensions(self.lake.bucket)
            self._duck = opened(("ducklake", *_EXTENSIONS[self.kind], *needed))
            if self.lake.bucket is not None:
                self._give_access(self._duck, self.lake.bucket)
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self._try_to_attach()
                break
            except CommitLost:
                if time.monotonic() > until:
                    raise self._held() from None
                time.sleep(0.2)
        self._attached = True
        try:
            self._check()
        except TrancheError:
            self._let_go()
            raise

    def _held(self) -> EngineUnavailable:
        return EngineUnavailable(
            f"the catalog of the DuckLake {self.lake.name!r} is held by another process",
            "end that process; a catalog in PostgreSQL takes several at a time",
        )

    def _try_to_attach(self) -> None:
        if self.kind != "postgres":
            Path(self.place).parent.mkdir(parents=True, exist_ok=True)
        there = self.kind != "postgres" and Path(self.place).exists()
        if there or (self.kind == "postgres" and not self.lake.data_named):
            try:
                self._run_attach(new=False)
                return
            except EngineError as error:
                if there or isinstance(error, CommitLost):
                    raise
        self.files.make_root(self.lake.warehouse)
        # Of several that find no catalog, one makes it.
        with self._only_process() if self.kind != "postgres" else nullcontext():
            self._run_attach(new=True)

    def _run_attach(self, *, new: bool) -> None:
        options = ["DATA_INLINING_ROW_LIMIT 0"]
        if new or self.lake.data_named:
            options.append(f"DATA_PATH {literal(self.lake.warehouse.rstrip('/') + '/')}")
        if not new:
            options.append("CREATE_IF_NOT_EXISTS false")
        if self.kind == "sqlite":
            options.append("META_BUSY_TIMEOUT 10000")
            if new:
                # Readers do not wait for writers then.
                options.append("META_JOURNAL_MODE 'wal'")
        address = literal(f"ducklake:{self.lake.database}")
        assert self._duck is not None
        try:
            self._duck.execute(f"ATTACH {address} AS {LAKE} ({', '.join(options)})")
        except Exception as error:
            raise self._unattached(error) from self._cause(error)

    def _unattached(self, error: Exception) -> Exception:
        said, name = self._shown(str(error)), self.lake.name
        if any(words in said for words in _BUSY):
            return self.explained(error)
        if self.root and any(words in said for words in _LOST):
            # It was there before, and nothing is wrong with its address.
            return self._lost(said)
        bucket = _BUCKET.search(said)
        if bucket is not None:
            return self._unreached(bucket[1])
        if "DATA_PATH" in said:
            return ConfigError(
                f"the DuckLake {name!r} has its files elsewhere than lakes.{name}.data says:"
                f" {_line(said)}",
                "take data back, and the catalog says where they are",
            )
        if "version" in said.lower() and ("ducklake" in said.lower()):
            found = _OTHER_VERSION.search(said)
            which = f" {found[1]}" if found else ""
            return EngineUnavailable(
                f"the catalog of {name!r} is of another version of DuckLake{which}, and this one"
                f" knows {', '.join(VERSIONS)}",
                "migrate it with DuckDB (AUTOMATIC_MIGRATION), or install the DuckDB that made it",
            )
        return EngineUnavailable(
            f"the catalog of the DuckLake {name!r} cannot be opened: {_line(said)}",
            f"check lakes.{name}.catalog",
        )

    def _check(self) -> None:
        name = self.lake.name
        found = self.asked(f"SELECT key, value FROM {META}.ducklake_metadata WHERE scope IS NULL")
        about = {str(key): str(value) for key, value in found}
        if about.get("version") not in VERSIONS:
            raise EngineUnavailable(
                f"the catalog of {name!r} is of the version {about.get('version')} of DuckLake, and"
                f" this Tranche knows {', '.join(VERSIONS)}",
                "install the Tranche that knows it, or migrate the catalog with DuckDB",
            )
        if about.get("encrypted") == "true":
            raise EngineUnavailable(
                f"the files of the DuckLake {name!r} are encrypted with keys that Spark has not",
                "use a lake that is not encrypted",
            )
        self.root = about["data_path"]
        self.folder = absolute(self.root)
        bucket = self.lake.bucket
        own = "" if bucket is None else f"s3://{bucket.name}/"
        if "://" in self.root and not (own and f"{self.folder}/".startswith(own)):
            raise self._unreached(self.root)

    def _unreached(self, place: str) -> EngineUnavailable:
        name = self.lake.name
        if place.startswith("s3://"):
            return EngineUnavailable(
                f"the files of the DuckLake {name!r} are in a bucket, at {place}",
                f'write lakes.{name}.data = "{place.rstrip("/")}", and s3 = … if it takes more to'
                " reach it",
            )
        return EngineUnavailable(
            f"the files of the DuckLake {name!r} are at {place}, which is neither a folder that"
            " Spark and this machine see nor in a bucket of S3",
            "use a lake whose data is in one of these",
        )

    def _give_access(self, duck: DuckDBPyConnection, bucket: Bucket) -> None:
        try:
            duck.execute(access_statement(bucket))
        except Exception as error:
            self._close()
            said = str(error)
            for hidden in filter(
                None, (bucket.access_key, bucket.secret_key, bucket.session_token)
            ):
                said = said.replace(hidden, "…").replace(hidden.replace("'", "''"), "…")
            raise EngineUnavailable(
                f"nothing says who may use the bucket {bucket.name!r}: {_line(said)}",
                f"give lakes.{self.lake.name}.s3 an access_key and a secret_key, or set"
                " AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            ) from None

    def _roll_back(self) -> None:
        if self._duck is None:
            return
        import duckdb

        try:
            self._duck.execute("ROLLBACK")
        except duckdb.Error:
            # A commit that failed has ended its transaction.
            return

    def _let_go(self) -> None:
        if self._duck is not None and self._attached:
            self._duck.execute(f"DETACH {LAKE}")
        self._attached = False

    def _close(self) -> None:
        # DuckDB ends the process if it cannot roll back what it closes.
        self._roll_back()
        duck, self._duck, self._attached = self._duck, None, False
        if duck is not None:
            duck.close()

    def _shown(self, text: str) -> str:
        """What was said, without what gives access to the database."""
        if self.kind != "postgres":
            return text
        found = (self.place, *(next(filter(None, each)) for each in _PASSWORD.findall(self.place)))
        for secret in found:
            text = text.replace(secret, "…")
        return text


def _line(said: str) -> str:
    """
    >>> _line("IO Error: no such file\\n\\nStack Trace:\\n…")
    'no such file'
    """
    words = " ".join(line.strip() for line in said.partition("\n\n")[0].splitlines())
    words = re.sub(r"^(?:\w+ )?Error: ", "", words).rstrip(". ")
    words = _ATTACHING.sub("", words)
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"


_OPEN: dict[tuple[object, ...], Catalog] = {}
_OPENING = threading.Lock()


def catalog_of(lake: Lake) -> Catalog:
    """The one that this process has."""
    known = (lake.name, lake.database, lake.warehouse, lake.data_named, lake.bucket)
    with _OPENING:
        if known not in _OPEN:
            _OPEN[known] = Catalog(lake)
        return _OPEN[known]
