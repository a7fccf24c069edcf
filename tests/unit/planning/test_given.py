"""Plans without a query: rows that are given, a snapshot to go back to, a run to repeat."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import ClassVar

import pytest

from tranche.errors import KeyRejected, NotPartitioned, UnknownTarget, UsageError
from tranche.model.asset import LakeTable
from tranche.model.data_test import DataTest, NotNull, Unique
from tranche.model.partitioning import Daily, Dynamic
from tranche.model.plan import Plan, Request
from tranche.model.project import Project
from tranche.model.run import Input, Materialization, Run, StepRecord
from tranche.model.strategy import Append, History, Merge, Replace
from tranche.planning.given import GIVEN, given_plan, rollback_plan
from tranche.planning.plan import build_plan
from tranche.planning.repeat import repeat_plan
from tranche.testing import MemoryStore

from .conftest import NOON, project_of

A, B = LakeTable("main", "a"), LakeTable("main", "b")
DAY = "2026-05-16"


class TestGivenRows:
    def test_into_a_table_of_no_script(self) -> None:
        (step,) = given_plan(project_of({}), B, Append(), fire_time=NOON).steps
        assert (step.script.name, step.script.asset, step.partition) == (GIVEN, B, None)
        assert (step.strategy, step.script.fingerprint, step.script.managed) == ("append", "", True)
        assert step.verdict == "run"

    def test_a_key_alone_makes_partitions_of_any_text(self) -> None:
        (step,) = given_plan(project_of({}), B, Replace(), fire_time=NOON, partition="it's").steps
        assert (step.partition, step.ordinal) == ("it's", None)
        assert isinstance(step.script.partitioning, Dynamic)

    def test_what_a_script_declares_holds(self) -> None:
        project = project_of(
            {
                "a": "partitioned daily; materialize lake://main/a on_schema_change=sync;"
                " data_test unique x; layout bucket(4, x) :: SELECT 1 AS x"
            }
        )
        more = [DataTest(NotNull("x"), line=1)]
        plan = given_plan(project, A, Merge(("x",)), fire_time=NOON, partition=DAY, tests=more)
        (step,) = plan.steps
        assert step.script.name == "a"
        assert step.script.query is None
        made = step.script.annotations.materialize
        assert made is not None
        assert (made.strategy, made.on_schema_change) == (Merge(("x",)), "sync")
        assert [test.rule for test in step.script.annotations.data_tests] == [
            Unique("x"),
            NotNull("x"),
        ]
        assert [str(field) for field in step.script.annotations.layout] == ["bucket(4, x)"]
        assert step.ordinal is not None
        assert plan.request.partition == DAY

    @pytest.mark.parametrize(
        ("table", "strategy", "options", "error", "says"),
        [
            (A, Replace(), {}, KeyRejected, "has partitions; say which one"),
            (A, Replace(), {"partition": "soon"}, KeyRejected, "soon"),
            (
                A,
                Replace(),
                {"partition": DAY, "partitioning": Daily(start="2020-01-01")},
                KeyRejected,
                "declares",
            ),
            (
                LakeTable("main", "w"),
                Replace(),
                {"partition": DAY},
                NotPartitioned,
                "no partitions",
            ),
            (
                LakeTable("main", "h_current"),
                Replace(),
                {},
                UnknownTarget,
                "current rows of lake://main/h",
            ),
            (B, History(("x",), at="partition"), {}, NotPartitioned, "no keys of time"),
            (
                B,
                History(("x",), at="partition"),
                {"partition": "k"},
                NotPartitioned,
                "no keys of time",
            ),
            (B, History(("x",)), {"partition": "k"}, NotPartitioned, "only with at='partition'"),
        ],
    )
    def test_what_cannot_be(
        self,
        table: LakeTable,
        strategy: History,
        options: dict[str, str],
        error: type[UsageError],
        says: str,
    ) -> None:
        project = project_of(
            {
                "a": "partitioned daily; materialize lake://main/a",
                "w": "materialize lake://main/w",
                "h": "materialize lake://main/h key=x history",
            }
        )
        with pytest.raises(error, match=says):
            given_plan(project, table, strategy, fire_time=NOON, **options)  # type: ignore[arg-type]


class TestRollback:
    def test_of_a_script_s_table_and_of_another(self) -> None:
        project = project_of({"a": "partitioned daily; materialize lake://main/a append"})
        for table in (A, B):
            (step,) = rollback_plan(project, table, "77", NOON).steps
            assert (step.restores, step.strategy, step.partition) == ("77", "rollback", None)
            assert step.script.asset == table

    def test_not_of_what_a_script_writes_by_itself(self) -> None:
        project = project_of({"a": "materialize manual lake://main/a :: INSERT INTO a SELECT 1"})
        with pytest.raises(UnknownTarget, match="by itself"):
            rollback_plan(project, A, "77", NOON)


class Past:
    """A run of two scripts that has ended."""

    TEXTS: ClassVar[dict[str, str]] = {
        "a": "partitioned daily; materialize lake://main/a :: SELECT * FROM raw",
        "b": "partitioned daily; on lake://main/a; materialize lake://main/b :: SELECT * FROM a",
        "c": "partitioned daily; on lake://main/b; materialize lake://main/c :: SELECT * FROM b",
    }

    def __init__(self) -> None:
        self.project = project_of(self.TEXTS)
        self.store = MemoryStore()
        request = Request(target="a", fire_time=NOON, partition=DAY)
        plan = build_plan(self.project, request, self.store)
        run = Run(
            id="r1", target="a", status="running", fire_time=NOON, started_at=NOON, partition=DAY
        )
        self.steps = [
            StepRecord(
                run="r1",
                position=step.position,
                script=step.script.name,
                asset=str(step.script.asset),
                partition=DAY,
                ordinal=step.ordinal,
                strategy="replace",
                status="waiting",
            )
            for step in plan.steps
            if step.script.name != "c"
        ]
        self.store.begin_run(run, self.steps)
        for step, source in zip(self.steps, ("lake://main/raw", "lake://main/a"), strict=True):
            script = self.project.script(step.script)
            assert script is not None
            entry = Materialization(
                id=f"m{step.position}",
                asset=str(step.asset),
                partition=DAY,
                ordinal=step.ordinal,
                status="succeeded",
                run="r1",
                attempt=f"at{step.position}",
                fingerprint=script.fingerprint,
                started_at=NOON,
                finished_at=NOON + timedelta(seconds=step.position),
                inputs=(
                    Input(
                        asset=source,
                        partition=DAY if source.endswith("/a") else None,
                        snapshot=f"7{step.position}",
                    ),
                ),
            )
            self.store.finish_step(replace(step, status="succeeded"), [entry])

    def again(self, project: Project | None = None) -> Plan:
        return repeat_plan(project or self.project, "r1", self.store)


class TestRepeat:
    def test_the_same_steps_with_what_they_read(self) -> None:
        plan = Past().again()
        assert plan.warnings == ()
        assert (plan.request.target, plan.request.fire_time) == ("a", NOON)
        # What has come downstream since was not in the run.
        assert [step.script.name for step in plan.steps] == ["a", "b"]
        assert [step.needs for step in plan.steps] == [(), (0,)]
        assert [[given.snapshot for given in step.pinned] for step in plan.steps] == [
            ["70"],
            ["71"],
        ]
        assert {step.pinned_at for step in plan.steps} == {NOON}

    def test_what_was_provisional_then_is_so_again(self) -> None:
        texts = Past.TEXTS | {
            "b": Past.TEXTS["b"].replace("main/a;", 'main/a deadline="06:00";'),
        }
        past = Past()
        plan = past.again(project_of(texts))
        assert [key.provisional for step in plan.steps for key in step.slice] == [False, False]
        (entry,) = past.store.materializations("lake://main/b", DAY, limit=9)
        early = replace(
            entry, id="e", attempt="e", provisional=True, finished_at=NOON + timedelta(1)
        )
        past.store.finish_step(past.steps[1], [early])
        plan = past.again(project_of(texts))
        assert [key.provisional for step in plan.steps for key in step.slice] == [False, True]

    def test_a_script_that_changed(self) -> None:
        changed = {**Past.TEXTS, "a": Past.TEXTS["a"].replace("*", "x")}
        plan = Past().again(project_of(changed))
        assert plan.warnings == ("pipelines/a.sql has changed since the run r1",)

    def test_a_script_that_reads_something_new(self) -> None:
        changed = {**Past.TEXTS, "a": Past.TEXTS["a"] + " JOIN other USING (x)"}
        warnings = Past().again(project_of(changed)).warnings
        assert any("reads what is there now" in warning for warning in warnings)

    def test_no_such_run(self) -> None:
        with pytest.raises(UnknownTarget, match="there is no run 'r9'"):
            repeat_plan(project_of({}), "r9", MemoryStore())

    def test_a_script_that_is_gone(self) -> None:
        with pytest.raises(UsageError, match="no script of the project now"):
            Past().again(project_of({"a": Past.TEXTS["a"]}))

    def test_a_rollback(self) -> None:
        store = MemoryStore()
        run = Run(id="r1", target="a", status="running", fire_time=NOON, started_at=NOON)
        step = replace(Past().steps[0], strategy="rollback", partition=None)
        store.begin_run(run, [step])
        with pytest.raises(UsageError, match="back to a snapshot"):
            repeat_plan(project_of(Past.TEXTS), "r1", store)

    def test_rows_that_a_program_gave(self) -> None:
        past = Past()
        log = past.store.materializations("lake://main/a", DAY, limit=9)
        given = replace(log[0], id="g", attempt="g", run="r2", fingerprint="", inputs=())
        run = Run(
            id="r2",
            target="lake://main/a",
            status="running",
            fire_time=NOON,
            started_at=NOON,
            partition=DAY,
        )
        step = replace(past.steps[0], run="r2")
        past.store.begin_run(run, [step])
        past.store.finish_step(replace(step, status="succeeded"), [given])
        with pytest.raises(UsageError, match="that a program gave it"):
            repeat_plan(past.project, "r2", past.store)

    def test_another_partitioning(self) -> None:
        changed = {name: text.replace("daily", "monthly") for name, text in Past.TEXTS.items()}
        with pytest.raises(UsageError):
            Past().again(project_of(changed))
