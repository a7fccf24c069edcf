"""Statements: the query, and what may stand before it."""

from __future__ import annotations

from sqlglot import exp

from tranche.script.duckdb.pieces import literal, marked, name, refused
from tranche.script.duckdb.rules import only, say

_HARMLESS = frozenset(
    {
        *("threads", "worker_threads", "memory_limit"),
        *("max_memory", "temp_directory", "max_temp_directory_size"),
        *("enable_progress_bar", "enable_progress_bar_print", "preserve_insertion_order"),
        *("enable_object_cache", "http_timeout", "http_retries"),
    }
)
"""Settings that change no row."""
_EXTENSIONS = frozenset(
    {
        *("httpfs", "parquet", "json", "icu", "ducklake", "aws"),
        *("azure", "core_functions"),
    }
)
_SETUP = "before the SELECT stand only ATTACH, SET, LOAD and CREATE TEMP TABLE or VIEW"


def statement(node: exp.Expr) -> str | None:
    """A statement as Spark SQL; None if there is nothing to do."""
    if isinstance(node, exp.Query | exp.Values | exp.Pivot):
        return say(node).text
    if isinstance(node, exp.Attach):
        return _attach(node)
    if isinstance(node, exp.Create):
        return _create(node)
    if isinstance(node, exp.Set):
        return _set(node)
    if isinstance(node, exp.Install):
        _check_extension(node, node.this.name)
        return None
    if isinstance(node, exp.Command) and str(node.this).upper() == "LOAD":
        _check_extension(node, str(node.expression).strip().strip("'\""))
        return None
    if isinstance(node, exp.Use):
        raise refused(node, "USE is not translated", "write the lake before the names of tables")
    word = str(node.this) if isinstance(node, exp.Command) else type(node).__name__
    raise refused(node, f"{word.upper()} is not translated", _SETUP)


def _check_extension(node: exp.Expr, extension: str) -> None:
    if extension.lower() not in _EXTENSIONS:
        known = ", ".join(sorted(_EXTENSIONS))
        raise refused(
            node, f"the extension {extension!r} is not known", f"leave it out, or use {known}"
        )


def _attach(node: exp.Expr) -> str:
    for option in node.expressions:
        if option.name.upper() != "READ_ONLY":
            raise refused(node, "options of ATTACH are not translated", "set them in tranche.toml")
    this = node.this
    if isinstance(this, exp.Alias):
        return f"ATTACH {marked(this.this, literal(this.this.name))} AS {name(this.args['alias'])}"
    return f"ATTACH {marked(this, literal(this.name))}"


def _create(node: exp.Expr) -> str:
    """What is made once in DuckDB is a view here: what it reads does not change meanwhile."""
    properties = node.args.get("properties")
    temporary = properties is not None and any(
        isinstance(item, exp.TemporaryProperty) for item in properties.expressions
    )
    kind = str(node.args.get("kind")).upper()
    made = node.this
    if kind not in ("TABLE", "VIEW") or not temporary or node.expression is None:
        raise refused(made, f"CREATE {kind} of this form is not translated", _SETUP)
    if not isinstance(made, exp.Table) or len(made.parts) != 1 or node.args.get("exists"):
        raise refused(
            made, f"CREATE TEMP {kind} with more than a name", "write AS SELECT … behind it"
        )
    only(
        node,
        *("this", "kind", "replace", "expression", "properties", "exists", "refresh", "unique"),
        *("concurrently", "begin", "with_"),
    )
    replace = "OR REPLACE " if node.args.get("replace") else ""
    query = say(node.expression).text
    return f"CREATE {replace}TEMPORARY VIEW {name(made.this)} AS {query}"


def _set(node: exp.Expr) -> str | None:
    items = node.expressions
    pair = items[0].this if len(items) == 1 else None
    if not isinstance(pair, exp.EQ):
        raise refused(node, "SET of this form is not translated", "write SET name = value")
    setting = pair.this.name.lower()
    if setting in _HARMLESS:
        return None
    if setting == "timezone" and isinstance(pair.expression, exp.Literal):
        return f"SET TIME ZONE {say(pair.expression).text}"
    raise refused(node, f"the setting {setting} is not translated", "leave it out")
