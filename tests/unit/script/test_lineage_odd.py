"""Odd ways to name things: where the text does not tell which column is meant, nothing is told."""

from __future__ import annotations

import pytest
from lineage_cases import columns, lineage_of

from tranche.model.asset import LakeTable
from tranche.model.lineage import columns_read

TABLES = {
    "t": columns("k, a, b, c"),
    "u": columns("k, x, y"),
    "s": columns("id, m map<string, int>, arr array<int>, r struct<m: map<string, int>>"),
}


def read(query: str) -> dict[str, str] | None:
    """The columns that a result depends on, by tables; None where that is not certain."""
    found = columns_read(lineage_of(query, TABLES))
    if found is None:
        return None
    return {
        asset.table: "*" if names is None else " ".join(sorted(names))
        for asset, names in found.items()
        if isinstance(asset, LakeTable)
    }


@pytest.mark.parametrize(
    "query",
    [
        # A name that is computed.
        "SELECT IDENTIFIER('a') AS z FROM t",
        "SELECT k FROM t WHERE identifier('b') = 1",
        "SELECT k FROM t ORDER BY IDENTIFIER('b') LIMIT 2",
        "SELECT t.IDENTIFIER('a') AS z FROM t",
        "SELECT max(k) AS z FROM t GROUP BY IDENTIFIER('a')",
        "SELECT k FROM t WHERE k IN (SELECT IDENTIFIER('x') FROM u)",
        # What a file is called changes with any column.
        "SELECT k, input_file_name() AS f FROM t",
        "SELECT k FROM t WHERE input_file_block_start() = 0",
        # Settings by which texts are names.
        'SET spark.sql.ansi.doubleQuotedIdentifiers = true; SELECT "a" AS z FROM t',
        "SET spark.sql.parser.quotedRegexColumnNames = true; SELECT `a` FROM t",
        # A view that is made anew of something else.
        "CREATE TEMPORARY VIEW v AS SELECT a FROM t;"
        " CREATE OR REPLACE TEMPORARY VIEW v USING csv OPTIONS (path 'x.csv'); SELECT a FROM v",
        # What the parser does not read.
        "DECLARE n INT; SET VARIABLE n = (SELECT max(x) FROM u), m = 1; SELECT a + n AS z FROM t",
        "DECLARE n INT; DECLARE m INT; SET VAR n = (SELECT max(x) FROM u), m = n + 1;"
        " SELECT a FROM t WHERE b = m",
    ],
)
def test_what_is_not_certain_is_not_told(query: str) -> None:
    assert read(query) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "DECLARE n INT; DECLARE m INT; SET VAR (n, m) = (SELECT max(x), 1 FROM u WHERE y = 1);"
            " SELECT a + n AS z FROM t",
            {"t": "a", "u": "x y"},
        ),
        (
            "DECLARE n INT; DECLARE m INT; SET VAR n = 1, m = (SELECT max(x) FROM u);"
            " SELECT a + m AS z FROM t",
            {"t": "a", "u": "x"},
        ),
    ],
)
def test_several_variables_are_set_at_once(query: str, expected: dict[str, str]) -> None:
    assert read(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT explode(m) FROM s", ["key", "value"]),
        ("SELECT posexplode(m) FROM s", ["pos", "key", "value"]),
        ("SELECT explode(m) AS (p, q) FROM s", ["p", "q"]),
        ("SELECT explode(map('p', id)) FROM s", ["key", "value"]),
        ("SELECT q.* FROM s LATERAL VIEW explode(m) q", ["key", "value"]),
        ("SELECT key, value FROM s LATERAL VIEW OUTER explode(m) q", ["key", "value"]),
        ("SELECT explode(arr) FROM s", ["col"]),
        ("SELECT explode(array(id, 1)) FROM s", ["col"]),
        ("SELECT explode(split('a,b', ',')) FROM s", ["col"]),
        ("SELECT explode(sequence(1, id)) FROM s", ["col"]),
        ("SELECT explode(arr) AS e FROM s", ["e"]),
    ],
)
def test_columns_of_maps_and_arrays(query: str, expected: list[str]) -> None:
    found = lineage_of(query, TABLES)
    assert found.complete
    assert [column.column for column in found.columns] == expected


@pytest.mark.parametrize(
    "query",
    ["SELECT explode(f(arr)) FROM s", "SELECT explode(if(id = 1, m, m)) FROM s"],
)
def test_what_may_be_a_map_has_columns_that_nobody_knows(query: str) -> None:
    assert not lineage_of(query, TABLES).complete


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # Spark keeps the name of a column whose type alone is another.
        ("SELECT cast(c AS double), try_cast(a AS string), b::bigint FROM t", ["c", "a", "b"]),
        ("SELECT cast(r.m AS string), (id) FROM s", ["CAST(r.m AS STRING)", "id"]),
    ],
)
def test_columns_without_a_name(query: str, expected: list[str]) -> None:
    assert [column.column for column in lineage_of(query, TABLES).columns] == expected
