"""DuckDB's types in Spark's words, and families of them."""

from __future__ import annotations

import re

from sqlglot import exp

from tranche.script.duckdb.pieces import Piece, refused

WHOLE = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
TIMES = ("date", "timestamp", "timestamp_ntz")
_NAMES = {
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INT": "int",
    "BIGINT": "bigint",
    "FLOAT": "float",
    "DOUBLE": "double",
    "TEXT": "string",
    "VARCHAR": "string",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp_ntz",
    "TIMESTAMPNTZ": "timestamp_ntz",
    "TIMESTAMPTZ": "timestamp",
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_REMEDY = "use BOOLEAN, INTEGER, BIGINT, FLOAT, DOUBLE, DECIMAL, VARCHAR, DATE or TIMESTAMP"


def spark_type(node: exp.DataType) -> str:
    """The type that a cast names, as Spark calls it."""
    kind = str(getattr(node.this, "name", node.this)).upper()
    if kind == "DECIMAL":
        sizes = [int(size.name) for size in node.expressions]
        precision, scale = (*sizes, 18, 3)[:2] if not sizes else (*sizes, 0)[:2]
        if not (0 < precision <= 38 and scale <= precision):
            raise refused(node, f"DECIMAL({precision},{scale}) is no type", "use 1 to 38 digits")
        return f"decimal({precision},{scale})"
    if kind in _NAMES:
        return _NAMES[kind]
    called = {"INT128": "HUGEINT"}.get(kind, node.sql("duckdb"))
    raise refused(node, f"the type {called} has no counterpart in Spark", _REMEDY)


def nested_type(node: exp.DataType) -> str:
    """A type of columns of files, which may be a list or a struct."""
    kind = str(getattr(node.this, "name", node.this)).upper()
    inner = node.expressions
    if kind in ("ARRAY", "LIST") and len(inner) == 1:
        return f"array<{nested_type(inner[0])}>"
    if kind == "STRUCT" and all(isinstance(field, exp.ColumnDef) for field in inner):
        fields = (f"`{field.name}`: {nested_type(field.args['kind'])}" for field in inner)
        return f"struct<{', '.join(fields)}>"
    if kind == "MAP" and len(inner) == 2:
        return f"map<{nested_type(inner[0])}, {nested_type(inner[1])}>"
    return spark_type(node)


def is_decimal(type_: str | None) -> bool:
    return type_ is not None and type_.startswith("decimal")


def scale_of(type_: str) -> int:
    """
    >>> scale_of("decimal(10,2)")
    2
    """
    match = _DECIMAL.fullmatch(type_)
    return int(match[2]) if match else 0


def precision_of(type_: str) -> int:
    """
    >>> precision_of("decimal(10,2)")
    10
    """
    match = _DECIMAL.fullmatch(type_)
    return int(match[1]) if match else 0


def is_number(type_: str | None) -> bool:
    """Whether it is certainly one; `number` is one of which no more is known."""
    return type_ in (*WHOLE, *FLOATS, "number") or is_decimal(type_)


def is_whole(type_: str | None) -> bool:
    return type_ in WHOLE


def common(pieces: list[Piece]) -> str | None:
    """The type of values that go into one column, as far as it can be told."""
    types = {piece.type for piece in pieces if piece.type != "null"}
    if len(types) == 1:
        return types.pop()
    if None in types or not types:
        return None
    if types <= set(WHOLE):
        return max(types, key=lambda type_: WHOLE.index(type_ or ""))
    if all(map(is_number, types)):
        return "double" if "double" in types else "number"
    return None
