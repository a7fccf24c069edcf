"""Forms of SQL that have to survive between the user's text and Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Bench

FORMS = {
    "a typed literal": ("SELECT DATE '{partition}' AS d", [{"d": "2026-05-16"}]),
    "a cast": ("SELECT '{partition}'::date + 1 AS d", [{"d": "2026-05-17"}]),
    "a hint": ("SELECT /*+ BROADCAST(r) */ r.id FROM range(1) r", [{"id": 0}]),
    "comments inside": ("SELECT 1 /* {partition} ; */ AS a -- ; '\n, 2 AS b", [{"a": 1, "b": 2}]),
    "semicolons in texts": ("SELECT 'a;b' AS a, \";--\" AS b;", [{"a": "a;b", "b": ";--"}]),
    "a recursive-looking CTE": (
        "WITH t AS (SELECT id FROM @t) SELECT t.id FROM t",
        [{"id": 7}],
    ),
    "nested CTEs": (
        "WITH a AS (WITH b AS (SELECT 1 AS x) SELECT x FROM b), c AS (SELECT x + 1 AS x FROM a)"
        " SELECT * FROM c",
        [{"x": 2}],
    ),
    "a union": (
        "SELECT id FROM @t UNION ALL SELECT id + 1 FROM @t ORDER BY id",
        [{"id": 7}, {"id": 8}],
    ),
    "a lateral view": (
        "SELECT e FROM @t LATERAL VIEW explode(array(1, 2)) x AS e ORDER BY e",
        [{"e": 1}, {"e": 2}],
    ),
    "a correlated subquery": (
        "SELECT id FROM @t a WHERE EXISTS (SELECT 1 FROM @t b WHERE b.id = a.id)",
        [{"id": 7}],
    ),
    "a scalar subquery": ("SELECT (SELECT max(id) FROM @t) AS m", [{"m": 7}]),
    "two tables of one name": (
        "SELECT main.{schema}.t.id AS a, main.{schema}_b.t.id AS b"
        " FROM main.{schema}.t JOIN main.{schema}_b.t ON true",
        [{"a": 7, "b": 70}],
    ),
    "time travel": ("SELECT count(*) AS n FROM @t TIMESTAMP AS OF '2999-01-01'", None),
    "a pivot": (
        "SELECT * FROM (SELECT id, 'x' AS k FROM @t) PIVOT (count(id) AS n FOR k IN ('x'))",
        [{"x": 1}],
    ),
    "a window": ("SELECT row_number() OVER (ORDER BY id) AS n FROM @t", [{"n": 1}]),
    "qualify by table name": ("SELECT t.id FROM @t WHERE t.id > 1", [{"id": 7}]),
    "a quoted name": ("SELECT `t`.`id` FROM `main`.`{schema}`.`t`", [{"id": 7}]),
    "a struct's field": ("SELECT s.a FROM (SELECT named_struct('a', id) AS s FROM @t)", [{"a": 7}]),
    "values": ("SELECT * FROM VALUES ('{partition}') AS v(k)", [{"k": "2026-05-16"}]),
    "in a list": ("SELECT '{partition}' IN ('2026-05-16', 'x') AS yes", [{"yes": True}]),
    "a pattern": ("SELECT '{partition}' LIKE '2026-%' AS yes", [{"yes": True}]),
    "a select of nothing but a key": ("SELECT $partition", None),
}


@pytest.mark.parametrize("form", FORMS)
def test_form(bench: Bench, form: str) -> None:
    text, expected = FORMS[form]
    bench.sql("CREATE TABLE @t AS SELECT 7 AS id")
    if "_b.t" in text:
        bench.sql(f"CREATE NAMESPACE main.{bench.schema}_b")
        bench.sql(f"CREATE TABLE main.{bench.schema}_b.t AS SELECT 70 AS id")
    select = text.replace("{schema}", bench.schema)
    written = bench.run(f"-- pipeline\n-- partitioned daily\n{select}", partition="2026-05-16")
    assert written.result is not None
    found: list[dict[str, Any]] = written.result.records()
    if expected is not None:
        assert found == expected
    else:
        assert len(found) == 1


MANUAL = """\
-- pipeline
-- partitioned daily
-- materialize manual lake://main/@t
CREATE TABLE IF NOT EXISTS @t (k STRING, n INT) USING iceberg PARTITIONED BY (k);
MERGE INTO @t AS t USING (SELECT '{partition}' AS k, 1 AS n) AS s ON t.k = s.k
  WHEN MATCHED THEN UPDATE SET n = t.n + 1 WHEN NOT MATCHED THEN INSERT *;
UPDATE @t SET n = n + 10 WHERE k = $partition;
"""


def test_manual_scripts_hold_any_statement(bench: Bench) -> None:
    bench.run(MANUAL, partition="2026-05-16")
    bench.run(MANUAL, partition="2026-05-16")
    assert bench.sql("SELECT k, n FROM @t") == [{"k": "2026-05-16", "n": 22}]


def test_what_a_manual_script_makes_may_be_a_view(bench: Bench) -> None:
    bench.sql("CREATE TABLE @source AS SELECT 1 AS id")
    written = bench.run(
        "-- pipeline\n-- materialize manual lake://main/@v\nCREATE VIEW @v AS SELECT id FROM @source"
    )
    assert (written.snapshot, written.columns) == (None, (("id", "int"),))
    assert bench.sql("SELECT * FROM @v") == [{"id": 1}]
