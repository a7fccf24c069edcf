"""Each table and example of the seed document about backfilling and partitioning of jobs.

What it says of its own product is told here in our words, with what becomes of it here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pandas as pd
import pytest

from tranche import (
    Cron,
    CsvIO,
    Daily,
    DeltaIO,
    Hourly,
    IcebergIO,
    JsonIO,
    Merge,
    Monthly,
    ParquetIO,
    Static,
    Weekly,
    all_partitions,
    current_partition,
    current_partitions,
    job,
    logical_date,
    task,
)
from tranche.errors import OutsideRun, ScriptFaults, StaticKeyMissing, UsageError
from tranche.model.backfill import BackfillRequest
from tranche.model.partitioning import Partitioning
from tranche.model.project import Project
from tranche.planning.backfill import plan_backfill
from tranche.planning.catchup import plan_catchup
from tranche.script.ranges.ranged import only_key_by_key
from tranche.script.schedules import moved
from tranche.testing import MemoryEngine, MemoryStore, run_job

from .scene import Scene

NOW = datetime(2024, 6, 15, 14, 30, tzinfo=UTC)
"""A Saturday."""
Jobs = Callable[[str], Project]


def of(partitioning: Partitioning | None, **options: Any) -> Callable[..., Any]:
    """A job of one task that takes all keys of a call, and keeps them."""

    @job(name="sales", partitioning=partitioning, **options)
    def sales() -> None:
        @task
        def extract(partitions: list[str]) -> pd.DataFrame:
            return pd.DataFrame({"partition_key": partitions})

        extract()

    return sales


def keys(sales: Callable[..., Any], **given: Any) -> list[str | None]:
    return list(run_job(sales, **given)["extract"].keys)


# The quick start.


def test_a_key_goes_through_the_tasks_of_a_job() -> None:
    seen: list[object] = []

    @job(partitioning=Daily(start="2024-01-01"))
    def daily_pipeline() -> None:
        @task(io=ParquetIO("data"), partition_by="partition_key")
        def extract() -> pd.DataFrame:
            return pd.DataFrame({"day": [current_partition()]})

        @task
        def transform(df: pd.DataFrame) -> None:
            seen.append(df.to_dict("records"))

        transform(extract())

    done = run_job(daily_pipeline, partition="2024-01-15")
    assert done.status == "succeeded"
    assert seen == [[{"day": "2024-01-15", "partition_key": "2024-01-15"}]]
    assert done["extract"].asset == "file:data/extract"
    assert done["transform"].asset == "job://daily_pipeline/transform"


# Partition-scoped overwrite, and without partition columns.


def frames(io: Any, rows: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """A job whose task returns what the list has next."""

    @job(name="sales", partitioning=Daily(start="2024-01-01"))
    def sales() -> None:
        @task(io=io, **options)
        def extract(partition: str) -> Any:
            return rows.pop(0)  # type: ignore[attr-defined]

        extract()

    return sales


@pytest.mark.parametrize(
    "io", [DeltaIO("d"), ParquetIO("d"), CsvIO("d"), JsonIO("d"), IcebergIO("lake://main")]
)
def test_an_overwrite_touches_only_the_values_that_are_written(io: Any) -> None:
    engine = MemoryEngine()
    both = pd.DataFrame({"region": ["eu", "us"], "n": [1, 2]})
    sales = frames(io, [both, both.assign(n=9).head(1)], partition_by="region")
    run_job(sales, partition="2024-01-01", engine=engine)
    done = run_job(sales, partition="2024-01-02", engine=engine)
    (rows,) = engine.tables[done["extract"].asset].values()
    assert sorted((row["region"], row["n"]) for row in rows) == [("eu", 9), ("us", 2)]


def test_tuples_of_several_columns_are_exact() -> None:
    engine = MemoryEngine()
    first = pd.DataFrame({"r": ["eu", "eu", "us", "us"], "d": [1, 2, 1, 2], "n": 0})
    second = pd.DataFrame({"r": ["eu", "us"], "d": [1, 2], "n": 7})
    sales = frames(DeltaIO("d"), [first, second], partition_by=("r", "d"))
    run_job(sales, partition="2024-01-01", engine=engine)
    done = run_job(sales, partition="2024-01-02", engine=engine)
    (rows,) = engine.tables[done["extract"].asset].values()
    found = {(row["r"], row["d"]): row["n"] for row in rows}
    assert found == {("eu", 1): 7, ("eu", 2): 0, ("us", 1): 0, ("us", 2): 7}


def test_keys_that_were_written_in_one_call_are_removed_and_read_one_by_one() -> None:
    """A run that looks back leaves days alone that were written together with its own."""
    engine = MemoryEngine()
    delivered = {f"2024-01-0{n}": [n] for n in range(1, 5)}
    seen: dict[str, list[int]] = {}

    @job(partitioning=Daily(start="2024-01-01", lookback=1))
    def sales() -> None:
        @task(io=DeltaIO("d"), partition_by=("day", "region"))
        def extract(partitions: list[str]) -> pd.DataFrame:
            rows = [
                (date.fromisoformat(key), "eu", n) for key in partitions for n in delivered[key]
            ]
            return pd.DataFrame(rows, columns=["day", "region", "n"])

        @task
        def transform(df: pd.DataFrame, partition: str) -> None:
            seen[partition] = list(df.n)

        transform(extract())

    def numbers() -> list[int]:
        (rows,) = engine.tables["file:d/extract"].values()
        return sorted(row["n"] for row in rows)

    store = MemoryStore()
    for key in ("2024-01-02", "2024-01-03", "2024-01-04"):
        run_job(sales, partition=key, engine=engine, store=store)
    assert numbers() == [1, 2, 3, 4]
    assert seen == delivered
    delivered["2024-01-03"] = []
    run_job(sales, partition="2024-01-03", engine=engine, store=store, exact=True)
    assert numbers() == [1, 2, 4]


def test_a_merge_leaves_other_partitions_alone() -> None:
    engine = MemoryEngine()
    first = pd.DataFrame({"region": ["eu", "us"], "id": [1, 2], "n": [1, 1]})
    merge = Merge(pd.DataFrame({"region": ["eu", "eu"], "id": [1, 3], "n": [5, 5]}), on="id")
    sales = frames(DeltaIO("d"), [first, merge], partition_by="region")
    run_job(sales, partition="2024-01-01", engine=engine)
    done = run_job(sales, partition="2024-01-02", engine=engine)
    rows = [row for rows in engine.tables[done["extract"].asset].values() for row in rows]
    assert sorted((row["id"], row["region"], row["n"]) for row in rows) == [
        (1, "eu", 5),
        (2, "us", 1),
        (3, "eu", 5),
    ]


@pytest.mark.parametrize(
    ("io", "options", "expected"),
    [
        (DeltaIO("d"), {"partition_by": "region"}, [{(1, "eu", 1)}, {(1, "eu", 2), (2, "us", 2)}]),
        (DeltaIO("d"), {}, [{(1, "eu", 1)}, {(1, "eu", 2), (2, "us", 2)}]),
        (None, {"writes": "lake://main/x"}, [{(1, "eu", 1), (2, "us", 1)}, {(1, "eu", 2)}]),
    ],
)
def test_those_downstream_read_what_was_merged(
    io: Any, options: dict[str, Any], expected: list[set[tuple[int, str, int]]]
) -> None:
    seen: list[set[tuple[int, str, int]]] = []

    @job(partitioning=Daily(start="2024-01-01"))
    def sales() -> None:
        @task(io=io, **options)
        def extract(partition: str) -> Any:
            rows = sorted(expected[int(partition[-1]) - 1])
            return Merge(pd.DataFrame(rows, columns=["id", "region", "n"]), on="id")

        @task
        def transform(df: pd.DataFrame) -> None:
            seen.append(set(df.itertuples(index=False, name=None)))

        transform(extract())

    engine = MemoryEngine()
    for key in ("2024-01-01", "2024-01-02"):
        run_job(sales, partition=key, engine=engine)
    assert seen == expected


@pytest.mark.parametrize("io", [ParquetIO("d"), IcebergIO("lake://main")])
def test_without_partition_columns_everything_is_replaced(io: Any) -> None:
    engine = MemoryEngine()
    first, second = pd.DataFrame({"n": [1, 2]}), pd.DataFrame({"n": [3]})
    sales = frames(io, [first, second])
    run_job(sales, partition="2024-01-01", engine=engine)
    done = run_job(sales, partition="2024-01-02", engine=engine)
    assert [r for rows in engine.tables[done["extract"].asset].values() for r in rows] == [{"n": 3}]


# Filtered reads.


def test_those_downstream_read_the_values_that_were_written() -> None:
    seen: list[list[str]] = []

    @job(partitioning=Daily(start="2024-01-01"))
    def daily_pipeline() -> None:
        @task(io=ParquetIO("d"), partition_by="event_date")
        def extract(partition: str) -> pd.DataFrame:
            # Its rows are of the day before.
            return pd.DataFrame({"event_date": [f"{partition} - 1"]})

        @task
        def transform(df: pd.DataFrame) -> None:
            seen.append(list(df.event_date))

        transform(extract())

    engine = MemoryEngine()
    run_job(daily_pipeline, partition="2024-01-01", engine=engine)
    run_job(daily_pipeline, partition="2024-01-02", engine=engine)
    assert seen == [["2024-01-01 - 1"], ["2024-01-02 - 1"]]


def test_without_the_filter_all_is_read_with_a_warning() -> None:
    seen: list[int] = []

    @job(partitioning=Daily(start="2024-01-01"))
    def daily_pipeline() -> None:
        @task(io=ParquetIO("d", auto_filter=False), partition_by="partition_key")
        def extract(partition: str) -> pd.DataFrame:
            return pd.DataFrame({"n": [1]})

        @task
        def transform(df: pd.DataFrame) -> None:
            seen.append(len(df))

        transform(extract())

    engine = MemoryEngine()
    run_job(daily_pipeline, partition="2024-01-01", engine=engine)
    done = run_job(daily_pipeline, partition="2024-01-02", engine=engine)
    assert seen == [1, 2]
    assert done.warnings == (
        "daily_pipeline.transform reads all of file:d/extract: its IO has auto_filter=False",
    )


# Keys that follow from the time.


@pytest.mark.parametrize(
    ("rule", "key", "lagging"),
    [
        (Daily(), "2024-06-15", "2024-06-14"),
        (Weekly(), "2024-W24", "2024-W23"),
        (Monthly(format="%Y-%m-01"), "2024-06-01", "2024-05-01"),
        (Hourly(), "2024-06-15T14", "2024-06-15T13"),
    ],
)
def test_a_run_without_a_key_is_for_the_current_period(
    rule: Partitioning, key: str, lagging: str
) -> None:
    from dataclasses import replace

    done = run_job(of(rule), now=NOW)
    assert list(done["extract"].keys) == [key]
    assert done.warnings == (
        f"lake://main/sales.extract runs for {key}, the current period: no key was given",
    )
    assert keys(of(replace(rule, lag=1)), now=NOW) == [lagging]  # type: ignore[type-var]


def test_static_keys_do_not_follow_from_the_time() -> None:
    with pytest.raises(StaticKeyMissing, match="give one with --partition: us, eu, jp"):
        run_job(of(Static(["us", "eu", "jp"])), now=NOW)
    assert keys(of(Static(["us", "eu", "jp"])), partition="eu") == ["eu"]


def test_the_key_and_its_time_can_be_asked_for() -> None:
    seen: list[object] = []

    @job(partitioning=Daily(start="2024-01-01"))
    def asks() -> None:
        @task
        def look() -> None:
            seen.extend([current_partition(), current_partitions(), logical_date()])

        look()

    run_job(asks, partition="2024-01-15")
    assert seen == ["2024-01-15", ["2024-01-15"], datetime(2024, 1, 15, tzinfo=UTC)]


def test_without_partitions_there_is_no_key_to_ask_for() -> None:
    @job
    def asks() -> None:
        @task
        def look() -> None:
            current_partition()

        look()

    done = run_job(asks)
    assert done.status == "failed"
    assert "in a run without partitions" in done["look"].errors[None]
    with pytest.raises(OutsideRun):
        current_partition()


# The kinds of keys.


@pytest.mark.parametrize(
    ("rule", "start", "end", "number", "first", "last"),
    [
        (Daily(start="2024-01-01"), "2024-01-01", "2024-12-31", 366, "2024-01-01", "2024-12-31"),
        (Weekly(start="2024-01-01"), "2024-W01", "2024-W52", 52, "2024-W01", "2024-W52"),
        (
            Monthly(start="2024-01-01", format="%Y-%m-01"),
            "2024-01-01",
            "2024-12-01",
            12,
            "2024-01-01",
            "2024-12-01",
        ),
        (
            Hourly(start="2024-01-01"),
            "2024-01-01T00",
            "2024-01-01T23",
            24,
            "2024-01-01T00",
            "2024-01-01T23",
        ),
        (Static(["us", "eu", "jp"]), None, None, 3, "us", "jp"),
    ],
)
def test_the_keys_of_each_kind(
    rule: Partitioning, start: str | None, end: str | None, number: int, first: str, last: str
) -> None:
    found = backfill(of(rule), start=start, end=end)
    assert (len(found), found[0], found[-1]) == (number, first, last)


def backfill(sales: Callable[..., Any], *, at: datetime = NOW, **given: Any) -> list[str | None]:
    """The keys that a backfill of a job has, in their order."""
    from tranche.testing.jobs import project_of

    request = BackfillRequest(target="sales", at=at, **given)
    project, _ = project_of(sales)
    plan = plan_backfill(project, request, MemoryStore(), only_key_by_key)
    return [key for step in plan.plan.steps for key in step.keys]


def test_a_range_ends_with_the_last_complete_period_in_its_time_zone() -> None:
    late = datetime(2024, 1, 3, 23, 30, tzinfo=UTC)
    assert backfill(of(Daily(start="2024-01-01")), at=late)[-1] == "2024-01-02"
    berlin = Daily(start="2024-01-01", tz="Europe/Berlin")
    assert backfill(of(berlin), at=late)[-1] == "2024-01-03"
    lagging = Daily(start="2024-01-01", tz="Europe/Berlin", lag=1)
    assert backfill(of(lagging), at=late)[-1] == "2024-01-02"


def test_the_latest_keys_may_come_first() -> None:
    found = backfill(
        of(Daily(start="2024-01-01")), start="2024-01-01", end="2024-01-03", reverse=True
    )
    assert found == ["2024-01-03", "2024-01-02", "2024-01-01"]


def test_a_job_without_partitions_takes_keys_as_they_are() -> None:
    seen: list[object] = []

    @job(limit=1)
    def sales() -> None:
        @task
        def extract(partition: str | None = None) -> pd.DataFrame:
            return pd.DataFrame({"key": [partition]})

        @task
        def report(rows: pd.DataFrame) -> None:
            seen.append((list(rows.key), current_partition()))

        report(extract())

    done = run_job(sales, partitions=["2024-01-01", "anything"])
    assert done.status == "succeeded", done["report"].errors
    assert seen == [(["2024-01-01"], "2024-01-01"), (["anything"], "anything")]
    assert run_job(sales).status == "failed"  # it asks for a key, and there is none


def test_static_keys_have_no_range() -> None:
    # There it has no effect; here it is refused, since nobody can mean it.
    with pytest.raises(UsageError, match="static keys have no order"):
        backfill(of(Static(["us", "eu"])), start="us")


# Several keys in a run.


def test_lookback_restates_the_keys_before() -> None:
    corrections = of(Daily(start="2024-01-01", lookback=2))
    assert keys(corrections, partition="2024-01-10") == ["2024-01-08", "2024-01-09", "2024-01-10"]
    assert keys(corrections, partition="2024-01-02") == ["2024-01-01", "2024-01-02"]
    assert backfill(corrections, keys=("2024-01-10",)) == ["2024-01-08", "2024-01-09", "2024-01-10"]


def test_exact_leaves_lookback_and_gaps_out() -> None:
    both = Daily(start="2024-01-01", lookback=3, gaps="collect")
    sales = of(both, schedule=Cron("0 6 * * 1-5"))
    assert keys(sales, partition="2024-01-06", exact=True) == ["2024-01-06"]
    assert backfill(sales, keys=("2024-01-06",), exact=True) == ["2024-01-06"]


WEEKDAYS = """
@job(partitioning=Daily(start="2024-01-01", {options}), schedule=Cron("0 6 * * 1-5", tz="UTC"))
def sales():
    @task
    def extract(partitions):
        import pandas
        return pandas.DataFrame({{"partition_key": partitions}})

    @task
    def report(rows, partitions): ...

    report(extract())
"""


def fired(jobs: Jobs, options: str, day: int) -> list[str]:
    """The keys of the run that begins on a day of January 2024, if all runs before have been."""
    project = jobs(WEEKDAYS.format(options=options))
    scene = Scene(project, datetime(2024, 1, day, 5, tzinfo=UTC))
    done = scene.at(datetime(2024, 1, day, 7, tzinfo=UTC))
    assert done["sales.report"] == done["sales.extract"]
    (found,) = done["sales.extract"]
    return [str(key) for key in found]


def days(*numbers: int) -> list[str]:
    return [f"2024-01-{number:02}" for number in numbers]


def test_a_run_on_monday_collects_the_weekend(jobs: Jobs) -> None:
    assert fired(jobs, 'gaps="collect"', 15) == days(13, 14, 15)


def test_with_a_lag_friday_is_collected_too(jobs: Jobs) -> None:
    assert fired(jobs, 'gaps="collect", lag=1', 15) == days(12, 13, 14)


@pytest.mark.parametrize(
    ("day", "found"), [(15, days(12, 13, 14, 15)), (17, days(14, 15, 16, 17))], ids=["Mon", "Wed"]
)
def test_lookback_and_gaps_are_united_when_a_schedule_fires(
    jobs: Jobs, day: int, found: list[str]
) -> None:
    # Monday: the gap is Sat, Sun, Mon, and three before Monday are Fri, Sat, Sun.
    assert fired(jobs, 'lookback=3, gaps="collect"', day) == found


def test_a_backfill_of_saturday_looks_back_and_collects_nothing(jobs: Jobs) -> None:
    project = jobs(WEEKDAYS.format(options='lookback=3, gaps="collect"'))
    request = BackfillRequest(target="sales", at=NOW, keys=("2024-01-13",))
    plan = plan_backfill(project, request, MemoryStore(), only_key_by_key)
    assert [(step.script.name, list(step.keys)) for step in plan.plan.steps] == [
        ("sales.extract", days(10, 11, 12, 13)),
        ("sales.report", days(10, 11, 12, 13)),
    ]


def test_fires_that_follow_each_other_cover_each_day_once(jobs: Jobs) -> None:
    project = jobs(WEEKDAYS.format(options='gaps="collect", lag=1'))
    scene = Scene(project, datetime(2024, 1, 8, 5, tzinfo=UTC))
    seen: list[str | None] = []
    for day in range(8, 23):
        for each in scene.at(datetime(2024, 1, day, 7, tzinfo=UTC)).get("sales.extract", []):
            seen += each
    assert seen == days(*range(5, 22))


# The column of the key.


def column(rows: Callable[[list[str]], pd.DataFrame]) -> Callable[..., Any]:
    @job(name="sales", partitioning=Daily(start="2024-01-01", lookback=1))
    def sales() -> None:
        @task(io=ParquetIO("d"), partition_by="partition_key")
        def extract(partitions: list[str]) -> pd.DataFrame:
            return rows(partitions)

        extract()

    return sales


def test_the_column_of_the_key_is_added_for_one_key() -> None:
    done = run_job(column(lambda _: pd.DataFrame({"n": [1]})), partition="2024-01-05", exact=True)
    assert done["extract"].rows == ({"n": 1, "partition_key": "2024-01-05"},)


def test_for_several_keys_rows_have_to_say_it() -> None:
    done = run_job(column(lambda _: pd.DataFrame({"n": [1]})), partition="2024-01-05")
    assert done["extract"].errors == dict.fromkeys(
        days(4, 5),
        "sales.extract was called for 2 keys, and no column says which key each row is of; add the"
        " column 'partition_key', or take partition instead of partitions",
    )
    assert done["extract"].rows == ()


def test_a_column_that_is_there_is_kept() -> None:
    done = run_job(
        column(lambda keys: pd.DataFrame({"partition_key": keys})), partition="2024-01-05"
    )
    assert [row["partition_key"] for row in done["extract"].rows] == days(4, 5)


# Catch-up.


def test_catchup_runs_what_is_missing_and_what_has_failed(jobs: Jobs) -> None:
    project = jobs(WEEKDAYS.format(options='end="2024-01-05"'))
    store = MemoryStore()
    request = BackfillRequest(target="sales", at=NOW)

    def missing() -> list[str | None]:
        plan = plan_catchup(project, request, store, only_key_by_key, moved)
        steps = [step for step in plan.plan.steps if step.script.name == "sales.extract"]
        return [key for step in steps for key in step.keys]

    assert missing() == days(1, 2, 3, 4, 5)
    scene = Scene(project, datetime(2024, 1, 1, 5, tzinfo=UTC))
    store = scene.store
    scene.at(datetime(2024, 1, 2, 7, tzinfo=UTC))
    assert missing() == days(3, 4, 5)
    scene.engine.tasks = {}
    scene.engine.answers = {"sales.extract": lambda step: 1 / 0}  # type: ignore[dict-item,return-value]
    scene.turn(datetime(2024, 1, 3, 7, tzinfo=UTC))
    with pytest.raises(ZeroDivisionError):
        scene.run("lake://main/sales.extract", datetime(2024, 1, 3, 7, tzinfo=UTC))
    assert store.partition("lake://main/sales.extract", "2024-01-03").status == "failed"  # type: ignore[union-attr]
    assert missing() == days(3, 4, 5)


# Reads across partitions.


def reading(whole: bool, **options: Any) -> tuple[Callable[..., Any], list[int]]:
    seen: list[int] = []

    @job(name="sales", partitioning=Daily(start="2024-01-01"))
    def sales() -> None:
        @task
        def extract(partition: str) -> pd.DataFrame:
            return pd.DataFrame({"day": [partition]})

        @task(**options)
        def aggregate(data: pd.DataFrame) -> None:
            seen.append(len(data))

        data = extract()
        aggregate(all_partitions(data) if whole else data)

    return sales, seen


@pytest.mark.parametrize(
    ("whole", "options", "found"),
    [(False, {}, [1, 1]), (True, {}, [1, 2]), (False, {"all_partitions": True}, [1, 2])],
    ids=["its own key", "one edge", "all edges"],
)
def test_which_keys_a_task_reads(whole: bool, options: dict[str, Any], found: list[int]) -> None:
    sales, seen = reading(whole, **options)
    engine = MemoryEngine()
    run_job(sales, partition="2024-01-01", engine=engine)
    run_job(sales, partition="2024-01-02", engine=engine)
    assert seen == found


def test_a_run_is_for_the_key_that_it_began_with(jobs: Jobs) -> None:
    # There a definition starts nothing; here a fire of the schedule, and midnight changes nothing.
    project = jobs(WEEKDAYS.format(options=""))
    scene = Scene(project, datetime(2024, 1, 15, 5, tzinfo=UTC))
    scene.turn(datetime(2024, 1, 15, 6, 1, tzinfo=UTC))
    scene.run("lake://main/sales.extract", datetime(2024, 1, 15, 23, 59, tzinfo=UTC))
    done = scene.at(datetime(2024, 1, 16, 0, 1, tzinfo=UTC))
    assert done["sales.report"] == [("2024-01-15",)]


def test_a_job_with_faults_says_all_of_them() -> None:
    @job(partitioning="daily")  # type: ignore[call-overload]
    def wrong() -> None:
        @task
        def one(unknown: Any) -> None: ...

        one()

    with pytest.raises(ScriptFaults) as caught:
        run_job(wrong)
    assert len(caught.value.faults) == 2
