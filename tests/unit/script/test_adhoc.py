"""Statements that somebody types."""

from __future__ import annotations

import pytest

from tranche.errors import UsageError
from tranche.script.adhoc import resolved_statement
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
    ],
)
def test_names_are_resolved_and_the_rest_stays(text: str, expected: str, lakes: Lakes) -> None:
    assert resolved_statement(text, lakes) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no statement; give one, as in tranche sql 'SELECT 1'"),
        ("-- nothing", "there is no statement; give one, as in tranche sql 'SELECT 1'"),
        ("SELECT 1; SELECT 2", "there are 2 statements; give one at a time; a script may hold several"),
        ("SELECT 'a", "a quote is not closed; close it, or remove what stands there"),
        ("SELECT '{partition}'", "'{partition}' in a script without partitions; add a partitioned line, as in partitioned daily"),
        ("SELECT * FROM read_json('x')", "read_json, read_csv and read_parquet work in scripts only; query a file as json.`path`, csv.`path` or parquet.`path`"),
    ],
)  # fmt: skip
def test_wrong_use(text: str, message: str, lakes: Lakes) -> None:
    with pytest.raises(UsageError) as caught:
        resolved_statement(text, lakes)
    assert str(caught.value) == message
