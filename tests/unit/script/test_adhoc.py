"""Statements that somebody types."""

from __future__ import annotations

import pytest

from tranche.errors import UsageError
from tranche.model.asset import LakeTable
from tranche.model.layout import SetLayout, Transform
from tranche.model.statement import Statement
from tranche.script.adhoc import resolved_statement
from tranche.script.binding import Values, bind, quoted
from tranche.script.lakes import Lakes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM orders;", "SELECT * FROM `main`.`default`.`orders`"),
        ("SELECT * FROM other.raw.a.files", "SELECT * FROM `other`.`raw`.`a`.`files`"),
        ("DROP TABLE orders", "DROP TABLE `main`.`default`.`orders`"),
        ("SHOW TABLES IN main", "SHOW TABLES IN main"),
        ("SELECT * FROM json.`x`", "SELECT * FROM json.`x`"),
        ("SELECT * FROM spark_catalog.default.x", "SELECT * FROM spark_catalog.default.x"),
        ("REPAIR the world (", "REPAIR the world ("),
        ("ALTER TABLE a SET TBLPROPERTIES ('a' = 'b')", "ALTER TABLE `main`.`default`.`a` SET TBLPROPERTIES ('a' = 'b')"),
        ("SELECT 'ALTER TABLE a RESET PARTITIONED BY'", "SELECT 'ALTER TABLE a RESET PARTITIONED BY'"),
    ],
)  # fmt: skip
def test_names_are_resolved_and_the_rest_stays(text: str, expected: str, lakes: Lakes) -> None:
    found = resolved_statement(text, lakes)
    assert isinstance(found, Statement)
    bound = bind(found, Values(None, {}, {}), table=lambda hole: quoted(hole.table), files=str)
    assert bound.text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ALTER TABLE orders SET PARTITIONED BY (bucket(8, user_id), month(ts));", SetLayout(LakeTable("main", "orders"), (Transform("bucket", "user_id", 8), Transform("month", "ts")))),
        ("alter table other.raw.a\n  set partitioned  by (`my day`)", SetLayout(LakeTable("other", "a", "raw"), (Transform("identity", "my day"),))),
        ("ALTER TABLE `main`.`orders` RESET PARTITIONED BY", SetLayout(LakeTable("main", "orders"))),
    ],
)  # fmt: skip
def test_layouts(text: str, expected: SetLayout, lakes: Lakes) -> None:
    assert resolved_statement(text, lakes) == expected


FORM = "write ALTER TABLE <table> SET PARTITIONED BY (bucket(8, user_id), month(ts)), or ALTER TABLE <table> RESET PARTITIONED BY"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no statement; give one, as in tranche sql 'SELECT 1'"),
        ("-- nothing", "there is no statement; give one, as in tranche sql 'SELECT 1'"),
        ("SELECT 1; SELECT 2", "there are 2 statements; give one at a time; a script may hold several"),
        ("ALTER TABLE a SET PARTITIONED BY month(ts)", f"SET PARTITIONED BY does not parse; {FORM}"),
        ("ALTER TABLE a SET PARTITIONED BY ()", "the layout does not parse at ''; write it as bucket(8, user_id), month(ts)"),
        ("ALTER TABLE a SET PARTITIONED BY (bucket(0, b))", "bucket(0, …) has no buckets; give at least one"),
        ("ALTER TABLE a SET PARTITIONED BY (_tranche_partition)", "the layout names _tranche_partition, which Tranche manages; leave it out; a table with slices is always laid out by them"),
        ("ALTER TABLE a RESET PARTITIONED BY (b)", f"unexpected '(b)' after RESET PARTITIONED BY; {FORM}"),
        ("ALTER TABLE main.a.files RESET PARTITIONED BY", "files of lake://main/a is no table that has a layout"),
        ("ALTER TABLE mian.a RESET PARTITIONED BY", "unknown lake 'mian'; did you mean 'main'?"),
        ("SELECT 'a", "a quote is not closed; close it, or remove what stands there"),
        ("SELECT '{partition}'", "'{partition}' in a script without partitions; add a partitioned line, as in partitioned daily"),
        ("SELECT * FROM read_json('x')", "read_json, read_csv and read_parquet work in scripts only; query a file as json.`path`, csv.`path` or parquet.`path`"),
    ],
)  # fmt: skip
def test_wrong_use(text: str, message: str, lakes: Lakes) -> None:
    with pytest.raises(UsageError) as caught:
        resolved_statement(text, lakes)
    assert str(caught.value) == message
