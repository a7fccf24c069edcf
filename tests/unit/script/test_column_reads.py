"""Which columns a SELECT returns and reads: only what its text tells for certain."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tranche.model.script import Script


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT a, t.b, a + 1 AS c FROM t", ("a", "b", "c")),
        ("SELECT a FROM t UNION ALL SELECT b FROM u", ("a",)),
        ("WITH c AS (SELECT * FROM t) SELECT x AS y FROM c", ("y",)),
        ("SELECT * FROM t", None),
        ("SELECT t.* FROM t", None),
        ("SELECT a, s.* FROM t", None),
        ("SELECT a, count(*) FROM t GROUP BY a", None),
        ("SELECT explode(a) FROM t", None),
        ("VALUES (1)", None),
    ],
)
def test_what_it_returns(
    script: Callable[[str], Script], query: str, columns: tuple[str, ...] | None
) -> None:
    assert script(f"-- pipeline\n{query}").columns == columns


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a, o.b FROM t o WHERE c > 1", {"t.a", "t.b", "t.c"}),
        ("SELECT a.x, b.y, z FROM a JOIN main.b ON a.i = b.i", {"a.x", "b.y", "a.i", "b.i"}),
        ("SELECT x FROM (SELECT y AS x FROM t) q", {"t.y"}),
        ("WITH c AS (SELECT m FROM t) SELECT m FROM c", {"t.m"}),
        ("SELECT a FROM t UNION ALL SELECT b FROM u", {"t.a", "u.b"}),
        ("SELECT sum(a) OVER (PARTITION BY b ORDER BY c) AS w FROM t", {"t.a", "t.b", "t.c"}),
        # A name may mean a column of the result, of the outer query, or of what is beside.
        ("SELECT a AS b, b FROM t GROUP BY b", {"t.a"}),
        ("SELECT 1 AS n FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND j = 1)", {"u.k"}),
        ("SELECT e FROM t LATERAL VIEW explode(x) v AS e", set()),
        ("SELECT d FROM t JOIN LATERAL (SELECT z FROM u) l", set()),
        ("SELECT transform(a, v -> v + b) AS c FROM t", {"t.a", "t.b"}),
        ("SELECT a FROM t PIVOT (sum(x) FOR y IN (1 AS a))", set()),
        ("SELECT p FROM t AS v(p)", set()),
        # What is read of the past, of metadata, or of a field says nothing about columns.
        ("SELECT a FROM t VERSION AS OF 5", set()),
        ("SELECT snapshot_id FROM main.t.snapshots", set()),
        ("SELECT s.f FROM t", set()),
    ],
)
def test_what_it_reads(script: Callable[[str], Script], query: str, expected: set[str]) -> None:
    found = script(f"-- pipeline\n{query}").columns_read
    assert {f"{column.table.table}.{column.column}" for column in found} == expected


def test_where_it_reads_it(script: Callable[[str], Script]) -> None:
    found = script("-- pipeline\n\nSELECT a\nFROM t\nWHERE b = 1").columns_read
    assert {(column.column, column.line) for column in found} == {("a", 3), ("b", 5)}


def test_a_name_may_be_a_variable(script: Callable[[str], Script]) -> None:
    text = "-- pipeline\nDECLARE VARIABLE a INT DEFAULT 1;\nSELECT a FROM t"
    assert script(text).columns_read == ()
