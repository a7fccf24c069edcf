"""Keys and arguments are data, whatever they hold; times mean what the partitioning says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from tranche.errors import KeyRejected, SourceMissing, StatementFailed
from tranche.lakes.execution import Execution

if TYPE_CHECKING:
    from .conftest import Bench

TENANT = """\
-- pipeline
-- partitioned dynamic key="$.tenant"
-- materialize lake://main/@t
SELECT '{partition}' AS token, $partition AS bound, length('{partition}') AS size
"""
AWKWARD = (
    "x' OR '1'='1",
    "line\nbreak",
    "tab\t and  spaces ",
    'double " quote',
    "back\\slash \\' \\n",
    "{partition}",
    "-- comment",
    "/* block */ ; DROP TABLE t",
    "${env:HOME} ${spark.app.name}",
    ":_tranche_key ?",
    "日本 🎉 é",
    "a/b|c,d=e%20%2F..",
    "`ticks`",
    "k" * 500,
)


def test_keys_are_stored_and_read_back_as_they_are(bench: Bench) -> None:
    for key in AWKWARD:
        assert bench.run(TENANT, attempt="a", partition=key).rows == 1
    rows = bench.sql("SELECT * FROM @t")
    assert sorted(row["_tranche_partition"] for row in rows) == sorted(AWKWARD)
    for row in rows:
        key = row["_tranche_partition"]
        assert (row["token"], row["bound"], row["size"]) == (key, key, len(key))


@pytest.mark.parametrize("key", ["x' OR '1'='1", "line\nbreak"])
def test_an_awkward_key_replaces_only_its_own_slice(bench: Bench, key: str) -> None:
    bench.run(TENANT, partition="other")
    bench.run(TENANT, partition=key)
    bench.run(TENANT, partition=key)
    rows = bench.sql("SELECT _tranche_partition AS key FROM @t ORDER BY 1")
    assert [row["key"] for row in rows] == sorted(["other", key])


def test_a_preview_of_an_awkward_key_shows_its_slice(bench: Bench) -> None:
    from tranche.model.asset import LakeTable

    key = "x' OR '1'='1"
    bench.run(TENANT, partition="other")
    bench.run(TENANT, partition=key)
    rows = bench.engine.preview(LakeTable("main", "t", bench.schema), key, limit=10).rows
    assert [record["token"] for record in rows.records()] == [key]


def test_arguments_are_bound_with_their_types(bench: Bench) -> None:
    script = """\
-- pipeline
-- $n (int)
-- $price (decimal(10,2)) = 12.50
-- $since (date) = 2026-01-01
-- $at (timestamp) = 2026-05-16T09:30:00
-- $on (boolean) = true
-- $text (text) = it's
-- $nothing (bigint) = null
SELECT $n + 1 AS n, $price AS price, $since AS since, $at AS at, $on AS on_, $text AS text,
       $nothing AS nothing, typeof($price) AS type
FROM range(10) LIMIT $n
"""
    result = bench.run(script, arguments={"n": "2", "text": "a' OR \\ --"}).result
    assert result is not None
    assert (
        result.records()
        == [
            {
                "n": 3,
                "price": pytest.approx(12.5),
                "since": "2026-01-01",
                "at": "2026-05-16T09:30:00Z",
                "on_": True,
                "text": "a' OR \\ --",
                "nothing": None,
                "type": "decimal(10,2)",
            }
        ]
        * 2
    )


def test_spark_replaces_no_variables_in_literals(bench: Bench) -> None:
    result = bench.run("-- pipeline\nSELECT '${env:HOME}' AS a, \"${x}\" AS b").result
    assert result is not None
    assert result.records() == [{"a": "${env:HOME}", "b": "${x}"}]


def test_a_day_is_a_day_in_the_partitionings_zone(bench: Bench) -> None:
    bench.sql("CREATE TABLE @src (id INT, at TIMESTAMP) USING iceberg")
    # 22:30 UTC on the 15th is half past midnight on the 16th in Paris.
    bench.sql(
        "INSERT INTO @src VALUES (1, TIMESTAMP'2026-05-15 22:30:00Z'), (2, TIMESTAMP'2026-05-15 21:30:00Z')"
    )
    script = (
        '-- pipeline\n-- partitioned daily tz="{zone}"\n-- materialize lake://main/@t_{n}\n'
        "SELECT id FROM @src WHERE at::date = '{{partition}}'"
    )
    for n, zone in enumerate(("Europe/Paris", "UTC")):
        bench.run(script.format(zone=zone, n=n), partition="2026-05-16")
    assert bench.sql("SELECT id FROM @t_0") == [{"id": 1}]
    assert bench.sql("SELECT id FROM @t_1") == []


def test_without_a_key_the_token_is_null(bench: Bench) -> None:
    script = (
        '-- pipeline\n-- partitioned daily start="2030-01-01"\n'
        "SELECT $partition IS NULL AS a, '{partition}' IS NULL AS b"
    )
    result = bench.run(script, fire_time=datetime(2026, 5, 16, tzinfo=UTC)).result
    assert result is not None
    assert result.records() == [{"a": True, "b": True}]


class TestFiles:
    SCRIPT = """\
-- pipeline
-- partitioned dynamic key="$.k"
-- materialize lake://main/@t
SELECT * FROM read_json('in/' || '{partition}' || '.json')
"""

    def test_paths_start_at_the_project(self, bench: Bench) -> None:
        bench.write("in/one.json", '{"a": 1}\n{"a": 2}\n')
        assert bench.run(self.SCRIPT, partition="one").rows == 2

    def test_a_missing_path_is_named_with_its_line(self, bench: Bench) -> None:
        with pytest.raises(
            SourceMissing, match=r"pipelines/script.sql:4: nothing is at .*in/no.json"
        ):
            bench.run(self.SCRIPT, partition="no")

    def test_a_key_is_no_pattern(self, bench: Bench) -> None:
        bench.write("in/a1.json", '{"a": 1}\n')
        bench.write("in/a[1].json", '{"a": 2}\n')
        bench.write("in/a*.json", '{"a": 3}\n')
        bench.run(self.SCRIPT, partition="a[1]")
        bench.run(self.SCRIPT, partition="a*")
        rows = bench.sql("SELECT _tranche_partition AS key, a FROM @t ORDER BY a")
        assert rows == [{"key": "a[1]", "a": 2}, {"key": "a*", "a": 3}]

    @pytest.mark.parametrize("key", ["../secret", "a/../../b", ".."])
    def test_a_key_does_not_climb_out_of_its_folder(self, bench: Bench, key: str) -> None:
        with pytest.raises(KeyRejected, match="cannot be part of a path"):
            bench.run(self.SCRIPT, partition=key)

    def test_options_and_patterns_of_the_script_itself(self, bench: Bench) -> None:
        bench.write("csv/1.csv", "a;b\n1;x\n")
        bench.write("csv/2.csv", "a;b\n2;y\n")
        script = (
            "-- pipeline\nSELECT a + 1 AS a, b FROM"
            " read_csv('csv/*.csv', header => true, sep => ';', schema => 'a int, b string') ORDER BY a"
        )
        result = bench.run(script).result
        assert result is not None
        assert result.records() == [{"a": 2, "b": "x"}, {"a": 3, "b": "y"}]

    def test_parquet_and_joins_of_two_reads(self, bench: Bench) -> None:
        bench.write("in/two.json", '{"a": 1}\n')
        bench.sql("CREATE TABLE @t (a BIGINT) USING iceberg")
        script = (
            "-- pipeline\nSELECT l.a, r.a AS b FROM read_json('in/two.json') l"
            " JOIN read_json('in/two.json') AS r ON l.a = r.a"
        )
        result = bench.run(script).result
        assert result is not None
        assert result.records() == [{"a": 1, "b": 1}]


class TestFailures:
    def test_a_missing_source_is_named(self, bench: Bench) -> None:
        with pytest.raises(
            SourceMissing,
            match=r"lake://main/.*\.nowhere does not exist, and pipelines/script.sql reads it",
        ):
            bench.run("-- pipeline\nSELECT * FROM @nowhere")

    def test_a_missing_column_is_located(self, bench: Bench) -> None:
        script = "-- pipeline\n\nSELECT id,\n  nope\nFROM range(3)"
        with pytest.raises(StatementFailed, match=r"^pipelines/script.sql:4: .*nope"):
            bench.run(script)

    def test_a_bad_cast_fails_the_step_and_writes_nothing(self, bench: Bench) -> None:
        script = (
            "-- pipeline\n-- partitioned daily\n-- materialize lake://main/@t\n"
            "SELECT CAST(x AS INT) AS x FROM VALUES ('1'), ('two') AS v(x)"
        )
        with pytest.raises(StatementFailed, match="'two'"):
            bench.run(script, partition="2026-05-16")
        assert bench.sql(f"SHOW TABLES IN main.`{bench.schema}` LIKE 't'") == []

    def test_a_bad_schema_option_is_located(self, bench: Bench) -> None:
        bench.write("in/s.json", "{}")
        with pytest.raises(StatementFailed, match=r"^pipelines/script.sql:2: "):
            bench.run("-- pipeline\nSELECT * FROM read_json('in/s.json', schema => 'a nonsense')")


class TestScripts:
    def test_setup_statements_and_aliases(self, bench: Bench) -> None:
        bench.sql("CREATE TABLE @src (id INT) USING iceberg")
        bench.sql("INSERT INTO @src VALUES (1), (2)")
        script = f"""\
-- pipeline
-- partitioned daily
-- materialize lake://main/@t
ATTACH 'lake://main' AS dl;
SET spark.sql.shuffle.partitions = 3;
CREATE TEMPORARY VIEW picked AS
  SELECT dl.{bench.schema}.src.id, '{{partition}}' AS day FROM dl.{bench.schema}.src WHERE id > 1; -- a ; here
SELECT id, day FROM picked
"""
        staged, _ = bench.tried(script, partition="2026-05-16")
        assert bench.sql("SELECT id, day FROM @t") == [{"id": 2, "day": "2026-05-16"}]
        assert list(staged.sources) == [f"lake://main/{bench.schema}.src"]

    def test_temporary_views_do_not_outlive_their_attempt(self, bench: Bench) -> None:
        bench.run("-- pipeline\nCREATE TEMPORARY VIEW v AS SELECT 1 AS a; SELECT * FROM v")
        bench.run("-- pipeline\nCREATE TEMPORARY VIEW v AS SELECT 2 AS a; SELECT * FROM v")

    def test_reads_are_pinned_to_the_snapshot_at_the_start(self, bench: Bench) -> None:
        bench.sql("CREATE TABLE @src (id INT) USING iceberg")
        bench.sql("INSERT INTO @src VALUES (1)")
        (before,) = bench.sql("SELECT CAST(snapshot_id AS STRING) AS id FROM @src.snapshots")
        work = bench.work("-- pipeline\nSELECT src.id, s.id AS o FROM @src CROSS JOIN @src s")
        session = bench.engine._spark.open()
        execution = Execution(session, bench.engine._settings, work)
        assert work.step.script.query is not None
        frame = execution.sql(work.step.script.query)
        bench.sql("INSERT INTO @src VALUES (2)")
        assert frame.count() == 1
        assert execution.sources == {f"lake://main/{bench.schema}.src": before["id"]}

    def test_a_column_that_was_added_since_the_last_commit_is_seen(self, bench: Bench) -> None:
        bench.sql("CREATE TABLE @src (id INT) USING iceberg")
        bench.sql("INSERT INTO @src VALUES (1)")
        bench.sql("ALTER TABLE @src ADD COLUMN late STRING")
        result = bench.run("-- pipeline\nSELECT id, late FROM @src").result
        assert result is not None
        assert result.records() == [{"id": 1, "late": None}]

    def test_a_script_without_materialize_returns_some_rows(self, bench: Bench) -> None:
        written = bench.run("-- pipeline\nSELECT id FROM range(5000)")
        assert written.result is not None
        assert (len(written.result.values), written.result.more) == (1000, True)

    def test_a_manual_script_writes_by_itself(self, bench: Bench) -> None:
        script = """\
-- pipeline
-- partitioned daily
-- materialize manual lake://main/@t
CREATE TABLE IF NOT EXISTS @t (day STRING) USING iceberg;
DELETE FROM @t WHERE day = '{partition}';
INSERT INTO @t SELECT $partition;
"""
        first = bench.run(script, partition="2026-05-16")
        bench.run(script, partition="2026-05-16")
        assert bench.sql("SELECT * FROM @t") == [{"day": "2026-05-16"}]
        assert first.snapshot is not None

    def test_the_key_of_the_fire_time(self, bench: Bench) -> None:
        script = (
            "-- pipeline\n-- partitioned hourly tz=\"Asia/Kolkata\"\nSELECT '{partition}' AS key"
        )
        result = bench.run(script, fire_time=datetime(2026, 5, 16, 18, 29, 59, tzinfo=UTC)).result
        assert result is not None
        assert result.records() == [{"key": "2026-05-16T23"}]


class TestHiddenFiles:
    """Spark passes over files whose names begin with _ or . without a word."""

    @pytest.mark.parametrize("key", ["_acme", ".acme"])
    def test_a_key_that_makes_a_hidden_file_is_refused(self, bench: Bench, key: str) -> None:
        bench.write(f"in/{key}.json", '{"a": 1}\n')
        with pytest.raises(SourceMissing, match="are hidden"):
            bench.run(TestFiles.SCRIPT, partition=key)

    def test_a_folder_may_have_such_a_name(self, bench: Bench) -> None:
        bench.write("_landing/a.json", '{"a": 1}\n')
        result = bench.run("-- pipeline\nSELECT a FROM read_json('_landing')").result
        assert result is not None
        assert result.records() == [{"a": 1}]


def test_characters_of_patterns_in_the_projects_own_path(bench: Bench) -> None:
    work = bench.work("-- pipeline\nSELECT a FROM read_json('x.json')")
    for folder, value in (("p[b]", 1), ("pb", 2)):
        bench.write(f"{folder}/x.json", f'{{"a": {value}}}')
    settings = replace(bench.engine._settings, root=str(bench.root / "p[b]"))
    execution = Execution(bench.engine._spark.open(), settings, work)
    execution.stage()
    written = execution.publish()
    assert written.result is not None
    assert written.result.records() == [{"a": 1}]
