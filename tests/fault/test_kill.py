"""A run that is killed at any point: nothing half-visible, nothing lost, nothing twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Shop

DAY, NEXT = "2026-05-15", "2026-05-16"
STRATEGIES = {
    "replace": "",
    "tested": "",
    "merge": " key=id",
    "append": " append",
    "versions": " key=id history at=partition",
}
SCRIPT = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/{name}{strategy}
{tests}
SELECT id, 'v{version}' AS name FROM VALUES {rows} AS v(id)
"""
POINTS = {
    "before staging": ("tranche.lakes.writer:SliceWriter.stage", False),
    "between staging and publishing": ("tranche.lakes.execution:Execution.publish", False),
    "between publishing and the ledger": ("tranche.run.attempts:Attempts.succeeded", True),
    "between the ledger and the end": ("tranche.run.runner:_Runner.status", True),
}


def script(name: str, strategy: str, version: int, rows: str) -> str:
    tests = "-- data_test unique id" if strategy == "tested" else "-- Nothing is tested."
    return SCRIPT.format(
        name=name, strategy=STRATEGIES[strategy], tests=tests, version=version, rows=rows
    )


def seen(shop: Shop, name: str) -> list[tuple[int, str]]:
    return sorted((row["id"], row["name"]) for row in shop.sql(f"SELECT * FROM {name}"))


@pytest.mark.parametrize("first", [True, False], ids=["first slice", "later slice"])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_killed(shop: Shop, strategy: str, point: str, first: bool) -> None:
    name = "_".join(f"{strategy} {point} {first}".split()).lower()
    place, published = POINTS[point]
    if strategy == "versions" and point == "before staging":
        place = "tranche.lakes.observed:ObservedHistoryWriter.stage"
    path = f"pipelines/{name}.sql"
    before: list[tuple[int, str]] = []
    if not first:
        shop.write(path, script(name, strategy, 0, "(7), (8)"))
        assert shop.run(name, partition="2026-05-01").status == "succeeded"
        before = seen(shop, name)
    shop.write(path, script(name, strategy, 1, "(1), (2)"))
    shop.killed(place, "run", name, "--partition", DAY, "--only")

    tables = {row["tableName"] for row in shop.sql("SHOW TABLES IN main.default")}
    after = seen(shop, name) if name in tables else []
    assert after == sorted([*before, *([(1, "v1"), (2, "v1")] if published else [])])

    # Any other run finds out what happened to it.
    shop.write(path, script(name, strategy, 2, "(5)"))
    assert shop.run(name, partition=NEXT).status == "succeeded"
    (recovered,) = shop.noted.runs
    assert recovered.status == ("succeeded" if published else "failed")
    with shop.state() as store:
        state = store.partition(f"lake://main/{name}", DAY)
        assert state is not None
        assert state.status == recovered.status
        assert (state.snapshot is not None) == published
        assert store.abandoned() == ()
        if published:
            (entry,) = store.materializations(f"lake://main/{name}", DAY, limit=9)
            assert entry.snapshot and entry.fingerprint
    assert seen(shop, name) == sorted([*after, (5, "v2")])

    # And it can be run again.
    shop.write(path, script(name, strategy, 3, "(1), (2)"))
    if strategy != "append" or not published:
        assert shop.run(name, partition=DAY).status == "succeeded"
        if strategy == "versions":
            return
        kept = [row for row in seen(shop, name) if row[0] in (1, 2)]
        assert kept == [(1, "v3"), (2, "v3")]
    left = [row["tableName"] for row in shop.sql("SHOW TABLES IN main.default")]
    assert not [table for table in left if "__tranche_" in table]


def test_killed_between_observations_and_versions(shop: Shop) -> None:
    name = "observed_only"
    path = f"pipelines/{name}.sql"
    shop.write(path, script(name, "versions", 0, "(1), (2)"))
    assert shop.run(name, partition="2026-05-01").status == "succeeded"
    shop.write(path, script(name, "versions", 1, "(1)"))
    place = "tranche.lakes.observed:ObservedHistoryWriter.renew"
    shop.killed(place, "run", name, "--partition", DAY, "--only")
    assert seen(shop, name) == [(1, "v0"), (2, "v0")]
    shop.write(path, script(name, "versions", 2, "(2)"))
    assert shop.run(name, partition=NEXT).status == "succeeded"
    # The slice that was observed is in the versions too, although its run did not get there.
    assert seen(shop, name) == [(1, "v0"), (1, "v1"), (2, "v0"), (2, "v2")]
    with shop.state() as store:
        state = store.partition(f"lake://main/{name}", DAY)
        assert state is not None
        assert state.status == "failed"


def test_two_runs_on_one_slice_take_turns_or_are_refused(shop: Shop) -> None:
    """The second waits for the first, and without patience it is told who holds the slice."""
    name = "busy"
    shop.write(f"pipelines/{name}.sql", script(name, "append", 0, "(1)"))
    with shop.state() as other:
        from datetime import UTC, datetime

        from tranche.model.run import Attempt, Run, StepRecord

        now = datetime.now(UTC)
        asset = f"lake://main/{name}"
        run = Run(id="holder", target=name, status="running", fire_time=now, started_at=now)
        step = StepRecord(
            run="holder", position=0, script=name, asset=asset, partition=DAY, ordinal=None,
            strategy="append", status="waiting",
        )  # fmt: skip
        other.begin_run(run, [step])
        attempt = Attempt(
            id="held", run="holder", position=0, number=1, status="running", started_at=now
        )
        assert not other.begin_attempt(attempt, asset=asset, keys=[DAY])
        refused = _run(shop, name, patience=0)
        assert refused.status == "failed"
        assert "is being written by the run holder" in str(refused.steps[0].record.error)
        assert _run(shop, name, patience=0, key=NEXT).status == "succeeded"
    # Its process is gone now, so that nobody has to wait for it.
    assert _run(shop, name, patience=0).status == "succeeded"


def _run(shop: Shop, name: str, *, patience: float, key: str = DAY):  # type: ignore[no-untyped-def]
    from datetime import UTC, datetime

    from tranche import service
    from tranche.model.plan import Request

    project = shop.project
    request = Request(target=name, fire_time=datetime.now(UTC), partition=key, only=True)
    with shop.state() as store:
        plan = service.plan(project, request, store)
        return service.run(plan, shop.engine, store, tell=shop.noted, patience=patience)
