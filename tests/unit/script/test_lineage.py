"""The lineage of scripts: what is kept, what is located, and what is no SELECT."""

from __future__ import annotations

import pytest
from lineage_cases import HEADER, LAKES, columns, lineage_of, script_of

from tranche.model.asset import AssetUri
from tranche.model.columns import Columns
from tranche.model.lineage import Passed, ScriptLineage, Unknown
from tranche.script.lineage import Lineages, script_lineage
from tranche.script.lineage.types import columns_of_schema
from tranche.script.python import read_python_script

T = {"t": columns("k, a, b")}


def nothing_known(asset: AssetUri) -> Columns | None:
    return None


def test_what_is_unknown_has_its_line() -> None:
    found = lineage_of("SELECT a,\n       missing\nFROM t\nWHERE gone = 1", T)
    first = HEADER.count("\n") + 1
    [column] = [column for column in found.columns if column.column == "missing"]
    assert column.unknown == (Unknown("nothing that is read has a column missing", first + 1),)
    assert found.unknown == (Unknown("nothing that is read has a column gone", first + 3),)
    assert not found.complete


def test_lines_of_views_are_their_own() -> None:
    text = "CREATE TEMP VIEW v AS\nSELECT missing FROM t;\n\nSELECT missing FROM v"
    [column] = lineage_of(text, T).columns
    assert [each.line for each in column.unknown] == [HEADER.count("\n") + 2]


def test_what_a_star_passes_on() -> None:
    found = lineage_of("SELECT * EXCEPT (secret), a + 1 AS b FROM raw", {})
    [passed] = found.passed
    assert passed == Passed(passed.asset, frozenset({"secret"}))
    assert str(passed.asset) == "lake://main/raw"
    other = found.of("other")
    assert other is not None and str(other.direct[0].source) == "lake://main/raw.other"
    assert found.of("secret") is None
    own = found.of("B")
    assert own is not None and str(own.direct[0].source) == "lake://main/raw.a"


def test_the_managed_column_is_no_column_of_the_script() -> None:
    found = lineage_of("SELECT * FROM t", {"t": columns("a, _tranche_partition string")})
    assert [column.column for column in found.columns] == ["a"]


def test_scripts_without_a_select() -> None:
    manual = "-- pipeline\n-- materialize manual lake://main/x\n"
    found = lineage_of("INSERT INTO x SELECT a FROM t", T, manual)
    assert found.columns == () and found.unknown == (Unknown("the script writes by itself"),)
    code = "# pipeline\n# materialize lake://main/x\ndef main(spark):\n    return None\n"
    read = read_python_script("s", "s.py", code, LAKES)
    assert read.script is not None
    assert script_lineage(read.script, nothing_known).unknown == (
        Unknown("the script runs Python", 3),
    )


def test_long_lists_of_operands() -> None:
    conditions = " OR ".join(f"a = {number}" for number in range(1000))
    found = lineage_of(f"SELECT {' + '.join(['b'] * 1000)} AS n FROM t WHERE {conditions}", T)
    assert found.complete
    assert [str(each.source) for each in found.rows] == ["lake://main/t.a"]


def test_what_is_nested_too_deeply_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tranche.script.lineage.script._traced", _endless)
    assert [each.what for each in lineage_of("SELECT a FROM t", T).unknown] == [
        "the script is nested too deeply for its columns to be traced"
    ]


def _endless(*_: object) -> ScriptLineage:
    return _endless()


def test_a_lineage_is_worked_out_once_for_the_columns_that_it_depends_on() -> None:
    script = script_of("SELECT * FROM t JOIN u ON true")
    answers: dict[str, Columns | None] = {"lake://main/t": columns("a"), "lake://main/u": None}
    lineages = Lineages()
    first = lineages.of(script, lambda asset: answers[str(asset)])
    assert lineages.of(script, lambda asset: answers[str(asset)]) is first
    answers["lake://main/u"] = columns("b")
    second = lineages.of(script, lambda asset: answers[str(asset)])
    assert [column.column for column in second.columns] == ["a", "b"]


def test_one_script_that_breaks_the_tracer_is_said() -> None:
    def broken(asset: AssetUri) -> Columns | None:
        raise AttributeError(asset)

    found = Lineages().of(script_of("SELECT a FROM t"), broken)
    assert [each.what for each in found.unknown] == [
        "the SELECT has a form whose columns cannot be traced"
    ]


def test_schemas_of_files() -> None:
    assert columns_of_schema("a INT, b DECIMAL(10, 2)") == (("a", "INT"), ("b", "DECIMAL(10, 2)"))
    assert columns_of_schema("no schema at all") is None
