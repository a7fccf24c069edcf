"""Which columns a result depends on: never too few, and nothing where it is not certain."""

from __future__ import annotations

import pytest
from lineage_cases import Case, cases, columns, lineage_of
from lineage_rows import answer, filled, runnable

from tranche.model.asset import LakeTable
from tranche.model.lineage import ScriptLineage, columns_read

TABLES = {
    "t": columns("k, a, b, c"),
    "u": columns("k, x, y"),
    "s": columns("id, r struct<f: int, g: int>, arr array<struct<p: int>>"),
}
_SEEDS = range(2)


def reads(found: ScriptLineage) -> dict[str, frozenset[str] | None] | None:
    """By the names of tables."""
    read = columns_read(found)
    if read is None:
        return None
    return {
        asset.table if isinstance(asset, LakeTable) else str(asset): names
        for asset, names in read.items()
    }


def told(query: str) -> dict[str, str] | None:
    """As text: names with spaces between them, or `*` for all columns."""
    found = reads(lineage_of(query, TABLES))
    if found is None:
        return None
    return {
        table: "*" if names is None else " ".join(sorted(names)) for table, names in found.items()
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a FROM t", {"t": "a"}),
        ("SELECT a FROM t WHERE b = 1", {"t": "a b"}),
        # All columns, whichever they will be.
        ("SELECT * FROM t", {"t": "*"}),
        ("SELECT t.* FROM t JOIN u ON t.k = u.k", {"t": "*", "u": "k"}),
        ("SELECT * EXCEPT (a) FROM t", {"t": "*"}),
        ("SELECT hash(*) AS h FROM t", {"t": "*"}),
        ("SELECT struct(*) AS h FROM t", {"t": "*"}),
        ("SELECT count(t.*) AS n FROM t", {"t": "*"}),
        ("SELECT DISTINCT * FROM t", {"t": "*"}),
        ("WITH w AS (SELECT * FROM t) SELECT * FROM w", {"t": "*"}),
        ("SELECT * FROM t PIVOT (sum(a) FOR b IN (1, 2))", {"t": "*"}),
        # A star that nobody looks behind of is none.
        ("WITH w AS (SELECT * FROM t) SELECT a FROM w", {"t": "a"}),
        ("SELECT a FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.k)", {"t": "a k", "u": "k"}),
        # But columns that are counted from the left move, and all are compared.
        ("SELECT p FROM (SELECT * FROM u UNION ALL SELECT 1, 2, 3) AS q(p, q, r)", {"u": "*"}),
        ("SELECT n FROM (SELECT DISTINCT * FROM u) CROSS JOIN (SELECT 1 AS n)", {"u": "*"}),
        # Rows are counted, whatever is in them.
        ("SELECT count(*) AS n FROM t", {"t": ""}),
        ("SELECT 1 AS n FROM t, u", {"t": "", "u": ""}),
        ("SELECT count(DISTINCT a, b) AS n FROM t", {"t": "a b"}),
        ("SELECT count(DISTINCT *) AS n FROM t", {"t": "*"}),
        ("SELECT a FROM t WHERE array_contains(array(*), 1)", {"t": "*"}),
        ("SELECT DISTINCT a FROM t", {"t": "a"}),
        ("SELECT a FROM t EXCEPT SELECT x FROM u", {"t": "a", "u": "x"}),
        ("SELECT a FROM t INTERSECT SELECT x FROM u WHERE y = 1", {"t": "a", "u": "x y"}),
        # A join by name depends on which names there are.
        ("SELECT a FROM t NATURAL JOIN u", {"t": "*", "u": "*"}),
        ("SELECT a FROM t JOIN u USING (k)", {"t": "a k", "u": "k"}),
        ("SELECT a FROM t LEFT ANTI JOIN u ON t.k = u.k", {"t": "a k", "u": "k"}),
        # Fields count as their columns.
        ("SELECT r.f FROM s", {"s": "r"}),
        ("SELECT r.* FROM s", {"s": "r"}),
        ("SELECT s.id FROM s LATERAL VIEW explode(arr) AS e", {"s": "arr id"}),
        ("SELECT explode(arr).p AS p FROM s", {"s": "arr"}),
        # Columns have a say in many ways.
        ("SELECT a FROM t ORDER BY b LIMIT 1", {"t": "a b"}),
        ("SELECT sum(a) AS s FROM t GROUP BY b HAVING max(c) > 1", {"t": "a b c"}),
        ("SELECT row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM t", {"t": "a b"}),
        ("SELECT CASE WHEN a = 1 THEN 1 END AS n FROM t", {"t": "a"}),
        ("SELECT max(c) AS a FROM t GROUP BY b HAVING sum(a) > 1", {"t": "a b c"}),
        ("SELECT to_date(a, b) AS d FROM t", {"t": "a b"}),
        # What was there in the past, what formats tell, and files may have any columns.
        ("SELECT a FROM main.t VERSION AS OF 5", {"t": "*"}),
        ("SELECT snapshot_id FROM main.t.snapshots", {"t": "*"}),
        ("SELECT a FROM raw", {"raw": "*"}),
        ("SELECT a FROM read_json('a.json')", {"file:a.json": "*"}),
        ("SELECT 1 AS one", {}),
    ],
)
def test_what_is_read(query: str, expected: dict[str, str]) -> None:
    assert told(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "SELECT missing FROM t",
        "SELECT z FROM t WHERE missing = 1",
        "SELECT * FROM raw",
        "SELECT a FROM t NATURAL JOIN raw",
        "SELECT x.a FROM t AS x JOIN raw ON true JOIN more ON q = 1",
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM raw WHERE b = 1)",
        "SELECT date_trunc(b, a) AS d FROM t",
        "SELECT date_trunc(last, a) AS d FROM (SELECT a, b AS last FROM t)",
        "SELECT date_trunc(day, a) AS d FROM (SELECT a, b AS day FROM t)",
        "SELECT a FROM identifier('t')",
        "SELECT a FROM t CROSS JOIN u PIVOT (sum(a) FOR b IN (1))",
        "SELECT hash(*) AS h FROM t JOIN raw ON t.k = raw.k",
        "SELECT DISTINCT * FROM raw",
        "CREATE TEMP VIEW v USING parquet OPTIONS (path 'x'); SELECT a FROM v JOIN t USING (k)",
        "CREATE TEMPORARY FUNCTION f() RETURNS INT RETURN (SELECT max(a) FROM t); SELECT f() AS n",
    ],
)
def test_what_is_not_certain(query: str) -> None:
    assert told(query) is None


def test_a_table_that_only_the_header_names_is_read_as_a_whole() -> None:
    header = "-- pipeline\n-- materialize lake://main/result\n-- reads lake://main/u\n"
    assert reads(lineage_of("SELECT a FROM t", TABLES, header)) == {
        "t": frozenset({"a"}),
        "u": None,
    }


def test_what_is_declared_is_no_proof() -> None:
    header = "-- pipeline\n-- materialize lake://main/result\n-- column a <- lake://main/u.x\n"
    assert reads(lineage_of("SELECT a FROM t", TABLES, header)) == {"t": frozenset({"a"})}


def runs(case: Case) -> bool:
    sql = runnable(case.query)
    rows = None if sql is None else answer(sql, filled(case.tables, 0))
    # SQLite knows no PIVOT, and sqlglot leaves it out there.
    return rows is not None and "PIVOT" not in case.query


CASES = [case for case in cases() if runs(case)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_other_columns_change_nothing(case: Case) -> None:
    sql = runnable(case.query)
    found = lineage_of(case.query, case.tables)
    read = reads(found)
    assert sql is not None
    if read is None:
        return
    for seed in _SEEDS:
        data, other = filled(case.tables, seed), filled(case.tables, seed + 100)
        before = answer(sql, data)
        assert before is not None
        for table, values in data.items():
            known = read.get(table, frozenset())
            for name in values:
                changed = {**data, table: {**values, name: other[table][name]}}
                after = answer(sql, changed)
                assert after is not None
                if known is not None and name.lower() not in known:
                    assert after == before, (table, name)
                _check_columns(found, table, name, before, after)


def _check_columns(
    found: ScriptLineage,
    table: str,
    name: str,
    before: list[tuple[object, ...]],
    after: list[tuple[object, ...]],
) -> None:
    """A column stays what it is unless the other goes into it, or has a say in it or in the rows."""
    changed = (table, name.lower())
    if any(_is(each.source, changed) for each in found.rows):
        return
    for number, column in enumerate(found.columns):
        sources = [each.source for each in (*column.direct, *column.indirect)]
        if not any(_is(source, changed) for source in sources):
            then = sorted((row[number] for row in before), key=repr)
            now = sorted((row[number] for row in after), key=repr)
            assert then == now, (column.column, changed)


def _is(source: object, changed: tuple[str, str]) -> bool:
    asset, column = getattr(source, "asset", None), getattr(source, "column", "")
    return isinstance(asset, LakeTable) and (asset.table, column.lower()) == changed


def test_many_of_the_corpus_run() -> None:
    assert len(CASES) >= 75
