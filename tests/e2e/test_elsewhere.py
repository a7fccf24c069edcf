"""One story on a Spark that runs elsewhere; `make connect` and `make cluster` tell all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..elsewhere import connect_server, two_workers
from .conftest import Shell

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture
def workers() -> Iterator[str]:
    with two_workers() as master:
        yield master


@pytest.fixture
def elsewhere(shell: Shell) -> Shell:
    """A project whose commands do not go where all others go."""
    shell.env |= {"TRANCHE_SPARK_MASTER": "", "TRANCHE_SPARK_REMOTE": ""}
    shell.json("init")
    shell.quick()
    return shell


def runs(shell: Shell) -> None:
    """Writes a day and what comes of it, and the day again."""
    done = shell.json("run", "ingest_orders", "--partition", "2026-05-16")
    assert [step["status"] for step in done["steps"]] == ["succeeded"] * 2
    again = shell.json("run", "ingest_orders", "--partition", "2026-05-16", "--only")
    assert [step["rows"] for step in again["steps"]] == [3]
    assert shell.json("sql", "SELECT count(*) AS n FROM raw_orders") == [{"n": 3}]


@pytest.mark.slow
def test_spark_connect(elsewhere: Shell, server: str) -> None:
    elsewhere.env["TRANCHE_SPARK_REMOTE"] = server
    elsewhere.warm()
    runs(elsewhere)
    (scan,) = elsewhere.json("explain", "revenue_daily", "-p", "2026-05-16", "--scan")["scans"]
    assert (scan["source"], scan["partitions"]["read"]) == ("lake://main/raw_orders", 1)


def test_nobody_is_there(elsewhere: Shell) -> None:
    elsewhere.env["TRANCHE_SPARK_REMOTE"] = "sc://127.0.0.1:9/;user_id=me"
    done = elsewhere.tranche("sql", "SELECT 1")
    assert done.returncode == 1
    assert "the Spark at 127.0.0.1:9 does not answer; see that a server" in done.stderr
    assert "Traceback" not in done.stderr and "grpc" not in done.stderr.lower()


@pytest.mark.slow
def test_two_workers(workers: str, elsewhere: Shell) -> None:
    elsewhere.env["TRANCHE_SPARK_MASTER"] = workers
    elsewhere.warm()
    runs(elsewhere)


@pytest.mark.slow
def test_two_workers_where_nothing_was_ever_started(
    workers: str, elsewhere: Shell, tmp_path: Path
) -> None:
    """The start that fetches the jars has to hand them to the workers too."""
    elsewhere.env |= {"TRANCHE_SPARK_MASTER": workers, "TRANCHE_CACHE": str(tmp_path / "empty")}
    runs(elsewhere)
