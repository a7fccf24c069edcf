"""Data tests by script: their files are found, read, checked, and read again when they change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tranche.model.project import Project
from tranche.model.statement import KeyHole, SliceHole, TableHole, Text
from tranche.projects.config import load_settings
from tranche.projects.load import load_project
from tranche.service import check

Make = Callable[[dict[str, str | bytes]], Path]
SCRIPT = "-- pipeline\n-- partitioned daily\n-- materialize lake://main/a\n{}SELECT 1 AS x\n"
LINE = "pipelines/a.sql:4: the data test 'tests/x' has faults; correct pipelines/tests/x.sql"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def _make(files: dict[str, str | bytes]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return _make


def load(root: Path) -> Project:
    return load_project(load_settings(root, None, {}))


def project(make: Make, test: str | bytes, *lines: str, more: str = "") -> Project:
    tests = "".join(f"-- data_test {line}\n" for line in lines or ("tests/x",))
    return load(
        make({"pipelines/a.sql": SCRIPT.format(tests + more), "pipelines/tests/x.sql": test})
    )


def faults(found: Project) -> list[str]:
    return [str(fault) for fault in found.faults]


def test_the_query_is_cut_at_its_holes(make: Make) -> None:
    found = project(
        make, "-- why\nSELECT * FROM {slice} JOIN b USING (x) WHERE d = '{partition}';\n"
    )
    assert faults(found) == []
    (query,) = found.scripts[0].violation_queries
    assert (query.name, query.path) == ("tests/x", "pipelines/tests/x.sql")
    assert query.statement.line == 2
    assert [type(part) for part in query.statement.parts] == [
        Text,
        SliceHole,
        Text,
        TableHole,
        Text,
        KeyHole,
    ]


@pytest.mark.parametrize("name", ["tests/x", "tests/x.sql", "pipelines/tests/x", "checks/y"])
def test_where_files_are_looked_for(make: Make, name: str) -> None:
    make({"checks/y.sql": "SELECT * FROM {slice}"})
    found = project(make, "SELECT * FROM {slice}", name)
    assert faults(found) == []
    (query,) = found.scripts[0].violation_queries
    assert query.name == name
    assert found.scripts[0].violation_query(name) == query


@pytest.mark.parametrize(
    ("test", "complaint"),
    [
        (
            "SELECT *\nFROM {slice}\nWHERE (x",
            "pipelines/tests/x.sql:3: the statement does not parse at 'x': Expecting ); correct the SQL",
        ),
        (
            "SELECT 'x",
            "pipelines/tests/x.sql:1: a quote is not closed; close it, or remove what stands there",
        ),
        (
            "-- nothing yet",
            "pipelines/tests/x.sql:1: the data test holds no statement; write one SELECT of the"
            " violating rows, as in SELECT * FROM {slice} WHERE …",
        ),
        (
            "SELECT 1;\nSELECT * FROM {slice}",
            "pipelines/tests/x.sql:2: the data test holds 2 statements; write one SELECT of the"
            " violating rows, as in SELECT * FROM {slice} WHERE …",
        ),
        (
            "DELETE FROM {slice}",
            "pipelines/tests/x.sql:1: the data test is DELETE FROM, not a SELECT; write one SELECT"
            " of the violating rows, as in SELECT * FROM {slice} WHERE …",
        ),
        (
            "SELECT * FROM {slice}\nWHERE x = '{slice}'",
            "pipelines/tests/x.sql:2: {slice} stands in quotes; it is no text, but rows",
        ),
        (
            "SELECT * FROM {slice} WHERE x > $most",
            "pipelines/tests/x.sql:1: $most is not declared; add the line $most (<type>) at the top"
            " of pipelines/a.sql",
        ),
        (
            "SELECT * FROM {slice} JOIN cold.b.c USING (x)",
            "pipelines/tests/x.sql:1: unknown lake 'cold'; the lakes are main; a table of the"
            " default lake is main.cold.b.c",
        ),
        (
            b"SELECT * FROM {slice} -- caf\xe9",
            "pipelines/tests/x.sql:1: no UTF-8 text; save it as UTF-8",
        ),
    ],
)
def test_faults_are_located_in_the_file_and_at_the_line(
    make: Make, test: str | bytes, complaint: str
) -> None:
    found = project(make, test)
    assert faults(found) == [LINE, complaint]
    assert "a" in found.broken
    assert found.scripts == ()


def test_a_test_that_is_nested_too_deeply(make: Make) -> None:
    found = project(make, f"SELECT {'(' * 3000}1{')' * 3000} FROM {{slice}}")
    assert faults(found)[1].startswith("pipelines/tests/x.sql: it is nested too deeply")


def test_the_key_in_a_test_of_a_script_without_partitions(make: Make) -> None:
    test = "SELECT * FROM {slice} WHERE d = '{partition}'"
    root = make(
        {
            "pipelines/a.sql": SCRIPT.format("-- data_test tests/x\n"),
            "pipelines/w.sql": SCRIPT.format("-- data_test tests/x\n")
            .replace("-- partitioned daily\n", "")
            .replace("main/a", "main/w"),
            "pipelines/tests/x.sql": test,
        }
    )
    found = load(root)
    assert faults(found) == [
        "pipelines/tests/x.sql:1: '{partition}' in a test of pipelines/w.sql, without partitions;"
        " add a partitioned line, as in partitioned daily",
        "pipelines/w.sql:3: the data test 'tests/x' has faults; correct pipelines/tests/x.sql",
    ]
    assert [script.name for script in found.scripts] == ["a"]


def test_arguments_of_the_script_can_be_used(make: Make) -> None:
    found = project(make, "SELECT * FROM {slice} WHERE x > $most", more="-- $most (int) = 3\n")
    assert faults(found) == []


def test_a_pipeline_script_is_no_test(make: Make) -> None:
    root = make(
        {
            "pipelines/a.sql": SCRIPT.format("-- data_test b\n"),
            "pipelines/b.sql": SCRIPT.format("").replace("main/a", "main/b"),
        }
    )
    found = load(root)
    assert faults(found) == [
        "pipelines/a.sql:4: 'b' is a pipeline script, and a data test is one SELECT by itself; name"
        " another file, or take the pipeline line out of that one"
    ]
    assert [script.name for script in found.scripts] == ["b"]


def test_a_test_that_does_not_look_at_the_slice_is_warned_of(make: Make) -> None:
    found = project(make, "\nSELECT * FROM a WHERE x < 0", "tests/x", "tests/x severity=warn")
    assert faults(found) == []
    assert check(found).warnings == (
        "pipelines/tests/x.sql:2: the data test does not look at {slice}, so that it says nothing"
        " about the rows which are about to be published",
    )


def test_a_slice_in_a_script_is_a_fault(make: Make) -> None:
    found = load(make({"pipelines/a.sql": "-- pipeline\nSELECT * FROM {slice}"}))
    assert faults(found) == [
        "pipelines/a.sql:2: {slice} stands for the rows under test, and this is no data test; name"
        " a table"
    ]


def test_a_changed_test_is_read_again_and_defines_no_rows(make: Make) -> None:
    before = project(make, "SELECT * FROM {slice} WHERE x < 0").scripts[0]
    after = project(make, "SELECT * FROM {slice} WHERE x < 1").scripts[0]
    assert before.violation_queries != after.violation_queries
    assert before.fingerprint == after.fingerprint


def test_a_test_is_parsed_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    first = project(make, "SELECT * FROM {slice} WHERE x < 0")

    def forbidden(*_: object) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr("tranche.script.violations.read_violation_query", forbidden)
    assert project(make, "SELECT * FROM {slice} WHERE x < 0") == first


def test_another_header_means_another_reading(make: Make) -> None:
    text = "SELECT * FROM {slice} WHERE x > $most"
    assert faults(project(make, text))
    assert faults(project(make, text, more="-- $most (int) = 3\n")) == []


def test_the_script_that_was_asked_for_says_why_it_cannot_run(make: Make) -> None:
    from datetime import UTC, datetime

    from tranche.errors import ScriptFaults
    from tranche.model.plan import Request
    from tranche.planning.plan import build_plan
    from tranche.testing import MemoryStore

    found = project(make, "SELECT FROM WHERE")
    with pytest.raises(ScriptFaults, match="the data test 'tests/x' has faults"):
        build_plan(
            found, Request(target="a", fire_time=datetime(2026, 5, 16, tzinfo=UTC)), MemoryStore()
        )
