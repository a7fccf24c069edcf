"""Files that a query reads: `read_json`, `read_csv` and `read_parquet` with DuckDB's options."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from tranche.script.duckdb.calls import called
from tranche.script.duckdb.pieces import literal, marked, refused
from tranche.script.duckdb.rules import say
from tranche.script.duckdb.types import nested_type

READERS = {
    "read_json": "json",
    "read_json_auto": "json",
    "read_ndjson": "json",
    "read_ndjson_auto": "json",
    "read_csv": "csv",
    "read_csv_auto": "csv",
    "read_parquet": "parquet",
    "parquet_scan": "parquet",
}
_ENDINGS = (".parquet", ".csv", ".json", ".ndjson", ".jsonl", ".tsv", ".csv.gz", ".json.gz")
_IGNORED = frozenset(
    {
        *("auto_detect", "ignore_errors", "maximum_object_size"),
        *("parallel", "buffer_size", "compression"),
        *("sample_size", "binary_as_string"),
    }
)
_COLUMNS = "write columns = {'id': 'BIGINT', 'name': 'VARCHAR'}"


def is_file(node: exp.Expr) -> bool:
    """Whether a name in FROM is that of a file."""
    return len(node.parts) == 1 and node.name.lower().endswith(_ENDINGS)  # type: ignore[attr-defined]


def read_named(node: exp.Expr) -> str:
    """`FROM 'orders.parquet'`"""
    if not node.name.lower().endswith(".parquet"):
        raise refused(
            node,
            f"the types of {node.name!r} would be guessed",
            f"use read_csv or read_json, and {_COLUMNS}",
        )
    _check_folders(node, "read_parquet", node.name, None)
    return f"read_parquet({marked(node.this, literal(node.name))})"


def read_call(node: exp.Expr) -> str:
    word = called(node)
    kind = READERS[word]
    if not node.expressions:
        raise refused(node, f"{word} without a path", "give it one")
    path, *rest = node.expressions
    options = _options(node, rest)
    _check_folders(node, word, _written(path), _flag(node, options, "hive_partitioning"))
    said = {"json": _json, "csv": _csv, "parquet": _parquet}[kind](node, word, options)
    for option in options:
        raise refused(node, f"the option {option} of {word} is not translated", "leave it out")
    listed = "".join(f", {name} => {value}" for name, value in said)
    return f"{marked(node, f'read_{kind}')}({_path(node, path)}{listed})"


def _check_folders(node: exp.Expr, word: str, path: str, hive: bool | None) -> None:
    """DuckDB makes columns of folders like `day=2024-01-01`, unless it is told not to."""
    folder = path.rpartition("/")[0]
    if hive:
        raise refused(
            node,
            f"hive_partitioning of {word} is not translated",
            "write hive_partitioning = false, and take the columns of the files",
        )
    if hive is None and ("=" in folder or "*" in folder):
        raise refused(
            node,
            f"{word} of folders, of which DuckDB makes columns if they are called like day=1",
            "write hive_partitioning = false",
        )


def _written(path: exp.Expr) -> str:
    """What of a path stands in the text."""
    if isinstance(path, exp.DPipe):
        return _written(path.this) + _written(path.expression)
    return str(path.this) if isinstance(path, exp.Literal) else ""


def _path(node: exp.Expr, path: exp.Expr) -> str:
    if isinstance(path, exp.DPipe):
        return f"{_path(node, path.this)} || {_path(node, path.expression)}"
    if isinstance(path, exp.Placeholder) or (isinstance(path, exp.Literal) and path.is_string):
        if isinstance(path, exp.Literal) and "**" in str(path.this):
            raise refused(node, "a path with ** is not translated", "use * for each folder")
        return say(path).text
    raise refused(
        node, "a path that is no text, '{partition}' or $argument", "join such pieces with ||"
    )


def _options(node: exp.Expr, rest: list[exp.Expr]) -> dict[str, exp.Expr]:
    found: dict[str, exp.Expr] = {}
    for item in rest:
        if not isinstance(item, exp.EQ | exp.PropertyEQ | exp.Kwarg):
            raise refused(node, "an option without a name", "write name = value")
        found[item.this.name.lower()] = item.expression
    return found


def _flag(node: exp.Expr, options: dict[str, exp.Expr], name: str) -> bool | None:
    value = options.pop(name, None)
    if value is None:
        return None
    if not isinstance(value, exp.Boolean):
        raise refused(node, f"the option {name} is neither true nor false", "write one of them")
    return bool(value.this)


def _text(node: exp.Expr, options: dict[str, exp.Expr], *names: str) -> str | None:
    for name in names:
        value = options.pop(name, None)
        if value is None:
            continue
        if not isinstance(value, exp.Literal) or not value.is_string:
            raise refused(node, f"the option {name} is no text", "write it as a literal")
        return str(value.this)
    return None


def _schema(node: exp.Expr, word: str, options: dict[str, exp.Expr]) -> str:
    columns = options.pop("columns", None)
    if not isinstance(columns, exp.Struct):
        raise refused(node, f"{word} without columns, whose types would be guessed", _COLUMNS)
    found: list[str] = []
    for column in columns.expressions:
        try:
            type_ = exp.DataType.build(column.expression.name, dialect="duckdb")
        except SqlglotError:
            raise refused(node, f"{column.expression.name!r} is no type", _COLUMNS) from None
        escaped = column.this.name.replace("`", "``")
        found.append(f"`{escaped}` {nested_type(type_)}")
    return ", ".join(found)


def _dropped(node: exp.Expr, word: str, options: dict[str, exp.Expr]) -> None:
    """Options that change no row are left out; those that hide errors are refused."""
    if _flag(node, options, "ignore_errors"):
        raise refused(node, f"ignore_errors of {word} is not translated", "clean the file")
    for name in _IGNORED & set(options):
        del options[name]


def _json(node: exp.Expr, word: str, options: dict[str, exp.Expr]) -> list[tuple[str, str]]:
    form = _text(node, options, "format") or "auto"
    # Of several values without lines between them, Spark would take the first.
    if form not in ("auto", "array", "newline_delimited"):
        raise refused(node, f"the format {form!r} of {word}", "use array or newline_delimited")
    schema = _schema(node, word, options)
    _dropped(node, word, options)
    several = "true" if form == "array" else "false"
    return [("schema", literal(schema)), ("multiLine", several), ("mode", "'FAILFAST'")]


def _csv(node: exp.Expr, word: str, options: dict[str, exp.Expr]) -> list[tuple[str, str]]:
    header = _flag(node, options, "header")
    if header is None:
        raise refused(node, f"{word} without header, which would be guessed", "write header = true")
    schema = _schema(node, word, options)
    null = _text(node, options, "nullstr", "null") or ""
    if null and " string" in schema:
        raise refused(
            node,
            f"{word} of texts with a nullstr, beside which Spark takes empty fields for NULL",
            "leave it out, and use nullif(column, 'NA')",
        )
    found = [
        ("schema", literal(schema)),
        ("header", "true" if header else "false"),
        ("sep", literal(_text(node, options, "delim", "sep", "delimiter") or ",")),
        ("quote", literal(_text(node, options, "quote") or '"')),
        ("escape", literal(_text(node, options, "escape") or '"')),
        ("nullValue", literal(null)),
        ("multiLine", "true"),
        ("mode", "'FAILFAST'"),
    ]
    _dropped(node, word, options)
    return found


def _parquet(node: exp.Expr, word: str, options: dict[str, exp.Expr]) -> list[tuple[str, str]]:
    union = _flag(node, options, "union_by_name")
    _dropped(node, word, options)
    return [("mergeSchema", "true")] if union else []
