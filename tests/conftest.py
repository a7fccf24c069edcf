"""Where the Spark of the tests runs: here, on a server of Spark Connect, or on a small cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--spark",
        choices=("local", "connect", "cluster"),
        default="local",
        help="where the Spark of the end-to-end tests runs",
    )


@pytest.fixture(scope="session", autouse=True)
def chosen_spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Says so to all commands that tests start, as a user would: by an environment variable."""
    chosen = request.config.getoption("--spark")
    if chosen == "local":
        yield
        return
    # It brings Spark with it, which most tests do without.
    from .elsewhere import connect_server, two_workers

    with pytest.MonkeyPatch.context() as patch:
        if chosen == "cluster":
            with two_workers() as master:
                patch.setenv("TRANCHE_SPARK_MASTER", master)
                yield
        else:
            with connect_server(tmp_path_factory.mktemp("connect")) as url:
                patch.setenv("TRANCHE_SPARK_REMOTE", url)
                yield
