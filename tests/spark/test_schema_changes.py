"""A SELECT whose columns are not those of its table: what each policy does about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tranche.errors import ColumnsRejected

if TYPE_CHECKING:
    from .conftest import Bench

DAY, OTHER = "2026-05-15", "2026-05-16"
KINDS = {
    "replace": ("-- partitioned daily\n", ""),
    "merge": ("-- partitioned daily\n", " key=id"),
    "append": ("-- partitioned daily\n", " append"),
    "whole merge": ("", " key=id"),
    "whole append": ("", " append"),
}
"""Tables whose other rows stay; a whole table that is replaced has none."""


class Table:
    """A table of one kind that has columns `id int, name string` and a row in it."""

    def __init__(self, bench: Bench, kind: tuple[str, str]) -> None:
        self.bench = bench
        self.partitioned, self.made = kind
        self.put("1 AS id, 'a' AS name", day=OTHER)
        self.before = self.seen()

    def put(self, columns: str, policy: str = "", *, day: str = DAY, tests: str = "") -> Any:
        """The warnings, and what was written."""
        option = f" on_schema_change={policy}" if policy else ""
        text = (
            f"-- pipeline\n{self.partitioned}-- materialize lake://main/@t{self.made}{option}\n"
            f"{tests}SELECT {columns}"
        )
        key = {"partition": day} if self.partitioned else {}
        staged, written = self.bench.tried(text, **key)
        return staged.warnings, written

    def seen(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
        """Everything that readers could notice."""
        return (
            self.bench.sql("SELECT * FROM @t"),
            self.bench.sql("SELECT snapshot_id FROM @t.history"),
            self.bench.sql("DESCRIBE TABLE @t"),
        )

    def types(self) -> dict[str, str]:
        found = self.bench.sql("DESCRIBE TABLE @t")
        return {row["col_name"]: row["data_type"] for row in found if row["data_type"]}

    def rows(self, columns: str) -> list[tuple[Any, ...]]:
        found = self.bench.sql(f"SELECT {columns} FROM @t")
        return sorted((tuple(row.values()) for row in found), key=repr)


@pytest.fixture(params=KINDS)
def table(bench: Bench, request: pytest.FixtureRequest) -> Table:
    return Table(bench, KINDS[request.param])


@pytest.fixture
def whole(bench: Bench) -> Table:
    return Table(bench, ("", ""))


WITHOUT_NAME = "2 AS id, 1.5D AS extra"


def test_fail_is_the_rule_and_names_the_columns(table: Table) -> None:
    for policy in ("", "fail"):
        with pytest.raises(
            ColumnsRejected, match=r"the SELECT adds extra and lacks name, compared with lake://"
        ):
            table.put(WITHOUT_NAME, policy)
    with pytest.raises(ColumnsRejected, match=r"the SELECT adds extra, compared"):
        table.put("2 AS id, 'b' AS name, 1.5D AS extra")
    with pytest.raises(ColumnsRejected, match=r"the SELECT lacks name, compared"):
        table.put("2 AS id", tests="-- data_test unique id\n")
    assert table.seen() == table.before


@pytest.mark.slow
def test_the_order_of_columns_does_not_matter(table: Table) -> None:
    _, written = table.put("'b' AS NAME, 2 AS id")
    assert table.rows("id, name") == [(1, "a"), (2, "b")]
    assert written.columns == (("id", "int"), ("name", "string"))


@pytest.mark.parametrize(
    "tests", ["", pytest.param("-- data_test unique id\n", marks=pytest.mark.slow)]
)
def test_sync_adds_columns(table: Table, tests: str) -> None:
    warnings, written = table.put("2 AS id, 'b' AS name, 1.5D AS extra", "sync", tests=tests)
    assert table.rows("id, name, extra") == [(1, "a", None), (2, "b", 1.5)]
    assert written.columns == (("id", "int"), ("name", "string"), ("extra", "double"))
    assert written.rows == (1 if table.partitioned else 2)
    assert "extra are added to the table" in " ".join(warnings)


@pytest.mark.slow
def test_sync_keeps_columns_that_the_select_lacks(table: Table) -> None:
    warnings, written = table.put("2 AS id", "sync")
    assert table.rows("id, name") == [(1, "a"), (2, None)]
    assert "name stay and are NULL in this slice" in " ".join(warnings)
    assert written.columns == (("id", "int"), ("name", "string"))


@pytest.mark.slow
@pytest.mark.parametrize("tests", ["", "-- data_test unique id\n"])
def test_sync_widens_types(table: Table, tests: str) -> None:
    _, written = table.put("CAST(3000000000 AS BIGINT) AS id, 'b' AS name", "sync", tests=tests)
    assert table.types()["id"] == "bigint"
    assert table.rows("id, name") == [(1, "a"), (3000000000, "b")]
    assert dict(written.columns)["id"] == "bigint"


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["warn", "ignore"])
def test_warn_and_ignore_leave_the_table_as_it_is(table: Table, policy: str) -> None:
    warnings, written = table.put(WITHOUT_NAME, policy)
    assert table.rows("*")[-1][:2] == (2, None)
    assert "extra" not in table.types()
    assert written.columns == (("id", "int"), ("name", "string"))
    if policy == "ignore":
        assert warnings == ()
    else:
        (warning,) = warnings
        assert "extra are left out; name stay and are NULL in this slice" in warning


@pytest.mark.slow
def test_a_type_that_cannot_change(table: Table) -> None:
    complaint = r"the SELECT gives name as int, the table has string; cast in the"
    for policy in ("", "sync", "warn", "ignore"):
        with pytest.raises(ColumnsRejected, match=complaint):
            table.put("2 AS id, 7 AS name", policy)
    assert table.seen() == table.before


@pytest.mark.slow
def test_narrower_types_fit_whatever_the_policy(table: Table) -> None:
    _, written = table.put("CAST(2 AS SMALLINT) AS id, 'b' AS name")
    assert table.types()["id"] == "int"
    assert written.columns == (("id", "int"), ("name", "string"))


@pytest.mark.slow
class TestAWholeTableThatIsReplaced:
    """Every row is written anew, so that its columns may be others."""

    @pytest.mark.parametrize("tests", ["", "-- data_test unique id\n"])
    @pytest.mark.parametrize("policy", ["", "sync"])
    def test_sync_is_the_rule(self, whole: Table, policy: str, tests: str) -> None:
        warnings, written = whole.put("'x' AS extra, '2' AS id", policy, tests=tests)
        assert whole.rows("*") == [("x", "2")]
        assert written.columns == (("extra", "string"), ("id", "string"))
        assert whole.types() == {"extra": "string", "id": "string"}
        assert warnings == ()

    def test_warn_says_what_changed(self, whole: Table) -> None:
        (warning,), _ = whole.put("'x' AS extra, '2' AS id", "warn")
        assert warning.endswith("the SELECT adds extra, drops name, changes id from int to string")
        assert whole.rows("*") == [("x", "2")]

    @pytest.mark.parametrize(
        ("columns", "complaint"),
        [
            (WITHOUT_NAME, "adds extra and lacks name"),
            ("'2' AS id, 'a' AS name", "changes id from int to string"),
            ("'a' AS name, 2 AS id", "orders the columns anew"),
        ],
    )
    def test_fail(self, whole: Table, columns: str, complaint: str) -> None:
        with pytest.raises(ColumnsRejected, match=f"the SELECT {complaint}, compared with"):
            whole.put(columns, "fail")
        assert whole.seen() == whole.before

    def test_ignore_keeps_the_tables_columns(self, whole: Table) -> None:
        warnings, written = whole.put(WITHOUT_NAME, "ignore")
        assert whole.rows("*") == [(2, None)]
        assert written.columns == (("id", "int"), ("name", "string"))
        assert warnings == ()

    def test_a_failing_test_leaves_the_columns(self, whole: Table, bench: Bench) -> None:
        text = "-- pipeline\n-- materialize lake://main/@t\n-- data_test not_null extra\n"
        step, _ = bench.ran(f"{text}SELECT CAST(NULL AS STRING) AS extra")
        assert step.record.status == "failed"
        assert whole.seen() == whole.before


def test_versions_of_columns_are_recorded_when_they_change(bench: Bench) -> None:
    made: Callable[[str], str] = lambda columns: (  # noqa: E731
        f"-- pipeline\n-- materialize lake://main/@t\nSELECT {columns}"
    )
    _, store = bench.ran(made("1 AS a, 'x' AS b"))
    bench.ran(made("2 AS a, 'y' AS b"), store)
    bench.ran(made("2 AS a, 1.5D AS c"), store)
    found = store.schemas(f"lake://main/{bench.schema}.t", limit=9)
    assert [version.columns for version in found] == [
        (("a", "int"), ("c", "double")),
        (("a", "int"), ("b", "string")),
    ]
