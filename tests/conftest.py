"""Where the Spark of the tests runs: here, on a server of Spark Connect, or on a small cluster; and
in which order tests come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Machines are busy with other tests, so how long one example takes says nothing; what is fast is
# for the bench to say.
settings.register_profile("tranche", deadline=None)
settings.load_profile("tranche")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--spark",
        choices=("local", "connect", "cluster"),
        default="local",
        help="where the Spark of the end-to-end tests runs",
    )
    parser.addoption(
        "--files",
        choices=("folder", "bucket"),
        default="folder",
        help="where the files of DuckLake are in the tests on Spark",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long stories come first, so that no process is left with one at the end. Tests that share a
    Spark stand together: a process that needs one with other settings has to start it anew."""
    _leave_out(items)
    items.sort(key=_turn)


def _leave_out(items: list[pytest.Item]) -> None:
    """Of a test that is sampled, the variants between are slow ones."""
    seen: dict[str, int] = defaultdict(int)
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is None:
            continue
        name = item.nodeid.partition("[")[0]
        if seen[name] % sampled.args[0]:
            item.add_marker(pytest.mark.slow)
        seen[name] += 1


def _turn(item: pytest.Item) -> int:
    folder = item.path.parent.name
    if folder in ("e2e", "browser"):
        return 0
    if folder == "spark":
        module = getattr(item, "module", None)
        return 1 if hasattr(module, "LAKES") else 2 if hasattr(module, "BUCKET") else 3
    return 4


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
