"""Columns that a script reads and their script does not make any more."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from tranche.model.columns import SchemaVersion
from tranche.planning.column_drift import dropped_columns, reads_of_others
from tranche.ports import PartitionReader

from .conftest import project_of

if TYPE_CHECKING:
    from collections.abc import Sequence

ORDERS = "lake://main/orders"


@dataclass
class Captured:
    """Stands in for a store: the columns that were captured, latest first."""

    versions: dict[str, list[str]] = field(default_factory=dict)

    def schemas(self, asset: str, *, limit: int) -> Sequence[SchemaVersion]:
        found = self.versions.get(asset, [])
        return tuple(
            SchemaVersion(
                asset=asset,
                version=len(found) - number,
                columns=tuple((name, "int") for name in columns.split()),
                run="r",
                at=datetime(2026, 5, 16, tzinfo=UTC),
            )
            for number, columns in enumerate(found[:limit])
        )


def warned(
    select: str, made: str, *versions: str, how: str = "materialize lake://main/orders"
) -> tuple[str, ...]:
    """What is said about a script that reads a table, whose script and columns are given."""
    project = project_of({"orders": f"{how} :: {made}", "report": f" :: {select}"})
    state: Any = Captured({ORDERS: list(versions)})
    assert reads_of_others(project)
    return dropped_columns(project, cast(PartitionReader, state))


def test_a_column_that_was_dropped() -> None:
    expected = (
        "pipelines/report.sql:2: reads status of lake://main/orders, which pipelines/orders.sql"
        " no longer makes; correct one of the two",
    )
    # The text of the script tells, whether it has run since or not.
    assert warned("SELECT id, Status FROM orders", "SELECT 1 AS id", "id status")[0].startswith(
        "pipelines/report.sql:2: reads Status of"
    )
    assert warned("SELECT status FROM orders", "SELECT 1 AS id", "id", "id status") == expected
    # It does not, but the last run does.
    assert warned("SELECT status FROM orders", "SELECT * FROM x", "id", "id status") == expected
    assert warned(
        "SELECT status, status + 1 AS n FROM orders", "SELECT * FROM x", "id", "status"
    ) == (expected)


def test_no_warning_without_a_reason() -> None:
    made = "SELECT * FROM x"
    assert warned("SELECT status FROM orders", made, "id status") == ()
    assert warned("SELECT STATUS FROM orders", made, "id status", "id") == ()
    # Made again by a script that has not run yet.
    assert warned("SELECT status FROM orders", "SELECT 1 AS status", "id", "status") == ()
    # Never seen: it may come from elsewhere, or the script has never run.
    assert warned("SELECT status FROM orders", made, "id") == ()
    assert warned("SELECT status FROM orders", "SELECT 1 AS id") == ()
    # Columns that are Tranche's.
    history = "materialize lake://main/orders key=id history"
    select = "SELECT id, valid_from, _tranche_partition FROM orders"
    assert warned(select, made, "id", "valid_from _tranche_partition", how=history) == ()


def test_the_current_rows_of_a_history_have_its_columns() -> None:
    history = "materialize lake://main/orders key=id history"
    (warning,) = warned(
        "SELECT status FROM orders_current", "SELECT 1 AS id", "id status", how=history
    )
    assert "reads status of lake://main/orders_current, which" in warning


def test_sources_and_manual_tables_are_not_asked_about() -> None:
    project = project_of(
        {
            "m": "materialize manual lake://main/m :: CREATE TABLE m (a INT)",
            "self": "materialize lake://main/s key=a :: SELECT a FROM s",
            "report": " :: SELECT m.a, x.b FROM m JOIN x ON m.a = x.b",
        }
    )
    assert not reads_of_others(project)
