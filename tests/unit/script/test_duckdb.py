"""DuckDB's SQL: how it is read, and where its words come to stand."""

from __future__ import annotations

import itertools

import duckdb
import pytest
from sqlglot import exp

from tranche.script.duckdb.pieces import Refused
from tranche.script.duckdb.syntax import parse, tokens_of
from tranche.script.lakes import Lakes
from tranche.script.lineage import script_lineage
from tranche.script.read import ScriptRead
from tranche.script.sql import read_sql_script

LAKES = Lakes(frozenset({"main"}), "main")
OPERATORS: dict[str, type[exp.Expr]] = {
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "/": exp.Div,
    "//": exp.IntDiv,
    "%": exp.Mod,
    "&": exp.BitwiseAnd,
    "|": exp.BitwiseOr,
    "||": exp.DPipe,
    "=": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    ">=": exp.GTE,
    "AND": exp.And,
    "OR": exp.Or,
    "~~": exp.Like,
}
WORDS = {kind: word for word, kind in OPERATORS.items()}


def bracketed(node: exp.Expr) -> str:
    """An expression with all its brackets, as DuckDB names it."""
    if type(node) in WORDS:
        return f"({bracketed(node.this)} {WORDS[type(node)]} {bracketed(node.expression)})"
    return node.name


def test_operators_bind_as_in_duckdb() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t(a INT, b INT, c INT, p BOOL, q BOOL, r BOOL)")
    connection.execute("CREATE TABLE s(a TEXT, b TEXT, c TEXT)")
    compared = 0
    for one, other in itertools.product(OPERATORS, OPERATORS):
        if one == other and one in ("AND", "OR"):
            continue
        for columns, table in (("abc", "t"), ("abc", "s"), ("pqr", "t")):
            text = f"SELECT {columns[0]} {one} {columns[1]} {other} {columns[2]} FROM {table}"
            text = text.replace("~~", "LIKE")
            try:
                (column,) = connection.execute(text).description or ()
            except duckdb.Error:
                continue
            compared += 1
            assert bracketed(parse(tokens_of(text), text).expressions[0]) == column[0]
            break
    assert compared > 200


def script(*lines: str, dialect: str | None = "duckdb") -> ScriptRead:
    head = ["-- pipeline", *([f"-- dialect {dialect}"] if dialect else [])]
    return read_sql_script("s", "s.sql", "\n".join([*head, *lines]), LAKES)


def test_the_dialect_of_the_project_is_meant_where_none_is_said() -> None:
    text = "-- pipeline\nSELECT {'a': 1} AS a"
    assert read_sql_script("s", "s.sql", text, LAKES).faults
    found = read_sql_script("s", "s.sql", text, LAKES, "duckdb").script
    assert found is not None
    assert found.annotations.dialect == "duckdb"
    own = read_sql_script("s", "s.sql", text.replace("\n", "\n-- dialect spark\n"), LAKES, "duckdb")
    assert own.faults
    commented = (
        "/* first\n of all */ -- pipeline\n-- pipeline\n-- dialect duckdb\nSELECT {'a': 1} AS a"
    )
    assert read_sql_script("s", "s.sql", commented, LAKES).script is not None


def test_two_dialects_have_two_fingerprints() -> None:
    one, other = (script("SELECT 1 AS a", dialect=name).script for name in ("duckdb", "spark"))
    assert one is not None
    assert other is not None
    assert one.fingerprint != other.fingerprint


def test_quotes_are_those_of_duckdb() -> None:
    found = script("""SELECT 'a\\' AS "x""y", 'it''s', "b" FROM t""")
    assert [str(fault) for fault in found.faults] == [
        "s.sql:3: a column without a name, which the engines would name differently;"
        " give it one with AS"
    ]
    found = script("""SELECT 'a\\' AS "x`y", 'it''s --' AS z FROM t -- 'open""")
    assert found.script is not None
    assert found.script.columns == ("x`y", "z")


def test_each_statement_has_its_own_fault() -> None:
    found = script("SET a = 1;", "SET threads = 1;", "SELECT", "  median(x) AS m", "FROM t")
    assert [fault.place.line for fault in found.faults] == [3, 6]


def test_names_that_are_words_of_spark_are_quoted() -> None:
    found = script('SELECT minus.a AS "semi" FROM t AS minus').script
    assert found is not None
    assert found.query is not None
    assert "`minus`.a AS `semi`" in str(found.query.parts[0])


@pytest.mark.parametrize(
    "text", ["SELECT (1", "SELECT FROM WHERE", "SELECT 1 AS a FROM", ")", "SELECT a b c"]
)
def test_what_does_not_parse_is_a_fault(text: str) -> None:
    with pytest.raises(Refused):
        parse(tokens_of(text), text)
    assert script(text).script is None


def test_columns_that_are_read_are_known() -> None:
    found = script(
        "FROM orders", "SELECT id, amount / 2 AS half", "WHERE day = '2024-01-01'"
    ).script
    assert found is not None
    assert {(read.column, read.line) for read in found.columns_read} == {
        ("id", 4),
        ("amount", 4),
        ("day", 5),
    }


def test_lineage_goes_by_the_translation() -> None:
    found = script(
        "-- materialize lake://main/r",
        "CREATE TEMP TABLE priced AS FROM orders SELECT *, amount / qty AS price;",
        "SELECT customer, round(price, 2) AS price, [upper(tag) FOR tag IN tags] AS tags",
        "FROM priced WHERE placed::DATE = DATE '2024-01-01'",
    ).script
    assert found is not None
    traced = script_lineage(found, lambda asset: None)
    assert traced.unknown == ()
    assert {
        column.column: {origin.source.column for origin in column.direct}
        for column in traced.columns
    } == {"customer": {"customer"}, "price": {"amount", "qty"}, "tags": {"tags"}}
    assert {influence.source.column for influence in traced.rows} == {"placed"}
