"""Replace: the slice, or the table, becomes exactly what the SELECT returned."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from tranche.errors import ColumnsRejected

if TYPE_CHECKING:
    from .conftest import Bench

SOURCE = "CREATE TABLE @src (id BIGINT, name STRING, day DATE) USING iceberg"
DAILY = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@t
SELECT id, name FROM @src WHERE day = '{partition}'
"""

_OWN = (
    "SELECT CAST(snapshot_id AS STRING) AS id, committed_at AS at FROM @t.snapshots"
    " WHERE summary['tranche.attempt'] = '{}'"
)


def fill(bench: Bench, rows: str) -> None:
    if not bench.sql("SHOW TABLES IN main.`" + bench.schema + "` LIKE 'src'"):
        bench.sql(SOURCE)
    bench.sql(f"INSERT OVERWRITE @src VALUES {rows}")


def table(bench: Bench) -> list[tuple[Any, ...]]:
    rows = bench.sql("SELECT * FROM @t ORDER BY _tranche_partition, id")
    return [tuple(row.values()) for row in rows]


class TestPartition:
    def test_each_slice_is_written_beside_the_others(self, bench: Bench) -> None:
        fill(
            bench,
            "(1, 'a', DATE'2026-05-15'), (2, NULL, DATE'2026-05-16'), (3, 'c', DATE'2026-05-16')",
        )
        first = bench.run(DAILY, partition="2026-05-15")
        second = bench.run(DAILY, partition="2026-05-16")
        assert (first.rows, second.rows) == (1, 2)
        assert table(bench) == [
            (1, "a", "2026-05-15"),
            (2, None, "2026-05-16"),
            (3, "c", "2026-05-16"),
        ]

    def test_a_second_run_gives_the_same_rows_and_digest(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15'), (2, 'b', DATE'2026-05-15')")
        first = bench.run(DAILY, partition="2026-05-15")
        before = table(bench)
        second = bench.run(DAILY, partition="2026-05-15")
        assert table(bench) == before
        assert first.digest == second.digest
        assert first.snapshot != second.snapshot

    def test_its_snapshot_is_its_own_whoever_else_writes(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15'), (2, 'b', DATE'2026-05-16')")
        bench.run(DAILY, partition="2026-05-15")
        with bench.engine.attempt(bench.work(DAILY, "late", partition="2026-05-15")) as trial:
            trial.stage()
            bench.run(DAILY, partition="2026-05-16")
            beside = trial.publish()
        alone = bench.run(DAILY, "alone", partition="2026-05-15")
        for name, written in (("late", beside), ("alone", alone)):
            (own,) = bench.sql(_OWN.format(name))
            assert written.committed_at is not None
            assert written.snapshot == own["id"]
            assert written.committed_at == datetime.fromisoformat(own["at"])

    def test_rows_that_left_the_slice_are_gone_and_other_slices_stay(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15'), (2, 'b', DATE'2026-05-16')")
        bench.run(DAILY, partition="2026-05-15")
        bench.run(DAILY, partition="2026-05-16")
        fill(bench, "(9, 'z', DATE'2026-05-15')")
        bench.run(DAILY, partition="2026-05-15")
        assert table(bench) == [(9, "z", "2026-05-15"), (2, "b", "2026-05-16")]

    def test_an_empty_result_empties_the_slice(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15'), (2, 'b', DATE'2026-05-16')")
        bench.run(DAILY, partition="2026-05-15")
        bench.run(DAILY, partition="2026-05-16")
        fill(bench, "(2, 'b', DATE'2026-05-16')")
        written = bench.run(DAILY, partition="2026-05-15")
        assert (written.rows, written.digest) == (0, "0-0")
        assert table(bench) == [(2, "b", "2026-05-16")]

    def test_an_empty_first_slice_makes_the_table(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15')")
        bench.run(DAILY, partition="2026-01-01")
        assert table(bench) == []

    def test_columns_are_written_by_name(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15')")
        bench.run(DAILY, partition="2026-05-15")
        turned = DAILY.replace("SELECT id, name", "SELECT name, id")
        bench.run(turned, partition="2026-05-15")
        assert table(bench) == [(1, "a", "2026-05-15")]

    @pytest.mark.parametrize(
        ("columns", "complaint"),
        [
            ("id, name, 1 AS extra", "the SELECT adds extra, compared with"),
            ("id", "the SELECT lacks name, compared with"),
            ("id, name AS nom", "the SELECT adds nom and lacks name"),
        ],
    )
    def test_other_columns_are_rejected_and_nothing_changes(
        self, bench: Bench, columns: str, complaint: str
    ) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15')")
        bench.run(DAILY, partition="2026-05-15")
        before = bench.sql("SELECT count(*) AS n FROM @t.snapshots")
        with pytest.raises(ColumnsRejected, match=complaint):
            bench.run(DAILY.replace("id, name", columns), partition="2026-05-15")
        assert bench.sql("SELECT count(*) AS n FROM @t.snapshots") == before

    @pytest.mark.parametrize(
        ("select", "complaint"),
        [
            ("SELECT *, 'x' AS y FROM @t", "projects _tranche_partition"),
            ("SELECT 1 AS a, 2 AS A", "two columns called a"),
            ("SELECT NULL AS a", "NULL without a type for a"),
        ],
    )
    def test_what_no_table_can_hold_is_rejected(
        self, bench: Bench, select: str, complaint: str
    ) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15')")
        bench.run(DAILY, partition="2026-05-15")
        script = f"-- pipeline\n-- partitioned daily\n-- materialize lake://main/@u\n{select}"
        with pytest.raises(ColumnsRejected, match=complaint):
            bench.run(script, partition="2026-05-15")
        assert bench.sql(f"SHOW TABLES IN main.`{bench.schema}` LIKE 'u'") == []

    @pytest.mark.sampled(2)
    @pytest.mark.parametrize(
        ("first", "later", "fits"),
        [
            ("INT", "BIGINT", False),
            ("BIGINT", "INT", True),
            ("INT", "DOUBLE", False),
            ("DOUBLE", "FLOAT", True),
            ("DECIMAL(10,2)", "DECIMAL(8,2)", True),
            ("DECIMAL(10,2)", "DECIMAL(10,3)", False),
            ("STRING", "INT", False),
            ("DATE", "TIMESTAMP", False),
        ],
    )
    def test_only_types_that_lose_nothing_are_taken(
        self, bench: Bench, first: str, later: str, fits: bool
    ) -> None:
        script = (
            "-- pipeline\n-- partitioned daily\n-- materialize lake://main/@t\n"
            "SELECT CAST(NULL AS {type}) AS x"
        )
        bench.run(script.format(type=first), partition="2026-05-15")
        if fits:
            bench.run(script.format(type=later), partition="2026-05-16")
            assert len(bench.sql("SELECT * FROM @t")) == 2
        else:
            with pytest.raises(ColumnsRejected, match="the SELECT gives x as"):
                bench.run(script.format(type=later), partition="2026-05-16")
            assert len(bench.sql("SELECT * FROM @t")) == 1

    def test_a_table_without_slices_is_not_sliced(self, bench: Bench) -> None:
        bench.sql("CREATE TABLE @t (id BIGINT, name STRING) USING iceberg")
        fill(bench, "(1, 'a', DATE'2026-05-15')")
        with pytest.raises(ColumnsRejected, match="was written without partitions"):
            bench.run(DAILY, partition="2026-05-15")

    def test_the_table_is_partitioned_by_the_managed_column_which_comes_last(
        self, bench: Bench
    ) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15')")
        bench.run(DAILY, partition="2026-05-15")
        columns = [row["col_name"] for row in bench.sql("DESCRIBE @t")]
        assert columns[:3] == ["id", "name", "_tranche_partition"]
        assert columns.count("_tranche_partition") == 2  # as a column, and as a partition field

    def test_a_commit_says_which_attempt_made_it(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15')")
        for attempt in ("first", "second"):
            written = bench.run(DAILY, attempt=attempt, partition="2026-05-15")
            (found,) = bench.sql(
                "SELECT CAST(snapshot_id AS STRING) AS id, summary['tranche.partition'] AS key"
                f" FROM @t.snapshots WHERE summary['tranche.attempt'] = '{attempt}'"
            )
            assert found == {"id": written.snapshot, "key": "2026-05-15"}

    def test_writers_of_different_slices_do_not_disturb_each_other(self, bench: Bench) -> None:
        days = [f"2026-05-{day:02}" for day in range(1, 9)]
        fill(bench, ", ".join(f"({n}, 'a', DATE'{day}')" for n, day in enumerate(days)))
        with ThreadPoolExecutor(8) as pool:
            written = list(pool.map(lambda d: bench.run(DAILY, attempt=d, partition=d), days))
        assert table(bench) == [(n, "a", day) for n, day in enumerate(days)]
        commits = bench.sql(
            "SELECT CAST(snapshot_id AS STRING) AS id, summary['tranche.partition'] AS key"
            " FROM @t.snapshots"
        )
        assert {c["key"]: c["id"] for c in commits} == {
            day: found.snapshot for day, found in zip(days, written, strict=True)
        }


WHOLE = """\
-- pipeline
-- materialize lake://main/@t
SELECT id, name FROM @src
"""


class TestWholeTable:
    def test_the_table_becomes_the_rows(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15'), (2, 'b', DATE'2026-05-16')")
        assert bench.run(WHOLE).rows == 2
        fill(bench, "(3, 'c', DATE'2026-05-15')")
        assert bench.run(WHOLE).rows == 1
        assert bench.sql("SELECT * FROM @t") == [{"id": 3, "name": "c"}]

    def test_columns_may_change_between_runs(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15')")
        bench.run(WHOLE)
        bench.run(WHOLE.replace("id, name", "day, id AS number"))
        assert bench.sql("SELECT * FROM @t") == [{"day": "2026-05-15", "number": 1}]

    def test_while_columns_stay_the_same_so_does_the_ancestry(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15')")
        first = bench.run(WHOLE, attempt="first")
        bench.run(WHOLE, attempt="second")
        found = bench.sql(
            "SELECT CAST(parent_id AS STRING) AS parent FROM @t.snapshots"
            " WHERE summary['tranche.attempt'] = 'second'"
        )
        assert found == [{"parent": first.snapshot}]

    def test_an_empty_result_empties_the_table(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15')")
        bench.run(WHOLE)
        bench.run(WHOLE + " WHERE id > 100")
        assert bench.sql("SELECT * FROM @t") == []

    def test_a_sliced_table_is_not_replaced_as_a_whole(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15')")
        bench.run(DAILY, partition="2026-05-15")
        with pytest.raises(ColumnsRejected, match="was written with partitions"):
            bench.run(WHOLE)
        assert len(table(bench)) == 1

    def test_a_commit_that_changes_columns_says_which_attempt_made_it(self, bench: Bench) -> None:
        fill(bench, "(1, 'a', DATE'2026-05-15')")
        bench.run(WHOLE, attempt="first")
        written = bench.run(WHOLE.replace("id, name", "id"), attempt="second")
        assert written.snapshot is not None
        assert written.rows == 1

    def test_a_script_may_read_the_table_that_it_replaces(self, bench: Bench) -> None:
        bench.sql("CREATE TABLE @t (n BIGINT) USING iceberg")
        bench.sql("INSERT INTO @t VALUES (1)")
        script = "-- pipeline\n-- materialize lake://main/@t\nSELECT n + 1 AS n FROM @t"
        bench.run(script)
        bench.run(script)
        assert bench.sql("SELECT * FROM @t") == [{"n": 3}]
