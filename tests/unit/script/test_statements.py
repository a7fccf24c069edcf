"""Statements: what is read, what is written, which text goes to Spark, which faults there are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tranche.model.script import Script
from tranche.script.binding import Values, bind, quoted
from tranche.script.lakes import Lakes
from tranche.script.sql import read_sql_script

HEAD = "-- pipeline\n-- partitioned daily\n-- materialize lake://main/out\n"
MANUAL = "-- pipeline\n-- partitioned daily\n-- materialize manual lake://main/out\n"
ReadScript = Callable[[str], Script]
Faults = Callable[[str], list[str]]


def texts(script: Script) -> list[str]:
    """The statements as they go to Spark; `@` marks a table that is pinned to a snapshot."""
    values = Values("K", {}, {})
    statements = [*script.setup, *([script.query] if script.query else [])]
    return [
        bind(
            statement,
            values,
            table=lambda hole: f"{quoted(hole.table).replace('`', '')}{'@' if hole.pinned else ''}",
            files=lambda hole: f"<{hole.format}>",
        ).text
        for statement in statements
    ]


def reads(script: Script) -> list[str]:
    return sorted(str(asset).removeprefix("lake://") for asset in script.reads)


def writes(script: Script) -> list[str]:
    found = (str(asset).removeprefix("lake://") for asset in script.writes)
    return [name for name in found if name != "main/out"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM a", ["main/a"]),
        ("SELECT * FROM main.a", ["main/a"]),
        ("SELECT * FROM other.a", ["other/a"]),
        ("SELECT * FROM other.raw.a", ["other/raw.a"]),
        ("SELECT * FROM `main`.`raw`.`a b`", ["main/raw.a b"]),
        ("SELECT * FROM main.a.snapshots", ["main/a"]),
        ("SELECT * FROM main.raw.a.snapshots", ["main/raw.a"]),
        ("SELECT * FROM a VERSION AS OF 5", ["main/a"]),
        ("SELECT * FROM a UNION ALL SELECT * FROM b", ["main/a", "main/b"]),
        ("(SELECT * FROM a) UNION (SELECT * FROM b) LIMIT 3", ["main/a", "main/b"]),
        ("SELECT * FROM (SELECT * FROM a) x WHERE i IN (SELECT i FROM b)", ["main/a", "main/b"]),
        ("FROM a SELECT x", ["main/a"]),
        ("VALUES (1), (2)", []),
        ("SELECT * FROM VALUES (1), (2) AS t(a)", []),
        ("SELECT * FROM range(10)", []),
        ("SELECT * FROM explode(array(1, 2))", []),
        ("SELECT * FROM a LATERAL VIEW explode(items) t AS item", ["main/a"]),
        ("SELECT * FROM a, LATERAL explode(items) AS t(i)", ["main/a"]),
        ("SELECT * FROM a JOIN LATERAL (SELECT * FROM b WHERE b.i = a.i) y", ["main/a", "main/b"]),
        ("SELECT * FROM a PIVOT (sum(x) FOR s IN ('p', 'q'))", ["main/a"]),
        ("SELECT * FROM a TABLESAMPLE (10 PERCENT)", ["main/a"]),
        ("SELECT v:a.b::int FROM a", ["main/a"]),
        ("SELECT * FROM a |> WHERE x = 1", ["main/a"]),
        ("SELECT transform(x, y -> y + 1), x::decimal(10,2) FROM a", ["main/a"]),
        ("WITH a AS (SELECT * FROM b) SELECT * FROM a", ["main/b"]),
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a", ["main/a"]),
        ("WITH a AS (SELECT * FROM x), b AS (SELECT * FROM A) SELECT * FROM b, a", ["main/x"]),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a, b", ["main/b"]),
        ("WITH a AS (WITH b AS (SELECT * FROM c) SELECT * FROM b) SELECT * FROM a, b", ["main/b", "main/c"]),
        ("WITH a AS (SELECT 1) SELECT * FROM (SELECT * FROM a) WHERE EXISTS (SELECT 1 FROM a)", []),
        ("WITH a AS (SELECT 1) SELECT * FROM main.a", ["main/a"]),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r", []),
        ("SELECT /*+ BROADCAST(o) */ * FROM a o", ["main/a"]),
        ("SELECT ';' AS x, '-- from y' AS z FROM a -- from q;", ["main/a"]),
        ("SELECT 1 /* FROM b; /* nested */ -- */ FROM a", ["main/a"]),
        ("CREATE TEMPORARY VIEW v AS SELECT * FROM a; SELECT * FROM V", ["main/a"]),
        ("CREATE OR REPLACE TEMP VIEW a (x) AS SELECT * FROM a; SELECT * FROM a", ["main/a"]),
        ("CREATE TEMP VIEW a AS SELECT 1; SELECT * FROM main.a", ["main/a"]),
        ("CREATE TEMPORARY VIEW v USING json OPTIONS (path 'x'); SELECT * FROM v", []),
        ("CREATE GLOBAL TEMP VIEW g AS SELECT * FROM a; SELECT * FROM global_temp.g", ["main/a"]),
        ("CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x + 1; SELECT f(x) FROM a", ["main/a"]),
        ("CREATE TEMPORARY FUNCTION f AS 'com.F'; SELECT f(x) FROM a", ["main/a"]),
        ("DECLARE d DATE; SET VAR d = (SELECT max(d) FROM a); SELECT d", ["main/a"]),
        ("SET spark.sql.x = 5; RESET spark.sql.x; SELECT * FROM a", ["main/a"]),
        ("ATTACH 'lake://other' AS dl; SELECT * FROM dl.a, dl.raw.b", ["other/a", "other/raw.b"]),
        ("ATTACH 'ducklake://other' AS dl; SELECT * FROM dl.a", ["other/a"]),
        ("ATTACH 'lake://other'; SELECT * FROM other.a", ["other/a"]),
        ("SELECT * FROM read_json('d/' || '{partition}' || '.json')", ["file:d/{partition}.json"]),
        ("SELECT * FROM read_parquet('s3a://b/x') AS t JOIN a USING (i)", ["main/a", "s3a://b/x"]),
    ],
)  # fmt: skip
def test_reads_are_inferred(query: str, expected: list[str], script: ReadScript) -> None:
    found = script(HEAD + query)
    assert reads(found) == expected
    assert writes(found) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("SELECT * FROM a", ["SELECT * FROM main.default.a@"]),
        ("SELECT 1;;", ["SELECT 1"]),
        (";;SELECT 1 -- end", ["SELECT 1"]),
        ("SELECT * FROM a VERSION AS OF 5", ["SELECT * FROM main.default.a VERSION AS OF 5"]),
        ("SELECT * FROM a TIMESTAMP AS OF '2026-01-01' x", ["SELECT * FROM main.default.a TIMESTAMP AS OF '2026-01-01' x"]),
        ("SELECT * FROM main.a.snapshots", ["SELECT * FROM main.default.a.`snapshots`"]),
        ("SELECT /*+ BROADCAST(o) */ * FROM a o", ["SELECT /*+ BROADCAST(o) */ * FROM main.default.a@ o"]),
        ("SELECT main.a.x, main.a.*, a.y FROM main.a WHERE main.a.s.f = 1", ["SELECT main.default.a.x, main.default.a.*, a.y FROM main.default.a@ WHERE main.default.a.s.f = 1"]),
        ("ATTACH 'lake://other' AS dl; SELECT dl.a.x FROM dl.a", ["SELECT other.default.a.x FROM other.default.a@"]),
        ("CREATE TEMP VIEW a AS SELECT * FROM a; SELECT * FROM a", ["CREATE TEMP VIEW a AS SELECT * FROM main.default.a@", "SELECT * FROM a"]),
        ("CREATE TEMP FUNCTION f(x INT) RETURNS INT RETURN x; SELECT 1", ["CREATE TEMP FUNCTION f(x INT) RETURNS INT RETURN x", "SELECT 1"]),
        ("SELECT '😀', '{partition}', é FROM a WHERE x = '{partition}'", ["SELECT '😀', :_tranche_key, é FROM main.default.a@ WHERE x = :_tranche_key"]),
        ("SELECT \"{partition}\", r'{partition}', $partition", ["SELECT :_tranche_key, :_tranche_key, :_tranche_key"]),
        ("SELECT DATE '{partition}', timestamp'{partition}', date('{partition}')", ["SELECT CAST(:_tranche_key AS DATE), CAST(:_tranche_key AS TIMESTAMP), date(:_tranche_key)"]),
        ("SELECT 'a' 'b', \"it's\", r'\\d+', 'it\\'s; -- {x}' FROM a", ["SELECT 'a' 'b', \"it's\", r'\\d+', 'it\\'s; -- {x}' FROM main.default.a@"]),
        ("SELECT x -- '{partition}' is the day\nFROM a", ["SELECT x -- '{partition}' is the day\nFROM main.default.a@"]),
        ("SELECT * FROM read_csv('a.csv', header => true) t", ["SELECT * FROM <csv> t"]),
    ],
)  # fmt: skip
def test_the_users_text_is_kept(body: str, expected: list[str], script: ReadScript) -> None:
    assert texts(script(HEAD + body)) == expected


@pytest.mark.parametrize("body", ["SELECT 1\nFROM a\nWHERE d = '{partition}'"])
def test_line_ends_and_byte_order_marks_do_not_matter(body: str, script: ReadScript) -> None:
    plain = script(HEAD + body)
    assert script("\ufeff" + (HEAD + body).replace("\n", "\r\n")) == plain
    assert script((HEAD + body).replace("\n", "\r")) == plain


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("", 1, "the script has no SELECT; end it with the SELECT for one slice"),
        ("SELECT 1;\nSELECT 2;\nSELECT 3", 4, "the script has 3 SELECTs; keep one, at the end; make the others temporary views or CTEs"),
        ("CREATE TABLE x AS SELECT 1", 4, "the script ends with CREATE TABLE, not with a SELECT; end it with the SELECT for one slice, or declare it materialize manual"),
        ("SET x = 1", 4, "the script ends with SET X, not with a SELECT; end it with the SELECT for one slice, or declare it materialize manual"),
        ("INSERT INTO x SELECT 1;\nSELECT 2", 4, "INSERT INTO is no setup statement; before the SELECT stand only SET, CREATE TEMPORARY VIEW, CREATE TEMPORARY FUNCTION, DECLARE and ATTACH; or declare it materialize manual"),
        ("CREATE TABLE temp AS SELECT view FROM a;\nSELECT 2", 4, "CREATE TABLE is no setup statement; before the SELECT stand only SET, CREATE TEMPORARY VIEW, CREATE TEMPORARY FUNCTION, DECLARE and ATTACH; or declare it materialize manual"),
        ("\nSELECT\n FROM WHERE", 6, "the statement does not parse at 'WHERE': Expected table name; correct the SQL"),
        ("ELSE", 4, "the statement does not parse: it is no Spark SQL; correct the SQL"),
        ("SELECT (1", 4, "the statement does not parse at '1': Expecting ); correct the SQL"),
        ("SELECT 1,\n'abc\n\n", 5, "a quote is not closed; close it, or remove what stands there"),
        ("SELECT 'it\\'s',\n`abc", 5, "a quote is not closed; close it, or remove what stands there"),
        ("SELECT 1 -- it's\n\n/* a /* b */", 6, "a comment is not closed; close it, or remove what stands there"),
        ("SELECT a,\n x AS `_TRANCHE_PARTITION` FROM t", 5, "the SELECT projects _tranche_partition, which Tranche manages; leave it out, or give the column another name"),
        ("SELECT a, t._tranche_partition\nFROM t UNION SELECT 1, 2", 4, "the SELECT projects _tranche_partition, which Tranche manages; leave it out, or give the column another name"),
        ("SELECT *\nFROM mian.orders", 5, "unknown lake 'mian'; did you mean 'main'?"),
        ("SELECT * FROM raw.orders", 4, "unknown lake 'raw'; the lakes are main, other; a table of the default lake is main.raw.orders"),
        ("SELECT * FROM main.a.b.c", 4, "'main.a.b.c' has too many parts; write <lake>.<schema>.<table>"),
        ("SELECT * FROM json.`/x/y`", 4, "a file is queried as a table of json; use read_json('…'), read_csv('…') or read_parquet('…')"),
        ("SELECT * FROM\n(TABLE orders)", 5, "TABLE stands for a query; write SELECT * FROM <table>"),
        ("ATTACH 'lake://nope' AS dl; SELECT 1", 4, "unknown lake 'nope'; the lakes are main, other"),
        ("ATTACH 'other' AS dl; SELECT 1", 4, "ATTACH of 'other' names no lake; write ATTACH 'lake://<lake>' AS <alias>"),
        ("ATTACH other; SELECT 1", 4, "ATTACH does not parse; write ATTACH 'lake://<lake>' AS <alias>"),
        ("SELECT\n's3://b/{partition}/x'", 5, "the token stands inside the longer literal 's3://b/{partition}/x'; write 's3://b/' || '{partition}' || '/x'"),
        ("SELECT \"it's {partition}\"", 4, "the token stands inside the longer literal \"it's {partition}\"; write 'it\\'s ' || '{partition}'"),
        ("SELECT '{partition}{partition}'", 4, "the token stands inside the longer literal '{partition}{partition}'; write '{partition}' || '{partition}'"),
        ("SELECT 'a'  '{partition}'", 4, "the token stands inside the longer literal 'a{partition}'; write 'a' || '{partition}'"),
        ("SELECT {partition}", 4, "the token stands without quotes; write '{partition}'"),
        ("SELECT * FROM `o_{partition}`", 4, "the token stands in the name 'o_{partition}'; a key is a value; compare a column with it"),
        ("SELECT '{partition.day}'", 4, "'{partition.day}' names no dimension of the partitioning; use '{partition}', or name a dimension of the partitioned line"),
        ("SELECT $cutof", 4, "$cutof is not declared; add the line $cutof (<type>) at the top"),
        ("SELECT $ x", 4, "a $ stands alone; write $name"),
        ("SELECT ${x}", 4, "a $ stands alone; write $name"),
        ("SET x = '{partition}'; SELECT 1", 4, "SET takes no key and no argument; use SET VAR after DECLARE VARIABLE"),
    ],
)  # fmt: skip
def test_faults_are_located(body: str, line: int, message: str, faults: Faults) -> None:
    assert faults(HEAD + body)[0] == f"s.sql:{line}: {message}"


def test_one_fault_does_not_hide_the_next(faults: Faults) -> None:
    body = "SELECT '{partition}x',\n$a,\n$b\nFROM nope1.a,\nnope2.b"
    assert [int(message.split(":")[1]) for message in faults(HEAD + body)] == [4, 5, 6, 7, 8]


def test_a_broken_text_still_shows_the_faults_of_its_header(faults: Faults) -> None:
    found = faults("-- pipeline\n-- partitioned dayly\nSELECT 'abc")
    assert [int(message.split(":")[1]) for message in found] == [2, 3]


@pytest.mark.parametrize(
    "text", ["SELECT '{partition}'", "SELECT $partition", "SELECT * FROM read_json('{partition}')"]
)
def test_a_key_needs_a_partitioned_line(text: str, faults: Faults) -> None:
    assert faults(f"-- pipeline\n{text}") == [
        "s.sql:2: '{partition}' in a script without partitions;"
        " add a partitioned line, as in partitioned daily"
    ]


@pytest.mark.parametrize("remark", ["on schedule", "retry 3", "pipeline", "partitioned daily"])
def test_a_remark_behind_code_is_no_annotation(remark: str, script: ReadScript) -> None:
    found = script(f"{HEAD}SELECT 1, -- {remark}\n2 -- {remark}")
    assert found.annotations == script(f"{HEAD}SELECT 1, 2").annotations


def test_near_arguments_are_suggested(faults: Faults) -> None:
    assert faults("-- pipeline\n-- $cutoff (date)\nSELECT $cutof") == [
        "s.sql:3: $cutof is not declared; did you mean $cutoff?"
    ]


def test_a_script_that_materializes_nothing_may_show_the_managed_column(script: ReadScript) -> None:
    assert script("-- pipeline\nSELECT _tranche_partition, count(*) FROM a GROUP BY 1").query


@pytest.mark.parametrize(
    ("body", "reading", "writing"),
    [
        ("INSERT INTO t SELECT * FROM a WHERE d = '{partition}'", ["main/a"], ["main/t"]),
        ("INSERT OVERWRITE TABLE main.t PARTITION (d = '{partition}') SELECT * FROM a", ["main/a"], ["main/t"]),
        ("INSERT INTO t (x, y) VALUES (1, 2)", [], ["main/t"]),
        ("WITH x AS (SELECT * FROM a) INSERT INTO t SELECT * FROM x", ["main/a"], ["main/t"]),
        ("FROM a INSERT INTO t SELECT * INSERT INTO u SELECT *", ["main/a"], ["main/t", "main/u"]),
        ("MERGE INTO t USING (SELECT * FROM a) s ON t.i = s.i WHEN MATCHED THEN UPDATE SET *", ["main/a"], ["main/t"]),
        ("MERGE WITH SCHEMA EVOLUTION INTO t USING a ON t.i = a.i WHEN NOT MATCHED THEN INSERT *", ["main/a"], ["main/t"]),
        ("CREATE TABLE IF NOT EXISTS other.t (x INT) USING iceberg PARTITIONED BY (x)", [], ["other/t"]),
        ("CREATE OR REPLACE TABLE t AS SELECT * FROM a", ["main/a"], ["main/t"]),
        ("CREATE VIEW main.v AS SELECT * FROM a", ["main/a"], ["main/v"]),
        ("DELETE FROM t WHERE x IN (SELECT x FROM a)", ["main/a"], ["main/t"]),
        ("UPDATE t SET x = 1 WHERE d = '{partition}'", [], ["main/t"]),
        ("ALTER TABLE t ADD COLUMN c INT", [], ["main/t"]),
        ("ALTER TABLE main.raw.t WRITE ORDERED BY x", [], ["main/raw.t"]),
        ("ALTER TABLE t RENAME TO u", [], ["main/t", "main/u"]),
        ("DROP TABLE IF EXISTS t", [], ["main/t"]),
        ("TRUNCATE TABLE t", [], ["main/t"]),
        ("OPTIMIZE t", [], ["main/t"]),
        ("DESCRIBE t", ["main/t"], []),
        ("REFRESH TABLE t", ["main/t"], []),
        ("ANALYZE TABLE t COMPUTE STATISTICS", ["main/t"], []),
        ("CACHE TABLE c AS SELECT * FROM a; INSERT INTO t SELECT * FROM c", ["main/a"], ["main/t"]),
        ("CREATE TEMP VIEW v AS SELECT * FROM a; INSERT INTO t SELECT * FROM v; DROP VIEW v", ["main/a"], ["main/t"]),
        ("USE main.raw", [], []),
        ("CREATE SCHEMA IF NOT EXISTS main.raw", [], []),
        ("CREATE FUNCTION main.f(x INT) RETURNS INT RETURN x", [], []),
        ("CALL main.system.expire_snapshots(table => 'default.t')", [], []),
        ("SHOW TABLES IN main.raw", [], []),
        ("SELECT * FROM a", ["main/a"], []),
    ],
)  # fmt: skip
def test_manual_scripts_hold_any_statement(
    body: str, reading: list[str], writing: list[str], script: ReadScript
) -> None:
    found = script(MANUAL + body)
    assert (reads(found), writes(found)) == (reading, writing)
    assert found.query is None
    assert found.warnings == ()
    assert not any("@" in text for text in texts(found))


def test_what_only_spark_can_read_goes_to_it_with_a_warning(script: ReadScript) -> None:
    found = script(
        MANUAL + "\nINSERT OVERWRITE DIRECTORY '{partition}' USING csv SELECT * FROM main.default.a"
    )
    assert texts(found) == [
        "INSERT OVERWRITE DIRECTORY :_tranche_key USING csv SELECT * FROM main.default.a"
    ]
    assert found.warnings == (
        "s.sql:5: the statement goes to Spark as it stands, because Tranche cannot read it;"
        " write out its tables as <lake>.<schema>.<table>",
    )


def test_the_target_of_such_a_statement_is_found_where_the_verb_tells(script: ReadScript) -> None:
    found = script(MANUAL + "REPLACE TABLE t AS SELECT 1")
    assert writes(found) == ["main/t"]
    assert texts(found) == ["REPLACE TABLE main.default.t AS SELECT 1"]


@pytest.mark.parametrize(
    "body", ["INSERT INTO t SELECT (1", "SELECT 1)", "DELETE FROM t WHERE x IN (1"]
)
def test_a_bracket_that_does_not_match_is_a_fault_in_manual_scripts_too(
    body: str, faults: Faults
) -> None:
    [message] = faults(MANUAL + body)
    assert message.startswith("s.sql:4: the statement does not parse at ")


def test_a_manual_script_needs_a_statement(faults: Faults) -> None:
    assert faults(MANUAL) == ["s.sql:1: the script holds no statement; write what it should do"]


def test_a_history_makes_its_current_rows_too(lakes: Lakes) -> None:
    text = "-- pipeline\n-- materialize lake://main/raw.c key=id history\nSELECT 1 AS id"
    found = read_sql_script("s", "s.sql", text, lakes).script
    assert found is not None
    assert list(map(str, found.writes)) == ["lake://main/raw.c", "lake://main/raw.c_current"]


def test_dimensions_of_a_composite_key(script: ReadScript) -> None:
    head = '-- pipeline\n-- partitioned day: daily | region: static keys="eu"\n'
    found = script(f"{head}SELECT '{{partition.region}}', '{{partition}}'")
    assert found.query is not None
    assert [getattr(part, "dimension", "") for part in found.query.parts[1::2]] == ["region", None]


def test_the_fingerprint_is_about_rows(script: ReadScript) -> None:
    base = script(HEAD + "SELECT * FROM a WHERE d = '{partition}'").fingerprint
    same = [
        HEAD.replace("daily", 'daily start="2026-01-01" lag=1')
        + "SELECT * FROM a WHERE d = '{partition}'",
        HEAD + "-- prose\nSELECT *\n  FROM a /* here */ WHERE d = '{partition}';",
        HEAD + "-- retry 3\n-- data_test unique d\nSELECT * FROM a WHERE d = '{partition}'",
    ]
    other = [
        HEAD + "SELECT * FROM a WHERE e = '{partition}'",
        HEAD + "SELECT * FROM a WHERE d = `{partitio}`",
        HEAD.replace("daily", "hourly") + "SELECT * FROM a WHERE d = '{partition}'",
        HEAD.replace("daily", "daily tz=Europe/Paris") + "SELECT * FROM a WHERE d = '{partition}'",
        HEAD.replace("out", "out append") + "SELECT * FROM a WHERE d = '{partition}'",
        HEAD + "-- $x (int) = 1\nSELECT * FROM a WHERE d = '{partition}'",
    ]
    assert [script(text).fingerprint == base for text in same] == [True] * len(same)
    assert [script(text).fingerprint == base for text in other] == [False] * len(other)


def test_a_partitioned_line_that_does_not_parse_is_the_only_fault() -> None:
    text = "-- pipeline\n-- partitioned dayly\nSELECT '{partition}', $partition"
    read = read_sql_script("a", "pipelines/a.sql", text, Lakes(frozenset({"main"}), "main"))
    assert [str(fault) for fault in read.faults] == [
        "pipelines/a.sql:2: unknown kind 'dayly' in 'partitioned'; did you mean 'daily'?"
    ]
