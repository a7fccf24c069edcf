"""What stands in FROM: tables, files, series of numbers, joins, PIVOT and UNPIVOT."""

from __future__ import annotations

import re

from sqlglot import exp

from tranche.script.duckdb.calls import called, constant_number
from tranche.script.duckdb.files import READERS, is_file, read_call, read_named
from tranche.script.duckdb.intervals import (
    MONTHS,
    constant_size,
    interval_text,
    is_clock,
    moment,
    unit_of,
)
from tranche.script.duckdb.pieces import Piece, marked, name, refused
from tranche.script.duckdb.places import check_listed
from tranche.script.duckdb.rules import guarded, line_of, only, rule, say

_SPARKS_OWN = frozenset(
    {
        *("explode", "explode_outer", "posexplode"),
        *("posexplode_outer", "inline", "inline_outer"),
        *("stack", "json_tuple", "variant_explode"),
        *("variant_explode_outer", "collations", "sql_keywords"),
        *("python_worker_logs"),
    }
)
"""Table functions of Spark, which DuckDB has not."""
_DUCKDBS_OWN = frozenset(
    {
        *("glob", "read_text", "read_blob", "read_xlsx", "parquet_metadata", "parquet_schema"),
        *("parquet_file_metadata", "parquet_kv_metadata", "sniff_csv"),
        *("repeat", "repeat_row", "summary"),
        *("json_each", "json_tree", "query", "query_table", "test_all_types", "iceberg_scan"),
        *("delta_scan", "sqlite_scan", "postgres_scan"),
        *("mysql_scan", "st_read", "read_ndjson_objects"),
        *("read_json_objects", "ducklake_snapshots", "ducklake_table_changes"),
        *("ducklake_list_files", "ducklake_table_info", "pragma_table_info"),
        *("arrow_scan", "seq_scan"),
    }
)
_ASOF = "ASOF"


def relation(node: exp.Expr, *, first: bool = False) -> str:
    """A relation of FROM; only one that is not the first can be beside others."""
    check_listed(node)
    if isinstance(node, exp.Table):
        return _table(node)
    if isinstance(node, exp.Unnest):
        return _unnest(node, node.args.get("alias"), first=first)
    if isinstance(node, exp.Subquery):
        only(node, "this", "alias", "pivots")
        return f"({say(node.this).text}){_pivots(node)}{with_alias(node)}"
    if isinstance(node, exp.Values):
        return say(node).text
    if isinstance(node, exp.Lateral):
        only(node, "this", "alias", "view", "outer")
        if isinstance(node.this, exp.Unnest):
            return _unnest(node.this, node.args.get("alias"), first=first)
        if not isinstance(node.this, exp.Subquery):
            raise refused(node, "LATERAL of something else than a query", "use a subquery")
        return f"LATERAL ({say(node.this.this).text}){with_alias(node)}"
    if isinstance(node, exp.Pivot):
        return f"({say(node).text}){with_alias(node)}"
    raise refused(node, f"{type(node).__name__} in FROM is not translated", "use a subquery")


def with_alias(node: exp.Expr) -> str:
    alias = node.args.get("alias")
    if alias is None or alias.this is None:
        return ""
    columns = ", ".join(map(name, alias.args.get("columns") or ()))
    return f" AS {name(alias.this)}" + (f"({columns})" if columns else "")


def _table(node: exp.Expr) -> str:
    if node.args.get("sample") is not None:
        raise refused(node, "SAMPLE takes other rows each time", "filter the rows")
    only(node, "this", "db", "catalog", "alias", "when", "pivots", "joins")
    if node.args.get("joins"):
        raise refused(node, "joins in brackets are not translated", "leave the brackets out")
    if isinstance(node.this, exp.Anonymous):
        return f"{_function(node)}"
    if is_file(node):
        return f"{read_named(node)}{_pivots(node)}{with_alias(node)}"
    named = node.parts if isinstance(node, exp.Table) else []
    parts = ".".join(name(part) for part in named if isinstance(part, exp.Identifier))
    return f"{parts}{_version(node)}{_pivots(node)}{with_alias(node)}"


def _version(node: exp.Expr) -> str:
    """`AT (VERSION => 3)`"""
    when = node.args.get("when")
    if when is None:
        return ""
    kind = str(when.args.get("kind")).upper()
    value = when.expression
    if kind == "VERSION" and isinstance(value, exp.Literal):
        return f" VERSION AS OF {say(value).text}"
    raise refused(node, f"AT ({kind} => …) is not translated", "use AT (VERSION => 3)")


def _function(node: exp.Expr) -> str:
    function = node.this
    word = called(function)
    if word in READERS:
        return f"{read_call(function)}{_pivots(node)}{with_alias(node)}"
    if word in ("range", "generate_series"):
        return _series(node, function, word)
    if word in _SPARKS_OWN or word in _DUCKDBS_OWN or word.startswith(("duckdb_", "pragma_")):
        raise refused(function, f"the table function {word} is not translated", "use a table")
    # Somebody gave it to the session; it is neither DuckDB's nor Spark's.
    arguments = ", ".join(say(argument).text for argument in function.expressions)
    return f"{marked(function, str(function.this))}({arguments}){with_alias(node)}"


def _series(node: exp.Expr, function: exp.Expr, word: str) -> str:
    """Whole numbers, or times at equal distances."""
    arguments = function.expressions
    if len(arguments) == 3 and isinstance(arguments[2], exp.Interval):
        text = _series_of_times(function, word, arguments)
        return f"(SELECT explode({text}) AS {word}){with_alias(node) or f' AS {word}'}"
    if not 1 <= len(arguments) <= 3:
        raise refused(function, f"{word} with {len(arguments)} arguments", "give it 1 to 3")
    start, end = (None, arguments[0]) if len(arguments) == 1 else arguments[:2]
    step = constant_number(arguments[2]) if len(arguments) > 2 else 1
    if not step:
        raise refused(function, f"{word} with a computed step or none", "write the step")
    first = "0" if start is None else say(start).text
    last = say(end)
    if word == "generate_series":
        last = Piece(f"{last.tight} {'+' if step > 0 else '-'} 1")
    text = f"(SELECT id AS {word} FROM range({first}, {last.text}, {step}))"
    return f"{text}{with_alias(node) or f' AS {word}'}"


def _series_of_times(node: exp.Expr, word: str, arguments: list[exp.Expr]) -> str:
    """Nothing, where the start lies behind the end."""
    start, end = (moment(node, say(argument)) for argument in arguments[:2])
    step = arguments[2]
    size = constant_size(step)
    if not size:
        raise refused(node, f"{word} with a computed step or none", "write the step")
    forward = "<=" if size > 0 else ">="
    listed = f"sequence({start.text}, {end.text}, {interval_text(step)})"
    if unit_of(step) in MONTHS:
        listed = _by_months(node, arguments[0], start, listed)
    text = f"if({start.tight} {forward} {end.tight}, {listed}, NULL)"
    if not is_clock(step) and start.type != "timestamp_ntz":
        what = f"{word} by days or months of times with a zone"
        bad = [f"typeof({start.text}) = 'timestamp'"]
        text = guarded(node, text, bad, what, "cast them to TIMESTAMP")
    if word == "range":
        before = "<" if size > 0 else ">"
        return f"filter({text}, _tranche_x -> _tranche_x {before} {end.tight})"
    return text


def _by_months(node: exp.Expr, written: exp.Expr, start: Piece, listed: str) -> str:
    """DuckDB goes from each to the next, so that the 31st becomes the 29th for good; Spark goes from
    the first to each."""
    text = str(written.this.this) if isinstance(written, exp.Cast) else ""
    if re.fullmatch(r"\d{4}-\d\d-([01]\d|2[0-8])( .*)?", text):
        return listed
    said = "a series by months that begins behind the 28th; begin earlier"
    late = f"raise_error('line {line_of(node)}: {said}')"
    return f"if(day({start.text}) > 28, {late}, {listed})"


def _unnest(node: exp.Expr, alias: exp.Expr | None, *, first: bool) -> str:
    only(node, "expressions", "alias")
    if len(node.expressions) != 1:
        raise refused(node, "unnest of several lists", "use one after the other")
    values = say(node.expressions[0]).text
    called_ = name(alias.this) if alias is not None and alias.this is not None else "unnest"
    columns = alias.args.get("columns") if alias is not None else None
    column = name(columns[0]) if columns else "unnest"
    lateral = "" if first else "LATERAL "
    return f"{lateral}explode({values}) AS {called_}({column})"


def joined(node: exp.Expr) -> str:
    """A join with what stands before it, or a comma."""
    only(node, "this", "method", "side", "kind", "on", "using")
    method = str(node.args.get("method") or "").upper()
    side = str(node.args.get("side") or "").upper()
    kind = str(node.args.get("kind") or "").upper()
    if method not in ("", _ASOF, "NATURAL"):
        raise refused(node, f"{method} JOIN is not translated", "join by a column")
    on, using = node.args.get("on"), node.args.get("using")
    right = relation(node.this)
    if not (method or side or kind or on or using):
        return f", {right}"
    if kind in ("SEMI", "ANTI"):
        side = side or "LEFT"
    if kind == "OUTER":
        kind = ""
    words = " ".join(word for word in (method, side, kind, "JOIN") if word)
    if on is not None:
        return f"{words} {right} ON {say(on).text}"
    if using:
        return f"{words} {right} USING ({', '.join(map(name, using))})"
    if isinstance(node.this, exp.Unnest | exp.Lateral) and side:
        return f"{words} {right} ON true"
    return f"{words} {right}"


def _pivots(node: exp.Expr) -> str:
    return "".join(_pivot_clause(pivot) for pivot in node.args.get("pivots") or ())


def _pivot_clause(node: exp.Expr) -> str:
    """`UNPIVOT (value FOR name IN (a, b))`; PIVOT with a list of values."""
    if node.args.get("include_nulls"):
        raise refused(node, "UNPIVOT INCLUDE NULLS is not translated", "use UNION ALL")
    fields: list[exp.Expr] = list(node.args.get("fields") or ())
    if len(fields) != 1 or not isinstance(fields[0], exp.In) or node.args.get("group"):
        raise refused(node, "PIVOT of this form is not translated", "use sum(x) FILTER (…)")
    if len(node.expressions) != 1:
        raise refused(node, "PIVOT of several values is not translated", "use sum(x) FILTER (…)")
    values = node.expressions[0]
    listed = ", ".join(say(item).text for item in fields[0].expressions)
    if not listed:
        raise refused(node, "PIVOT without a list of values", "write … IN (1, 2)")
    word = "UNPIVOT" if node.args.get("unpivot") else "PIVOT"
    if word == "PIVOT" and _is_count(values):
        raise refused(
            node,
            "PIVOT of a count, which is 0 in DuckDB where there is nothing and NULL in Spark",
            "write PIVOT t ON y IN (1, 2) USING count(x) GROUP BY z",
        )
    alias = with_alias(node)
    return f" {word} ({say(values).text} FOR {say(fields[0].this).text} IN ({listed})){alias}"


@rule(exp.Pivot)
def pivot_statement(node: exp.Expr) -> Piece:
    """`UNPIVOT t ON a, b INTO NAME n VALUE v`, `PIVOT t ON y IN (1, 2) USING sum(v) GROUP BY c`."""
    only(node, "this", "expressions", "using", "unpivot", "into", "group", "alias", "with_")
    if node.args.get("with_") is not None:
        raise refused(node, "WITH before PIVOT is not translated", "use a subquery")
    source = relation(node.this, first=True)
    if node.args.get("unpivot"):
        into = node.args.get("into")
        named = name(_plain(into.this)) if into is not None else "name"
        values = into.expressions if into is not None else []
        value = name(_plain(values[0])) if len(values) == 1 else "value"
        columns = ", ".join(say(column).text for column in node.expressions)
        return Piece(f"SELECT * FROM {source} UNPIVOT ({value} FOR {named} IN ({columns}))")
    return Piece(_pivoted(node, source))


def _plain(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Column) else node


def _pivoted(node: exp.Expr, source: str) -> str:
    using = node.args.get("using") or []
    if len(node.expressions) != 1 or len(using) != 1:
        raise refused(node, "PIVOT of several columns or values", "use sum(x) FILTER (…)")
    [on] = node.expressions
    if not isinstance(on, exp.In) or not isinstance(on.this, exp.Column):
        raise refused(
            node,
            "PIVOT without a list of values, whose columns nobody knows",
            "write ON y IN (1, 2)",
        )
    [made] = using
    inner = made.this if isinstance(made, exp.Alias) else made
    if isinstance(made, exp.Alias) or len(inner.expressions) != 1:
        raise refused(node, "PIVOT with a named or large value", "use USING sum(x)")
    group = node.args.get("group")
    if group is None or not all(isinstance(key, exp.Column) for key in group.expressions):
        raise refused(node, "PIVOT without GROUP BY columns", "add GROUP BY")
    keys = [say(key).text for key in group.expressions]
    value = inner.expressions[0]
    if not isinstance(value, exp.Column):
        raise refused(node, "PIVOT of a computed value", "compute it in a subquery")
    columns = ", ".join(dict.fromkeys([*keys, say(on.this).text, say(value).text]))
    listed = ", ".join(say(item).text for item in on.expressions)
    clause = f"PIVOT ({say(inner).text} FOR {say(on.this).text} IN ({listed}))"
    made_ = _counted(node, on, keys) if _is_count(inner) else "*"
    return f"SELECT {made_} FROM (SELECT {columns} FROM {source}) {clause}"


def _is_count(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and called(node) == "count"


def _counted(node: exp.Expr, on: exp.Expr, keys: list[str]) -> str:
    """The columns of a PIVOT of counts: 0 where there is nothing."""
    found = list(keys)
    for item in on.expressions:
        if not isinstance(item, exp.Literal):
            raise refused(node, "PIVOT of a count for something else than literals", "write them")
        escaped = item.name.replace("`", "``")
        found.append(f"coalesce(`{escaped}`, 0) AS `{escaped}`")
    return ", ".join(found)
