"""Data tests: what each finds, and that readers never see a slice that failed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tranche.errors import ColumnsRejected, SourceMissing, StatementFailed
from tranche.lakes.audit import run_data_tests
from tranche.model.data_test import DataTestResult

if TYPE_CHECKING:
    from .conftest import Bench

DAY, OTHER = "2026-05-15", "2026-05-16"


def script(rows: str, *tests: str, columns: str = "id, name", made: str = "") -> str:
    """A daily table of these rows: `(1, 'a'), …`."""
    lines = "".join(f"-- data_test {test}\n" for test in tests)
    return (
        f"-- pipeline\n-- partitioned daily\n-- materialize lake://main/@t{made}\n{lines}"
        f"SELECT * FROM VALUES {rows} AS v({columns})"
    )


def whole(rows: str, *tests: str, columns: str = "id, name", made: str = "") -> str:
    return script(rows, *tests, columns=columns, made=made).replace("-- partitioned daily\n", "")


def all_found_by(bench: Bench, text: str, **request: Any) -> tuple[DataTestResult, ...]:
    """What the tests of a script find; nothing is published."""
    request = {"partition": DAY, **request} if "partitioned" in text else request
    with bench.engine.attempt(bench.work(text, **request)) as trial:
        return trial.stage().tests


def found_by(bench: Bench, text: str, **request: Any) -> DataTestResult:
    (result,) = all_found_by(bench, text, **request)
    return result


def rows(bench: Bench, columns: str = "id, name") -> list[tuple[Any, ...]]:
    found = bench.sql(f"SELECT {columns} FROM @t")
    return sorted((tuple(row.values()) for row in found), key=repr)


def sample(result: DataTestResult) -> list[tuple[Any, ...]]:
    assert result.sample is not None
    return sorted(result.sample.values, key=repr)


def executions(session: SparkSession) -> int:
    """How many queries Spark has run so far."""
    jvm: Any = session
    jvm._jsc.sc().listenerBus().waitUntilEmpty()
    # By number: Spark keeps, and counts, only the last thousand.
    return int(jvm._jsparkSession.sharedState().statusStore().executionsList().last().executionId())


class TestRules:
    def test_what_they_find(self, bench: Bench) -> None:
        values = """(1, 1, 'a', 'a', 'it\\'s', 'a'), (2, 1, 'b', NULL, 'its', 'b'),
            (3, 2, 'A', NULL, 'it', NULL), (4, 2, 'c', 'c', NULL, NULL), (NULL, 2, NULL, 'd', 'x', NULL),
            (NULL, 3, NULL, 'e', 'x', NULL)"""
        expected = {
            "unique id": 0,
            "unique GROUP": 5,
            "not_null group": 0,
            "not_null mark": 2,
            "accepted_values name = a,b": 2,
            "accepted_values name = a,b,c,A": 0,
            "accepted_values quote = it's,its,it": 2,
            "accepted_values few = a,b": 0,
            "accepted_values group = 1,2": 1,
            "accepted_values group = 1,x": 4,
            "accepted_values id = x,y": 4,
        }
        columns = "id, group, name, mark, quote, few"
        results = all_found_by(bench, script(values, *expected, columns=columns))
        assert {result.test: result.violations for result in results} == expected
        for result in results:
            assert result.status == ("failed" if result.violations else "passed")
            assert result.violations == (len(sample(result)) if result.violations else 0)
            assert result.violations or result.sample is None
        assert [row[1] for row in sample(results[1])] == [1, 1, 2, 2, 2]
        assert sorted(row[0] for row in sample(results[3])) == [2, 3]

    @pytest.mark.slow
    def test_values_of_other_types(self, bench: Bench) -> None:
        cases = {
            "CAST(1.50 AS DECIMAL(9,2))": "1.50,2",
            "CAST(1.70 AS DECIMAL(9,2))": "1.7",
            "DATE '2026-05-16'": "2026-05-16",
            "TIMESTAMP '2026-05-16 10:00:00'": "2026-05-16 10:00:00",
            "true": "true",
            "CAST(7 AS BIGINT)": "7",
            "CAST(7 AS SMALLINT)": "7",
            "1.5D": "1.5",
        }
        columns = [f"c{number}" for number in range(len(cases))]
        good = [f"accepted_values {n} = {v}" for n, v in zip(columns, cases.values(), strict=True)]
        bad = [f"accepted_values {name} = false,2001-01-01,3" for name in columns]
        row = f"({', '.join(cases)})"
        results = all_found_by(bench, script(row, *good, *bad, columns=", ".join(columns)))
        assert [result.violations for result in results] == [0] * len(good) + [1] * len(bad)

    def test_relationships(self, bench: Bench) -> None:
        bench.sql("CREATE TABLE @c AS SELECT * FROM VALUES (1), (2), (CAST(NULL AS INT)) AS v(nr)")
        test = "relationships id -> lake://main/@c.nr"
        assert found_by(bench, script("(1, 'a'), (1, 'b'), (NULL, 'c')", test)).violations == 0
        bad = found_by(bench, script("(1, 'a'), (7, 'b'), (8, 'c')", test))
        assert (bad.violations, sample(bad)) == (2, [(7, "b"), (8, "c")])

    @pytest.mark.slow
    def test_a_relationship_to_the_table_itself(self, bench: Bench) -> None:
        """It means the slice as it is about to be, and the other slices as they are."""
        made = lambda given: script(  # noqa: E731
            given, "relationships boss -> lake://main/@t.id", columns="id, boss"
        )
        step, store = bench.ran(made("(1, NULL), (2, 1)"), partition=OTHER)
        assert step.record.status == "succeeded"
        step, _ = bench.ran(made("(3, 2), (4, 3)"), store, partition=DAY)
        assert step.record.status == "succeeded"
        # Row 3 goes away with this run, so nobody may refer to it any more.
        step, _ = bench.ran(made("(4, 3)"), store, partition=DAY)
        assert [test.violations for test in step.tests] == [1]
        assert rows(bench, "id, boss") == [(1, None), (2, 1), (3, 2), (4, 3)]

    @pytest.mark.slow
    def test_a_relationship_of_a_whole_table_to_itself(self, bench: Bench) -> None:
        test = "relationships boss -> lake://main/@t.id"
        assert not found_by(bench, whole("(1, 1)", test, columns="id, boss")).violations
        bench.run(whole("(9, 9)", columns="id, boss"))
        assert found_by(bench, whole("(1, 9)", test, columns="id, boss")).violations == 1

    def test_at_most_twenty_rows_are_kept(self, bench: Bench) -> None:
        many = ", ".join(f"({n}, NULL)" for n in range(30))
        result = found_by(
            bench, script(many.replace("NULL", "CAST(NULL AS STRING)"), "not_null name")
        )
        assert result.violations == 30
        assert result.sample is not None and result.sample.more
        assert len(result.sample.values) == 20

    def test_names_that_need_quotes(self, bench: Bench) -> None:
        result = found_by(bench, script("(1, 'a'), (1, 'b')", "unique `x", columns="```x`, name"))
        assert (result.violations, len(sample(result))) == (2, 2)

    def test_rows_are_kept_as_they_are(self, bench: Bench) -> None:
        given = (
            "(1, map('k', array(1.10BD)), TIMESTAMP '2026-05-16 10:00:00', CAST(NULL AS STRING))"
        )
        result = found_by(bench, script(given, "not_null d", columns="a, b, c, d"))
        ((a, b, c, d),) = sample(result)
        assert (a, str(b["k"][0]), c, d) == (1, "1.10", "2026-05-16T10:00:00Z", None)


class TestByScript:
    def test_it_returns_the_violating_rows(self, bench: Bench) -> None:
        bench.tests["sane"] = "SELECT id, name AS who FROM {slice} WHERE id < 0 ORDER BY id"
        assert found_by(bench, script("(1, 'a')", "sane")).status == "passed"
        result = found_by(bench, script("(1, 'a'), (-2, 'b'), (-3, 'c')", "sane"))
        assert (result.test, result.violations, result.status) == ("sane", 2, "failed")
        assert result.sample is not None
        assert result.sample.columns == (("id", "int"), ("who", "string"))
        assert result.sample.values == ((-3, "c"), (-2, "b"))

    @pytest.mark.slow
    def test_many_violations_are_counted_and_the_first_kept(self, bench: Bench) -> None:
        bench.tests["sane"] = "SELECT id, id AS id FROM {slice} WHERE id >= 0 ORDER BY id DESC"
        made = (
            "-- pipeline\n-- materialize lake://main/@t\n-- data_test sane\n"
            "SELECT id FROM range(-10, 1000, 1, 4)"
        )
        result = found_by(bench, made)
        assert (result.violations, result.sample and result.sample.more) == (1000, True)
        assert result.sample is not None
        assert result.sample.values == tuple((n, n) for n in range(999, 979, -1))

    @pytest.mark.slow
    def test_the_slice_can_be_named_in_several_ways(self, bench: Bench) -> None:
        bench.tests["twice"] = (
            "WITH n AS (SELECT id, count(*) AS n FROM {slice} GROUP BY id)\n"
            "SELECT s.* FROM { slice } AS s JOIN n USING (id) WHERE n.n > 1"
            " AND EXISTS (SELECT 1 FROM {slice} WHERE {slice}.name = s.name)"
        )
        assert found_by(bench, script("(1, 'a'), (1, 'b'), (2, 'c')", "twice")).violations == 2

    def test_keys_and_arguments_are_bound(self, bench: Bench) -> None:
        bench.tests["mine"] = (
            "SELECT * FROM {slice} WHERE day <> '{partition}' OR day <> $partition OR id > $most"
        )
        text = script(f"(1, '{DAY}'), (5, '{DAY}'), (2, 'x')", "mine", columns="id, day").replace(
            "-- data_test", "-- $most (int) = 3\n-- data_test"
        )
        assert found_by(bench, text).violations == 2
        assert found_by(bench, text, arguments={"most": "9"}).violations == 1

    @pytest.mark.slow
    def test_other_tables_go_by_their_names(self, bench: Bench) -> None:
        bench.sql("CREATE TABLE @c AS SELECT 1 AS id, true AS blocked")
        bench.tests["blocked"] = (
            "SELECT {slice}.* FROM {slice} JOIN @c AS c USING (id) WHERE blocked"
        )
        assert found_by(bench, script("(1, 'a'), (2, 'b')", "blocked")).violations == 1

    @pytest.mark.slow
    def test_its_own_table_is_empty_before_the_first_run(self, bench: Bench) -> None:
        bench.tests["fresh"] = (
            "SELECT s.* FROM {slice} AS s JOIN @t ON @t.id = s.id"
            " WHERE @t._tranche_partition <> '{partition}'"
        )
        step, store = bench.ran(script("(1, 'a')", "fresh"), partition=OTHER)
        assert step.record.status == "succeeded", step.record.error
        step, _ = bench.ran(script("(1, 'b'), (2, 'c')", "fresh"), store, partition=DAY)
        assert [test.violations for test in step.tests] == [1]
        assert rows(bench) == [(1, "a")]

    @pytest.mark.slow
    def test_a_table_that_the_step_reads_is_seen_as_the_step_saw_it(self, bench: Bench) -> None:
        bench.sql("CREATE TABLE @src AS SELECT 1 AS id")
        bench.tests["complete"] = "SELECT id FROM @src EXCEPT SELECT id FROM {slice}"
        text = whole("(1)", "complete", columns="id").partition("SELECT")[0] + "SELECT * FROM @src"
        work = bench.work(text)
        with bench.engine.attempt(work) as trial:
            stage = trial.writer_for  # type: ignore[attr-defined]

            def late(*args: Any, **how: Any) -> Any:
                bench.sql("INSERT INTO @src VALUES (2)")
                return stage(*args, **how)

            trial.writer_for = late  # type: ignore[attr-defined]
            staged = trial.stage()
        assert [test.violations for test in staged.tests] == [0]
        assert list(staged.sources) == [f"lake://main/{bench.schema}.src"]

    def test_tables_of_tests_are_no_inputs(self, bench: Bench) -> None:
        bench.sql("CREATE TABLE @c AS SELECT 1 AS id")
        bench.tests["known"] = "SELECT * FROM {slice} WHERE id NOT IN (SELECT id FROM @c)"
        with bench.engine.attempt(bench.work(script("(1, 'a')", "known"), partition=DAY)) as trial:
            assert trial.stage().sources == {}

    def test_files_can_be_read(self, bench: Bench) -> None:
        bench.write("data/known.csv", "id\n1\n")
        bench.tests["known"] = (
            "SELECT * FROM {slice} WHERE id NOT IN"
            " (SELECT CAST(id AS INT) FROM read_csv('data/known.csv', header => 'true'))"
        )
        assert found_by(bench, script("(1, 'a'), (2, 'b')", "known")).violations == 1

    def test_it_sees_no_managed_column(self, bench: Bench) -> None:
        bench.tests["all"] = "SELECT * FROM {slice}"
        result = found_by(bench, script("(1, 'a')", "all"))
        assert result.sample is not None
        assert [name for name, _ in result.sample.columns] == ["id", "name"]


class TestTogether:
    def test_all_built_in_tests_are_one_query(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench.sql("CREATE TABLE @c AS SELECT 1 AS nr")
        tests = (
            "unique id",
            "unique name",
            "not_null id",
            "accepted_values name = a",
            "relationships id -> lake://main/@c.nr",
        )
        text = script("(1, 'a')", *tests)
        bench.run(text, partition=DAY)
        queries: list[int] = []

        def watched(rows: DataFrame, *given: Any) -> tuple[DataTestResult, ...]:
            before = executions(rows.sparkSession)
            results = run_data_tests(rows, *given)
            queries.append(executions(rows.sparkSession) - before)
            return results

        monkeypatch.setattr("tranche.lakes.execution.run_data_tests", watched)
        with bench.engine.attempt(bench.work(text, partition=DAY)) as trial:
            results = trial.stage().tests
        assert [result.violations for result in results] == [0] * 5
        assert queries == [1]

    def test_a_test_by_script_is_one_query(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench.tests["sane"] = "SELECT * FROM {slice} WHERE id = 1"
        queries: list[int] = []

        def watched(rows: DataFrame, *given: Any) -> tuple[DataTestResult, ...]:
            before = executions(rows.sparkSession)
            results = run_data_tests(rows, *given)
            # Making the temporary view is one of them, and reads nothing.
            queries.append(executions(rows.sparkSession) - before)
            return results

        monkeypatch.setattr("tranche.lakes.execution.run_data_tests", watched)
        assert found_by(bench, script("(1, 'a')", "sane")).violations == 1
        assert queries[0] <= 2

    def test_each_test_is_told_with_its_count(self, bench: Bench) -> None:
        bench.tests["sane"] = "SELECT * FROM {slice} WHERE id > 1"
        step, store = bench.ran(
            script(
                "(1, 'a'), (1, NULL), (2, 'c')", "unique id", "not_null name severity=warn", "sane"
            ),
            partition=DAY,
        )
        assert [(t.test, t.violations, t.status) for t in step.tests] == [
            ("unique id", 2, "failed"),
            ("not_null name", 1, "warned"),
            ("sane", 1, "failed"),
        ]
        assert step.record.status == "failed"
        assert (
            "2 data tests failed and nothing was published: unique id (2 rows), sane (1 row)"
            in (step.record.error or "")
        )
        asset = f"lake://main/{bench.schema}.t"
        (entry,) = store.materializations(asset, DAY, limit=5)
        kept = store.violations(entry.id)
        assert [(t.test, t.sample and len(t.sample.values)) for t in kept] == [
            ("unique id", 2),
            ("not_null name", 1),
            ("sane", 1),
        ]

    def test_a_warning_does_not_fail_the_step(self, bench: Bench) -> None:
        bench.tests["sane"] = "SELECT * FROM {slice}"
        step, _ = bench.ran(
            script("(1, NULL)", "not_null name severity=warn", "sane severity=warn").replace(
                "NULL", "CAST(NULL AS STRING)"
            ),
            partition=DAY,
        )
        assert step.record.status == "succeeded"
        assert [test.status for test in step.tests] == ["warned", "warned"]
        assert len(step.warnings) == 2
        assert rows(bench) == [(1, None)]

    def test_only_the_slice_is_tested(self, bench: Bench) -> None:
        bench.run(script("(1, 'a'), (1, 'a')"), partition=OTHER)
        step, _ = bench.ran(script("(1, 'b')", "unique id"), partition=DAY)
        assert step.record.status == "succeeded"
        assert rows(bench) == [(1, "a"), (1, "a"), (1, "b")]

    @pytest.mark.slow
    def test_an_appended_slice_is_tested_as_a_whole(self, bench: Bench) -> None:
        bench.run(script("(1, 'a')", made=" append"), partition=DAY)
        step, _ = bench.ran(script("(1, 'b')", "unique id", made=" append"), partition=DAY)
        assert [test.violations for test in step.tests] == [2]
        assert rows(bench) == [(1, "a")]

    def test_a_merged_slice_is_tested_as_a_whole(self, bench: Bench) -> None:
        bench.run(script("(1, 'a'), (2, 'b')", made=" key=id"), partition=DAY)
        step, _ = bench.ran(script("(3, 'a')", "unique name", made=" key=id"), partition=DAY)
        assert [test.violations for test in step.tests] == [2]
        step, _ = bench.ran(
            script("(1, 'c'), (3, 'a')", "unique name", made=" key=id"), partition=DAY
        )
        assert step.record.status == "succeeded"
        assert rows(bench) == [(1, "c"), (2, "b"), (3, "a")]

    def test_an_empty_slice_passes(self, bench: Bench) -> None:
        bench.tests["sane"] = "SELECT * FROM {slice}"
        text = script("(1, 'a')", "unique id", "not_null name", "sane") + " WHERE false"
        step, _ = bench.ran(text, partition=DAY)
        assert [test.status for test in step.tests] == ["passed"] * 3
        assert step.record.status == "succeeded"


MADE = {
    "replace": (script, ""),
    "merge": (script, " key=id"),
    "append": (script, " append"),
    "whole": (whole, ""),
    "whole merge": (whole, " key=id"),
    "whole append": (whole, " append"),
    "history": (whole, " key=id history"),
    "history at=partition": (script, " key=id history at=partition"),
}
LESS_USUAL = tuple(kind for kind in MADE if kind not in ("replace", "merge"))
KINDS = [pytest.param(kind, marks=pytest.mark.slow if kind in LESS_USUAL else ()) for kind in MADE]


@pytest.mark.parametrize("kind", KINDS)
class TestNothingIsSeenOfAFailure:
    """Readers keep what they had, whatever the strategy; mending the rows publishes them."""

    def request(self, kind: str) -> dict[str, str]:
        return {"partition": DAY} if MADE[kind][0] is script else {}

    def run(self, bench: Bench, kind: str, given: str, *tests: str, more: str = "") -> Any:
        make, made = MADE[kind]
        columns = "id, name, more" if more else "id, name"
        text = make(given, *tests, columns=columns, made=f"{made}{more}")
        return bench.ran(text, **self.request(kind))[0]

    @pytest.mark.sampled(2)
    def test_on_the_first_run(self, bench: Bench, kind: str) -> None:
        step = self.run(bench, kind, "(1, 'a'), (2, 'a')", "unique name")
        assert step.record.status == "failed"
        assert [test.violations for test in step.tests] == [2]
        assert bench.tables() == []
        step = self.run(bench, kind, "(1, 'a'), (2, 'b')", "unique name")
        assert step.record.status == "succeeded", step.record.error
        assert rows(bench) == [(1, "a"), (2, "b")]
        assert not [name for name in bench.tables() if "__tranche_" in name]

    def test_on_a_later_run(self, bench: Bench, kind: str) -> None:
        self.run(bench, kind, "(1, 'a')")
        before = bench.sql("SELECT * FROM @t")
        history = bench.sql("SELECT snapshot_id FROM @t.history")
        step = self.run(bench, kind, "(2, 'z'), (3, 'z')", "unique name")
        assert step.record.status == "failed"
        assert bench.sql("SELECT * FROM @t") == before
        assert bench.sql("SELECT snapshot_id FROM @t.history") == history
        step = self.run(bench, kind, "(2, 'y'), (3, 'z')", "unique name")
        assert step.record.status == "succeeded", step.record.error
        assert {(2, "y"), (3, "z")} <= set(rows(bench))

    @pytest.mark.sampled(2)
    def test_with_other_columns(self, bench: Bench, kind: str) -> None:
        self.run(bench, kind, "(1, 'a')")
        before, there = bench.sql("SELECT * FROM @t"), bench.tables()
        sync = " on_schema_change=sync"
        step = self.run(bench, kind, "(2, 'z', 1), (3, 'z', 2)", "unique name", more=sync)
        assert step.record.status == "failed", step.record.error
        assert bench.sql("SELECT * FROM @t") == before
        assert bench.tables() == there
        step = self.run(bench, kind, "(2, 'y', 1), (3, 'z', 2)", "unique name", more=sync)
        assert step.record.status == "succeeded", step.record.error
        assert {(2, "y", 1), (3, "z", 2)} <= set(rows(bench, "id, name, more"))
        assert not [name for name in bench.tables() if "__tranche_" in name]


class TestHistory:
    @pytest.mark.slow
    def test_only_current_rows_are_tested(self, bench: Bench) -> None:
        text = lambda given: whole(given, "unique name", made=" key=id history")  # noqa: E731
        _, store = bench.ran(text("(1, 'a'), (2, 'b')"))
        # Each name is there twice by now, in a version that has ended and in one that holds.
        step, _ = bench.ran(text("(1, 'b'), (2, 'a')"), store, fire_time=later(1))
        assert step.record.status == "succeeded", step.record.error
        step, _ = bench.ran(text("(1, 'b'), (2, 'b')"), store, fire_time=later(2))
        assert [test.violations for test in step.tests] == [2]
        assert len(rows(bench)) == 4


def later(hours: int) -> Any:
    from datetime import UTC, datetime

    return datetime(2026, 5, 16, 12 + hours, tzinfo=UTC)


class TestTestsThatCannotBeRun:
    """Each is told with its place, and nothing is written."""

    def staged(self, bench: Bench, text: str) -> None:
        with bench.engine.attempt(bench.work(text, partition=DAY)) as trial:
            trial.stage()

    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize(
        "kind",
        [
            "replace",
            "whole merge",
            pytest.param("history at=partition", marks=pytest.mark.slow),
        ],
    )
    def test_a_column_that_is_not_there(self, bench: Bench, kind: str, first: bool) -> None:
        make, made = MADE[kind]
        key = {"partition": DAY} if make is script else {}
        if not first:
            bench.run(make("(1, 'a')", made=made), **key)
        there = bench.tables()
        text = make("(2, 'b')", "unique id", "not_null nr", made=made)
        with (
            bench.engine.attempt(bench.work(text, **key)) as trial,
            pytest.raises(ColumnsRejected) as error,
        ):
            trial.stage()
        line = text.splitlines().index("-- data_test not_null nr") + 1
        assert str(error.value) == (
            f"pipelines/script.sql:{line}: the data test 'not_null nr' names the column nr, which"
            " is not there; the columns are id, name"
        )
        assert bench.tables() == there
        if not first:
            assert rows(bench) == [(1, "a")]
            assert len(bench.sql("SELECT snapshot_id FROM @t.snapshots")) == 1

    def test_a_relationship_to_nothing(self, bench: Bench) -> None:
        with pytest.raises(SourceMissing, match="c does not exist, and a data test of pipelines/"):
            self.staged(bench, script("(1, 'a')", "relationships id -> lake://main/@c.nr"))
        assert bench.tables() == []

    def test_a_relationship_to_no_column(self, bench: Bench) -> None:
        bench.sql("CREATE TABLE @c AS SELECT 1 AS nr")
        with pytest.raises(ColumnsRejected, match=r"names the column id.*the columns are nr"):
            self.staged(bench, script("(1, 'a')", "relationships id -> lake://main/@c.id"))
        assert bench.tables() == ["c"]

    @pytest.mark.parametrize(
        ("test", "error", "message"),
        [
            ("SELECT *\nFROM {slice}\nWHERE nr = 1", StatementFailed, r"^tests/sane.sql:3: .*`nr`"),
            (
                "-- why\nSELECT * FROM {slice}, @no",
                SourceMissing,
                r"^tests/sane.sql:2: lake://.*no ",
            ),
        ],
    )
    def test_a_script_that_spark_refuses(
        self, bench: Bench, test: str, error: type[Exception], message: str
    ) -> None:
        bench.tests["sane"] = test
        with pytest.raises(error) as raised:
            self.staged(bench, script("(1, 'a')", "sane"))
        assert re.search(message, str(raised.value))
        assert bench.tables() == []

    def test_a_column_that_only_the_table_has_is_there(self, bench: Bench) -> None:
        bench.run(script("(1, 'a', 1)", columns="id, name, more"), partition=OTHER)
        text = script("(1, 'a')", "not_null more", made=" on_schema_change=ignore")
        assert found_by(bench, text).violations == 1
