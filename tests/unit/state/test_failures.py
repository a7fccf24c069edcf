"""Stores that cannot be used: each says what, where and what to do, and never the password."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from tranche.errors import StateError, StateLocked, StateTooNew, StateUnavailable
from tranche.model.run import Run
from tranche.state.address import read_address
from tranche.state.failures import explain, explained
from tranche.state.memory import MemoryStore
from tranche.state.opening import open_partitions, open_store
from tranche.state.sql_store import SqlStore
from tranche.state.sqlite_partitions import SqlitePartitions

NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)
RUN = Run(id="r1", target="t", status="running", fire_time=NOON, started_at=NOON)


def says(error: pytest.ExceptionInfo[StateError], *words: str) -> None:
    for word in words:
        assert word in str(error.value)
    assert error.value.remedy


def told(error: BaseException | None) -> str:
    """Everything that a traceback would say of the error and its causes."""
    if error is None:
        return ""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{error} {error!r} {told(before)}"


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("", "cannot be read"),
        ("state.db", "cannot be read"),
        ("postgresql://ann:hunter2@db:port/shop", "cannot be read"),
        ("mysql://ann:hunter2@db/shop", "mysql"),
        ("postgresql+asyncpg://ann:hunter2@db/shop", "asyncpg"),
        ("nonsense+driver://ann:hunter2@db/shop", "nonsense"),
        ("postgresql://ann:hun@ter2@db/shop", "%40"),
        ("postgresql://ann:hun@/hunter2@db/shop", "%40"),
        ("sqlite://state.db", "three slashes"),
        ("sqlite://", "no file"),
        ("sqlite:///:memory:", "no file"),
        ("sqlite:///state.db?mode=ro", "options"),
        ("sqlite:///file:state.db?uri=true", "options"),
    ],
)
def test_a_url_that_cannot_be_used(url: str, word: str) -> None:
    with pytest.raises(StateUnavailable) as error:
        SqlStore(url)
    says(error, word)
    assert "ter2" not in told(error.value)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_the_usual_names_of_postgresql_are_understood(scheme: str) -> None:
    assert read_address(f"{scheme}://db/shop").shown == "postgresql+psycopg://db/shop"


def test_no_server(tmp_path: Path) -> None:
    url = "postgresql+psycopg://ann:hunter2@127.0.0.1:1/shop?sslpassword=hunter3"
    with pytest.raises(StateUnavailable) as error:
        SqlStore(url).open()
    says(error, "ann:***@127.0.0.1:1/shop", "cannot be reached", "server runs")
    shown = told(error.value) + repr(SqlStore(url))
    assert "hunter" not in shown


def test_a_driver_that_tells_the_password_is_not_quoted() -> None:
    address = read_address("postgresql+psycopg://ann:p%40ss w0rd@db/shop")
    assert address.url.password == "p@ss w0rd"
    for form in ("p@ss w0rd", "p%40ss%20w0rd", "p%40ss+w0rd"):
        cause = psycopg.OperationalError(f'connection to "ann:{form}@db" failed')
        with pytest.raises(StateUnavailable) as error, explained(address):
            raise OperationalError("SELECT 1", {}, cause)
        shown = told(error.value)
        assert "w0rd" not in shown and "p%40ss" not in shown
        assert "ann:***@db" in str(error.value)


def test_an_address_does_not_show_its_password() -> None:
    assert "hunter2" not in repr(read_address("postgresql://ann:hunter2@db/shop"))
    assert "hunter2" not in read_address("postgresql://db/shop?password=hunter2").shown


def test_no_such_database_and_no_such_user(server: str) -> None:
    url = server.replace("postgresql://", "postgresql+psycopg://")
    with pytest.raises(StateUnavailable, match=r'"nowhere" does not exist.*check user'):
        SqlStore(url.replace("/postgres?", "/nowhere?")).open()
    with pytest.raises(StateUnavailable, match=r'"nobody" does not exist.*check user') as error:
        SqlStore(url.replace("postgres:@", "nobody:hunter2@")).open()
    assert "hunter2" not in told(error.value)


def test_tables_of_others(postgres: str) -> None:
    with psycopg.connect(postgres.replace("+psycopg", "")) as connection:
        connection.execute("CREATE TABLE runs (id int)")
    with pytest.raises(StateUnavailable, match="tables of others"):
        SqlStore(postgres).open()


def test_no_right_to_write(postgres: str) -> None:
    separator = "&" if "?" in postgres else "?"
    only_reading = f"{postgres}{separator}options=-cdefault_transaction_read_only%3Don"
    with pytest.raises(StateUnavailable, match="grant"):
        SqlStore(only_reading).open()


def test_the_driver_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StateUnavailable) as error:
        SqlStore("postgresql+psycopg://ann:hunter2@db/shop")
    says(error, "ann:***@db/shop", "pip install 'tranche[postgres]'")


def test_not_a_database(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_text("this is no database, whatever its name says " * 50)
    url = f"sqlite:///{tmp_path}/state.db"
    for opening in (lambda: open_store(url, create=True), lambda: open_partitions(url)):
        with pytest.raises(StateUnavailable) as error:
            opening()
        says(error, str(tmp_path / "state.db"), "not a database", "another [state] url")


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StateUnavailable) as error:
        SqlStore(f"sqlite:///{tmp_path}").open()
    says(error, str(tmp_path), "cannot be opened")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in ("file/state.db", "file/deep/state.db"):
        with pytest.raises(StateUnavailable) as error:
            SqlStore(f"sqlite:///{tmp_path}/{path}").open()
        says(error, path, "cannot be opened")


@pytest.mark.parametrize(
    ("code", "kind", "word"),
    [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StateLocked, "another process"),
        (sqlite3.SQLITE_LOCKED, StateLocked, "another process"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, StateUnavailable, "permissions"),
        (sqlite3.SQLITE_CORRUPT, StateUnavailable, "damaged"),
        (sqlite3.SQLITE_CANTOPEN, StateUnavailable, "cannot be opened"),
        (sqlite3.SQLITE_FULL, StateUnavailable, "check the disk"),
        (sqlite3.SQLITE_ERROR, StateError, "refused"),
    ],
)
def test_what_sqlite_says(code: int, kind: type[StateError], word: str, tmp_path: Path) -> None:
    orig = sqlite3.OperationalError("something")
    orig.sqlite_errorcode = code
    address = read_address("sqlite:///state.db", tmp_path)
    error = explain(OperationalError("SELECT 1", {}, orig), address)
    assert type(error) is kind
    assert word in str(error) and str(tmp_path / "state.db") in str(error)


def test_held_by_another_process(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/state.db", timeout=0.1)
    store.open()
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StateLocked) as error:
        store.begin_run(RUN, [])
    says(error, str(tmp_path / "state.db"), "another process", "try again")
    assert error.value.transient
    assert store.runs(limit=1) == (), "reading does not wait for a writer"
    other.execute("COMMIT")
    other.close()
    store.begin_run(RUN, [])
    store.close()


def test_held_by_another_connection_of_postgresql(postgres: str) -> None:
    store = SqlStore(postgres, timeout=0.1)
    store.begin_run(RUN, [])
    with psycopg.connect(postgres.replace("+psycopg", "")) as other:
        other.execute("SELECT * FROM runs FOR UPDATE")
        with pytest.raises(StateLocked, match="another process"):
            store.finish_run("r1", "succeeded", at=NOON)
    store.finish_run("r1", "succeeded", at=NOON)
    store.close()


def test_a_server_that_was_restarted_is_connected_again(postgres: str) -> None:
    store = SqlStore(postgres)
    store.begin_run(RUN, [])
    with psycopg.connect(postgres.replace("+psycopg", ""), autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert store.run("r1") == RUN
    store.close()


def test_written_by_a_newer_version(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/state.db"
    open_store(url, create=True).close()
    with sqlite3.connect(tmp_path / "state.db") as file:
        file.execute("UPDATE tranche_version SET version_num = '9999'")
    file.close()
    openings: list[Callable[[], object]] = [
        lambda: open_store(url, create=True),
        lambda: open_store(url, create=False),
        lambda: open_partitions(url),
    ]
    for opening in openings:
        with pytest.raises(StateTooNew) as error:
            opening()
        says(error, str(tmp_path / "state.db"), "upgrade Tranche", "another [state] url")


class TestOpening:
    @pytest.mark.parametrize("folder", ["50%41", "what?", "it's #1", "ann@home", "sp ace"])
    def test_a_folder_of_any_name(self, folder: str, tmp_path: Path) -> None:
        """The folder is no part of the url, so nothing in its name means anything."""
        url = "sqlite:///.tranche/state.db"
        made = open_store(url, create=True, root=tmp_path / folder)
        made.begin_run(RUN, [])
        made.close()
        assert (tmp_path / folder / ".tranche" / "state.db").exists()
        with closing(open_partitions(url, root=tmp_path / folder)) as reader:
            assert isinstance(reader, SqlitePartitions)
            assert reader.outcomes(["a"]) == {"a": {}}

    def test_looking_at_keys_makes_nothing(self, tmp_path: Path) -> None:
        url = "sqlite:///deep/state.db"
        assert isinstance(open_partitions(url, root=tmp_path), MemoryStore)
        assert list(tmp_path.iterdir()) == []
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "state.db").touch()
        assert isinstance(open_partitions(url, root=tmp_path), MemoryStore)
        assert (tmp_path / "deep" / "state.db").stat().st_size == 0

    def test_keys_are_read_while_another_process_writes(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/state.db"
        open_store(url, create=True).close()
        other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with closing(open_partitions(url, timeout=0.1)) as reader:
            assert reader.outcomes(["a"]) == {"a": {}}
        other.execute("ROLLBACK")
        other.close()

    def test_a_file_that_breaks_while_it_is_read(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/state.db"
        open_store(url, create=True).close()
        with closing(open_partitions(url, timeout=0.1)) as reader:
            other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
            other.execute("DROP TABLE partitions")
            other.close()
            with pytest.raises(StateError, match=r"state\.db refused: no such table"):
                reader.outcomes(["a"])

    def test_looking_makes_nothing(self, tmp_path: Path) -> None:
        store = open_store("sqlite:///deep/state.db", create=False, root=tmp_path)
        assert isinstance(store, MemoryStore)
        assert store.runs(limit=5) == ()
        assert list(tmp_path.iterdir()) == []

    def test_looking_into_an_empty_file_makes_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "state.db").touch()
        store = open_store("sqlite:///state.db", create=False, root=tmp_path)
        assert isinstance(store, MemoryStore)
        assert (tmp_path / "state.db").stat().st_size == 0

    def test_looking_into_an_empty_postgresql_makes_nothing(self, postgres: str) -> None:
        assert isinstance(open_store(postgres, create=False), MemoryStore)
        with psycopg.connect(postgres.replace("+psycopg", "")) as connection:
            found = connection.execute("SELECT to_regclass('runs')").fetchone()
        assert found == (None,)

    def test_what_is_there_is_read(self, tmp_path: Path) -> None:
        url = "sqlite:///.tranche/state.db"
        made = open_store(url, create=True, root=tmp_path)
        made.begin_run(RUN, [])
        made.close()
        found = open_store(url, create=False, root=tmp_path)
        assert found.runs(limit=5) == (RUN,)
        found.close()

    def test_a_relative_file_stays_where_it_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        store = SqlStore("sqlite:///state.db")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.open()
        store.close()
        assert (tmp_path / "state.db").exists()
