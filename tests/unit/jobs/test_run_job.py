"""`tranche.testing.run_job`: a job of a test, run without a project."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tranche import (
    Asset,
    Composite,
    CurrentRun,
    Daily,
    DeltaIO,
    Merge,
    ReadContext,
    Static,
    Window,
    WriteContext,
    all_partitions,
    current_partition,
    current_partitions,
    job,
    read_file,
    task,
    write_file,
)
from tranche.errors import ArgumentRejected, KeyRejected, MergeRejected, TaskMisused, UsageError
from tranche.testing import MemoryEngine, run_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAILY = Daily(start="2024-01-01")
ONE = pd.DataFrame({"n": [1]})


def test_a_task_is_a_function_that_a_test_can_call() -> None:
    @task
    def double(n: int) -> int:
        """Twice as much."""
        return 2 * n

    assert double(4) == 8
    assert (double.__name__, double.__doc__) == ("double", "Twice as much.")


def test_a_job_is_a_function_too() -> None:
    called = []

    @task
    def one() -> int:
        called.append("one")
        return 1

    @task
    def more(n: int) -> int:
        return n + 1

    @job
    def sales() -> int:
        return more(all_partitions(one()))

    assert sales() == 2
    assert called == ["one"]


@pytest.mark.parametrize("decorator", [task, job, task(retry=1), job(tags="a")])
@pytest.mark.parametrize("thing", [1, print, str, lambda: 1])
def test_what_decorators_stand_above(decorator: Any, thing: Any) -> None:
    if getattr(thing, "__name__", "") == "<lambda>":
        assert decorator(thing)() == 1
        return
    with pytest.raises(TaskMisused, match="put it above a def"):
        decorator(thing)


def test_tasks_may_stand_outside_of_jobs() -> None:
    @task
    def rows() -> pd.DataFrame:
        return ONE

    @job
    def first() -> None:
        rows()

    @job
    def second() -> None:
        rows()

    assert run_job(first)["rows"].asset == "lake://main/first.rows"
    assert run_job(second)["rows"].asset == "lake://main/second.rows"


@pytest.mark.parametrize(
    ("returned", "annotation", "kind"),
    [
        (ONE, "pd.DataFrame", pd.DataFrame),
        (ONE, "pl.DataFrame", pl.DataFrame),
        (ONE, "pl.LazyFrame | None", pl.LazyFrame),
        (ONE, "pa.Table", pa.Table),
        (pl.DataFrame({"n": [1]}), "pd.DataFrame", pd.DataFrame),
        (pl.LazyFrame({"n": [1]}), "pa.Table", pa.Table),
        (pa.table({"n": [1]}), "pl.DataFrame", pl.DataFrame),
        (pl.DataFrame({"n": [1]}), None, pl.DataFrame),
        (None, "pd.DataFrame", type(None)),
    ],
)
def test_rows_come_as_the_annotation_wants_them(
    returned: Any, annotation: str | None, kind: type
) -> None:
    seen: list[Any] = []

    def take(rows):  # type: ignore[no-untyped-def]
        seen.append(rows)

    if annotation is not None:
        take.__annotations__["rows"] = annotation

    @job
    def sales() -> None:
        @task
        def make() -> Any:
            return returned

        task(take)(make())

    done = run_job(sales)
    assert done.status == "succeeded", done["take"].errors
    assert isinstance(seen[0], kind)


def test_what_the_run_gives() -> None:
    seen: dict[str, Any] = {}

    @job(partitioning=DAILY)
    def sales(limit: int = 3, day: date | None = None) -> None:
        @task
        def look(
            partition: str,
            window: Window,
            logical_date: datetime,
            run: CurrentRun,
            limit: int,
            again: int,
            day: date,
            other: str = "mine",
        ) -> None:
            seen.update(locals())

        look(again=limit)

    now = datetime(2024, 3, 1, tzinfo=UTC)
    done = run_job(sales, partition="2024-02-03", arguments={"day": date(2024, 5, 1)}, now=now)
    run: CurrentRun = seen.pop("run")
    window: Window = seen.pop("window")
    assert seen.pop("seen") is seen if "seen" in seen else True
    assert (window.start.date(), window.end.date()) == (date(2024, 2, 3), date(2024, 2, 4))
    assert (run.id, run.fire_time) == (done.run.id, now)
    assert seen == {
        "partition": "2024-02-03",
        "logical_date": datetime(2024, 2, 3, tzinfo=UTC),
        "limit": 3,
        "again": 3,
        "day": date(2024, 5, 1),
        "other": "mine",
    }


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"arguments": {"limit": "many"}}, ArgumentRejected),
        ({"arguments": {"limits": 1}}, ArgumentRejected),
        ({"arguments": {"limit": [1]}}, UsageError),
        ({"partition": "2024-1-1"}, KeyRejected),
        ({"partition": "2024-01-01", "partitions": ["2024-01-01"]}, UsageError),
    ],
)
def test_wrong_use(given: dict[str, Any], error: type[Exception]) -> None:
    @job(partitioning=DAILY)
    def sales(limit: int = 3) -> None:
        @task
        def look(limit: int) -> None: ...

        look()

    with pytest.raises(error):
        run_job(sales, **{"partition": "2024-01-01", **given})


def test_what_is_no_job() -> None:
    with pytest.raises(UsageError, match="is no job"):
        run_job(lambda: None)


def test_several_keys_in_one_call_or_in_one_each() -> None:
    calls: list[tuple[str, object]] = []

    @job(partitioning=DAILY)
    def sales() -> None:
        @task
        def together(partitions: list[str]) -> pd.DataFrame:
            calls.append(("together", partitions))
            return pd.DataFrame({"partition_key": partitions, "n": range(len(partitions))})

        @task
        def each(rows: pd.DataFrame, partition: str) -> pd.DataFrame:
            calls.append(("each", partition))
            return rows.assign(n=rows.n * 10)

        each(together())

    keys = ["2024-01-01", "2024-01-02", "2024-01-03"]
    done = run_job(sales, partitions=keys)
    assert calls[0] == ("together", keys)
    assert sorted(calls[1:]) == [("each", key) for key in keys]
    assert done["each"].rows == ({"n": 0}, {"n": 10}, {"n": 20})
    assert list(done["each"].keys) == keys


def test_keys_run_at_once_up_to_a_limit() -> None:
    running, most = 0, 0
    lock, both = threading.Lock(), threading.Barrier(3, timeout=20)

    @job(partitioning=DAILY, limit=3)
    def sales() -> None:
        @task
        def work(partition: str) -> None:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            both.wait()
            assert current_partition() == partition
            with lock:
                running -= 1

        work()

    done = run_job(sales, partitions=[f"2024-01-0{n}" for n in range(1, 10)])
    assert done.status == "succeeded", done["work"].errors
    assert most == 3


def test_one_bad_key_does_not_spoil_the_rest() -> None:
    @job(partitioning=DAILY)
    def sales() -> None:
        @task
        def work(partition: str) -> pd.DataFrame:
            if partition == "2024-01-02":
                raise ValueError("no such day")
            return ONE

        @task
        def after(rows: pd.DataFrame) -> None: ...

        after(work())

    keys = ["2024-01-01", "2024-01-02", "2024-01-03"]
    done = run_job(sales, partitions=keys)
    assert done.status == "failed"
    assert list(done["work"].keys.values()) == ["succeeded", "failed", "succeeded"]
    assert list(done["after"].keys.values()) == ["succeeded", "skipped", "succeeded"]
    (error,) = done["work"].errors.values()
    assert error.startswith(f"{Path(__file__).name}:")
    assert "sales.work raised ValueError: no such day" in error


def test_a_task_is_tried_again() -> None:
    tries: list[int] = []

    @job(retry=1)
    def sales() -> None:
        @task(retry=2)
        def flaky() -> None:
            tries.append(1)
            if len(tries) < 3:
                raise OSError("not now")

        flaky()

    assert run_job(sales).status == "succeeded"
    assert len(tries) == 3


@pytest.mark.parametrize("returned", [1, "rows", [{"n": 1}], {"n": 1}])
def test_a_task_that_returns_something_else(returned: object) -> None:
    @job
    def sales() -> None:
        @task
        def make() -> Any:
            return returned

        make()

    (error,) = run_job(sales)["make"].errors.values()
    assert f"sales.make returned a value of the type {type(returned).__name__}; return a" in error


def test_a_partition_column_that_is_missing() -> None:
    @job
    def sales() -> None:
        @task(io=DeltaIO("d"), partition_by=("n", "region"))
        def make() -> Any:
            return ONE

        make()

    (error,) = run_job(sales)["make"].errors.values()
    assert error == (
        "sales.make returned no column 'region', which partition_by= names; add it; the columns"
        " are n"
    )


def test_none_writes_nothing_and_is_handed_on() -> None:
    seen: list[Any] = []
    rows: list[Any] = [ONE, None]

    @job(partitioning=DAILY)
    def sales() -> None:
        @task
        def make(partition: str) -> Any:
            return rows.pop(0)

        @task
        def after(made: pd.DataFrame | None) -> None:
            seen.append(made)

        after(make())

    engine = MemoryEngine()
    run_job(sales, partition="2024-01-01", engine=engine)
    run_job(sales, partition="2024-01-01", engine=engine)
    assert seen[1] is None
    assert engine.tables["lake://main/sales.make"]["2024-01-01"] == ({"n": 1},)


def test_a_task_without_rows_hands_none_on() -> None:
    seen: list[Any] = []

    @job
    def sales() -> None:
        @task
        def prepare() -> None: ...

        @task
        def work(prepared: Any) -> None:
            seen.append(prepared)

        work(prepare())

    assert run_job(sales)["prepare"].asset == "job://sales/prepare"
    assert seen == [None]


# Merges.


def merged(merge: Callable[[Any], Merge]) -> list[tuple[int, int]]:
    made: list[Any] = [pd.DataFrame({"id": [1, 2], "n": [1, 2]})]
    made.append(merge(pd.DataFrame({"id": [2, 3], "n": [20, 30]})))

    @job
    def sales() -> None:
        @task(writes="lake://main/t", key="id")
        def make() -> Any:
            return made.pop(0)

        make()

    engine = MemoryEngine()
    run_job(sales, engine=engine)
    done = run_job(sales, engine=engine)
    assert done.status == "succeeded", done["make"].errors
    return sorted((row["id"], row["n"]) for row in done["make"].rows)


@pytest.mark.parametrize(
    ("merge", "rows"),
    [
        (lambda rows: Merge(rows, on="id"), [(1, 1), (2, 20), (3, 30)]),
        (lambda rows: Merge(rows, on=["id"]).when_matched_update_all(), [(1, 1), (2, 20)]),
        (lambda rows: Merge(rows, on="id").when_matched_delete(), [(1, 1)]),
        (
            lambda rows: Merge(rows, on="id").when_not_matched_insert_all(),
            [(1, 1), (2, 2), (3, 30)],
        ),
        (
            lambda rows: (
                Merge(rows, on="id").when_matched_update_all().when_not_matched_by_source_delete()
            ),
            [(2, 20)],
        ),
    ],
)
def test_merges(merge: Callable[[Any], Merge], rows: list[tuple[int, int]]) -> None:
    assert merged(merge) == rows


def test_a_merge_in_sql_needs_spark() -> None:
    @job
    def sales() -> None:
        @task
        def make() -> Any:
            return Merge(ONE, on="target.n = source.n")

        make()

    (error,) = run_job(sales)["make"].errors.values()
    assert "an engine in memory runs no SQL" in error


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Merge(ONE), "a Merge without on= would not know which rows are the same"),
        (lambda: Merge(ONE, on=""), "a Merge without on="),
        (lambda: Merge(ONE, on=[]), "a Merge without on="),
        (lambda: Merge(ONE, on="n").when_matched_update({}), "set= says no column"),
        (lambda: Merge(ONE, on="n").when_not_matched_insert({"n": 1}), "takes SQL as text"),
        (lambda: Merge(ONE, on="n", when=["update"]), "'update' is no clause of a Merge"),
    ],
)
def test_a_merge_says_enough(make: Callable[[], Merge], message: str) -> None:
    with pytest.raises(MergeRejected, match=message):
        make()


def test_the_clauses_of_a_merge() -> None:
    merge = (
        Merge(ONE, on="target.id = source.id")
        .when_matched_delete("source.gone")
        .when_matched_update({"n": "target.n + source.n"}, condition="source.n > 0")
        .when_not_matched_insert({"id": "source.id", "n": "0"})
        .when_not_matched_by_source_update({"n": "NULL"})
    )
    assert merge.condition == "target.id = source.id"
    assert [(w.match, w.action, w.values, w.condition) for w in merge.clauses] == [
        ("matched", "delete", None, "source.gone"),
        ("matched", "update", (("n", "target.n + source.n"),), "source.n > 0"),
        ("not_matched", "insert", (("id", "source.id"), ("n", "0")), None),
        ("not_matched_by_source", "update", (("n", "NULL"),), None),
    ]


# IOs of users.


@dataclass
class Shelf:
    """Keeps anything by key."""

    kept: dict[tuple[str, str], Any] = field(default_factory=dict)
    asked: list[ReadContext] = field(default_factory=list)
    broken: bool = False

    def write(self, context: WriteContext, data: Any) -> None:
        if self.broken:
            raise OSError("the shelf fell down")
        for key in context.keys:
            self.kept[context.task, key] = data

    def read(self, context: ReadContext) -> Any:
        self.asked.append(context)
        if context.all_partitions:
            return [value for (name, _), value in self.kept.items() if name == context.task]
        return [self.kept[context.task, key] for key in context.keys]


def shelved(shelf: Shelf) -> tuple[Callable[..., Any], list[Any]]:
    seen: list[Any] = []

    @job(partitioning=DAILY)
    def sales() -> None:
        @task(io=shelf, partition_by="region")
        def make(partition: str) -> Any:
            return f"rows of {partition}"

        @task
        def look(rows: Any, whole: Any) -> None:
            seen.append((rows, whole))

        made = make()
        look(made, all_partitions(made))

    return sales, seen


def test_an_io_of_ones_own() -> None:
    shelf, engine = Shelf(), MemoryEngine()
    sales, seen = shelved(shelf)
    run_job(sales, partition="2024-01-01", engine=engine)
    done = run_job(sales, partition="2024-01-02", engine=engine)
    assert done["make"].asset == "job://sales/make"
    assert seen[1] == (
        ["rows of 2024-01-02"],
        ["rows of 2024-01-01", "rows of 2024-01-02"],
    )
    assert shelf.asked[0] == ReadContext(
        job="sales", task="make", keys=("2024-01-01",), partition_by=("region",)
    )
    assert shelf.asked[1].all_partitions


def test_an_io_knows_the_keys_that_it_is_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is code of the run, and its files have the key in their addresses."""
    (tmp_path / "tranche.toml").touch()
    monkeypatch.chdir(tmp_path)
    address = "s3:///{partition}.txt"
    seen: list[Any] = []

    class Files:
        def write(self, context: WriteContext, data: Any) -> None:
            write_file(address, data)
            seen.append(current_partitions())

        def read(self, context: ReadContext) -> Any:
            seen.append(current_partition())
            return read_file(address, "text")

    @job(partitioning=DAILY)
    def sales() -> None:
        @task(io=Files())
        def make(partition: str) -> Any:
            return f"rows of {partition}"

        @task
        def look(rows: Any) -> None:
            seen.append(rows)

        look(make())

    assert run_job(sales, partition="2024-01-01").status == "succeeded"
    assert seen == [["2024-01-01"], "2024-01-01", "rows of 2024-01-01"]


def test_an_io_that_raises() -> None:
    sales, seen = shelved(Shelf(broken=True))
    done = run_job(sales, partition="2024-01-01")
    (error,) = done["make"].errors.values()
    assert error.startswith(f"{Path(__file__).name}:")
    assert "raised OSError: the shelf fell down" in error
    assert (done["look"].status, seen) == ("skipped", [])


# What comes from elsewhere.


def test_tables_of_others_are_given() -> None:
    seen: list[int] = []

    @job(partitioning=DAILY)
    def sales() -> None:
        @task
        def look(orders: pd.DataFrame) -> None:
            seen.append(int(orders.n.sum()))

        look(Asset("lake://main/orders"))

    engine = MemoryEngine()
    (error,) = run_job(sales, partition="2024-01-01", engine=engine)["look"].errors.values()
    assert "give the engine its rows: engine.give('lake://main/orders', frame)" in error
    engine.give("lake://main/orders", pd.DataFrame({"n": [1, 2]}))
    assert run_job(sales, partition="2024-01-01", engine=engine).status == "succeeded"
    assert seen == [3]


def test_a_task_that_takes_spark_needs_a_session() -> None:
    @job
    def sales() -> None:
        @task
        def look(spark: SparkSession) -> None:
            seen.append(spark)

        look()

    seen: list[Any] = []
    (error,) = run_job(sales)["look"].errors.values()
    assert "give it a session: MemoryEngine(spark=…)" in error
    assert run_job(sales, engine=MemoryEngine(spark="a session")).status == "succeeded"
    assert seen == ["a session"]


def test_keys_of_several_dimensions() -> None:
    seen: list[str] = []

    @job(partitioning=Composite(day=DAILY, region=Static(["eu", "us"])), limit=1)
    def sales() -> None:
        @task
        def make(partition: str) -> pd.DataFrame:
            return ONE

        @task
        def after(rows: pd.DataFrame, partition: str) -> None:
            seen.append(partition)

        after(make())

    run_job(sales, partition="day=2024-01-02")
    assert seen == ["2024-01-02|eu", "2024-01-02|us"]
