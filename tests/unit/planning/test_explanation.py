"""What a step would do, told without doing it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tranche.errors import KeyRejected, UsageError
from tranche.model.asset import LakeTable
from tranche.model.explanation import Explanation, FilesView
from tranche.model.plan import InputKey, Request
from tranche.planning.explanation import explain_step

from .conftest import NOON, KnownState, project_of


def explained(texts: dict[str, str], target: str, **request: Any) -> Explanation:
    asked = Request(**{"target": target, "fire_time": NOON, **request})
    return explain_step(project_of(texts), asked, KnownState())  # type: ignore[arg-type]


def test_statements_as_spark_gets_them() -> None:
    found = explained(
        {
            "a": "partitioned daily; materialize lake://main/a",
            "b": "partitioned daily; on lake://main/a; materialize lake://main/b; $top (int) = 3"
            " :: CREATE TEMPORARY VIEW v AS SELECT * FROM a WHERE d = '{partition}';"
            "\nSELECT x FROM v JOIN read_csv('in/' || '{partition}', header => 'true') LIMIT $top",
            "c": "partitioned daily; on lake://main/b; materialize lake://main/c :: SELECT * FROM b",
        },
        "b",
        partition="2026-05-01",
    )
    assert found.step.script.name == "b"
    assert (found.step.partition, found.key_from) == ("2026-05-01", "given")
    assert [(str(each.asset), each.partition) for each in found.step.inputs] == [
        ("lake://main/a", "2026-05-01"),
        ("file:in/{partition}", None),
    ]
    view, select = found.statements
    assert (view.kind, view.text, view.parameters) == (
        "setup",
        "CREATE TEMPORARY VIEW v AS SELECT * FROM `main`.`default`.`a` WHERE d = :_tranche_key",
        (("_tranche_key", "2026-05-01"),),
    )
    assert (select.kind, select.text, select.parameters) == (
        "select",
        "SELECT x FROM v JOIN _tranche_files_0 LIMIT CAST(:_tranche_argument_top AS INT)",
        (("_tranche_argument_top", "3"),),
    )
    assert select.files == (
        FilesView("_tranche_files_0", "csv", "in/2026-05-01", (("header", "true"),)),
    )
    assert found.scans is None


def test_the_key_and_where_it_comes_from() -> None:
    day = {"a": 'partitioned daily tz="Pacific/Auckland"; materialize lake://main/a'}
    late = datetime(2026, 5, 16, 23, tzinfo=UTC)
    found = explained(day, "a", fire_time=late)
    assert (found.step.partition, found.key_from) == ("2026-05-17", "time")
    tenant = {"a": 'partitioned dynamic key="$.id"; materialize lake://main/a; $id (string) = x'}
    assert explained(tenant, "a", payload={"id": "t"}).key_from == "payload"
    by_argument = explained(tenant, "a", arguments={"id": "t"})
    assert (by_argument.step.partition, by_argument.key_from) == ("t", "arguments")
    whole = explained({"a": "materialize lake://main/a"}, "lake://main/a")
    assert (whole.step.partition, whole.key_from) == (None, None)


def test_what_would_not_run_has_no_statements() -> None:
    found = explained({"a": 'partitioned daily start="2027-01-01"; materialize lake://main/a'}, "a")
    assert (found.step.verdict, found.statements, found.warnings) == ("skip", (), ())
    assert "it starts at 2027-01-01" in str(found.step.reason)


def test_the_current_rows_of_a_history_are_read_from_it() -> None:
    texts = {
        "h": "materialize lake://main/h key=a history",
        "b": "materialize lake://main/b :: SELECT main.h_current.a FROM main.h_current",
        "m": "materialize manual lake://main/m :: SELECT * FROM h_current",
    }
    (select,) = explained(texts, "b").statements
    assert select.text == (
        "SELECT `h_current`.a FROM (SELECT * FROM `main`.`default`.`h` WHERE is_current)"
        " AS `h_current`"
    )
    (manual,) = explained(texts, "m").statements
    assert manual.text == "SELECT * FROM `main`.`default`.`h_current`"
    assert explained(texts, "b").step.inputs == (InputKey(LakeTable("main", "h"), None),)


@pytest.mark.parametrize("target", [".", "+a", "folder"])
def test_one_step_at_a_time(target: str) -> None:
    texts = {"a": "", "folder/b": "", "folder/c": ""}
    with pytest.raises(UsageError, match="one is explained at a time"):
        explained(texts, target)


def test_what_a_run_would_reject_is_rejected() -> None:
    day = {
        "a": "partitioned daily; materialize lake://main/a :: SELECT * FROM read_json('{partition}')"
    }
    with pytest.raises(KeyRejected):
        explained(day, "a", partition="today")
    tenant = {
        "a": 'partitioned dynamic key="$.id"; materialize lake://main/a'
        " :: SELECT * FROM read_json('in/' || '{partition}')"
    }
    with pytest.raises(KeyRejected, match="cannot be part of a path"):
        explained(tenant, "a", partition="../x")
