"""Casts, which round in another way than Spark's."""

from __future__ import annotations

import re

from sqlglot import exp

from tranche.model.asset import PARTITION_TOKEN
from tranche.script.duckdb.doubles import as_decimal, as_double
from tranche.script.duckdb.operators import as_text
from tranche.script.duckdb.pieces import Piece, refused
from tranche.script.duckdb.rules import only, rule, say
from tranche.script.duckdb.types import (
    FLOATS,
    WHOLE,
    is_decimal,
    is_whole,
    nested_type,
    spark_type,
)
from tranche.script.duckdb.zones import later

_DATE = re.compile(r"\s*\d{4}-\d{1,2}-\d{1,2}\s*")
_TIMESTAMP = re.compile(r"\s*\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?\s*")
_ZONED = re.compile(
    r"\s*\d{4}-\d{1,2}-\d{1,2}( \d{1,2}:\d{2}:\d{2}(\.\d{1,6})?([+-]\d{2}(:\d{2})?|Z)?)?\s*"
)
_ZONE = ":[0-9.]+ *[A-Za-z+-]"
"""What stands in a text with a time and its zone."""
_FORMS = {"date": _DATE, "timestamp_ntz": _TIMESTAMP, "timestamp": _ZONED}


@rule(exp.Cast)
def cast(node: exp.Expr) -> Piece:
    only(node, "this", "to", "_type", "safe")
    if _is_nested(node):
        return _cast_list(node)
    target = spark_type(node.args["to"])
    _check_literal(node.this, target)
    if target == "timestamp" and _is_certain(node.this):
        return Piece(f"CAST({say(node.this).text} AS TIMESTAMP)", target)
    return converted(node, say(node.this), target)


def _is_nested(node: exp.Expr) -> bool:
    return bool(node.args["to"].args.get("nested"))


def _cast_list(node: exp.Expr) -> Piece:
    """`[]::INTEGER[]`: a list that has nothing to convert."""
    if not isinstance(node.this, exp.Array) or node.this.expressions:
        raise refused(
            node,
            "a cast of a list, struct or map is not translated",
            "cast its elements, as in [x::VARCHAR FOR x IN list]",
        )
    return Piece(f"CAST(array() AS {nested_type(node.args['to']).upper()})", "list")


def _check_literal(node: exp.Expr, target: str) -> None:
    """Spark takes more texts for dates and times than DuckDB does."""
    form = _FORMS.get(target)
    if form is None or not isinstance(node, exp.Literal) or not node.args.get("is_string"):
        return
    text = str(node.this)
    if PARTITION_TOKEN not in text and "{partition." not in text and not form.fullmatch(text):
        raise refused(
            node, f"{text!r} is not translated as a {target}", "write YYYY-MM-DD HH:MM:SS"
        )


def _is_certain(node: exp.Expr) -> bool:
    """Whether a text names one time: it has its zone, or is the key, which has to stay as it is for
    what looks for it."""
    text = str(node.this) if isinstance(node, exp.Literal) else ""
    return "{partition" in text or re.search(_ZONE, text) is not None


def _zoned(piece: Piece) -> str:
    """A wall clock in the zone of the session; a text may have one of its own."""
    plain = f"CAST({piece.text} AS TIMESTAMP)"
    own = f"CAST({piece.text} AS STRING) RLIKE '{_ZONE}'"
    if piece.type == "string":
        return f"if({own}, {plain}, {later(plain)})"
    if piece.type is None:
        text = f"{piece.kind} = 'string' AND {own}"
        return f"if({piece.kind} = 'timestamp' OR {text}, {plain}, {later(plain)})"
    return later(plain)


def converted(node: exp.Expr, piece: Piece, target: str) -> Piece:
    """A value as one of another type, rounded as DuckDB does."""
    if piece.type == target and not is_decimal(target):
        return piece
    if target == "string":
        return as_string(node, piece)
    word = target.upper()
    plain = f"CAST({piece.text} AS {word})"
    if is_whole(target):
        return Piece(_whole(piece, word, "CAST"), target)
    if is_decimal(target) and (piece.type in FLOATS or piece.type in (None, "number")):
        return Piece(as_decimal(node, piece, target), target)
    if target == "double":
        return Piece(as_double(node, piece), target)
    if target == "float":
        return Piece(_as_float(piece), target)
    if target == "timestamp" and piece.type != "null":
        return Piece(_zoned(piece), target)
    if target == "boolean" and piece.type == "string":
        raise refused(node, "a text as a BOOLEAN is not translated", "compare it with a text")
    return Piece(plain, target)


def _as_float(piece: Piece) -> str:
    """A number that is too large breaks off, and only a text is infinite then as in Spark."""
    plain = f"CAST({piece.text} AS FLOAT)"
    if piece.type not in (None, "number", "double"):
        return plain
    large = (
        f"{piece.kind} = 'double' AND abs({plain}) = 'Infinity'"
        f" AND abs(CAST({piece.text} AS DOUBLE)) <> 'Infinity'"
    )
    return f"if({large}, raise_error('a number is too large for a FLOAT'), {plain})"


def as_string(node: exp.Expr, piece: Piece) -> Piece:
    """A value as a text; NULL has to be told what type it is of."""
    text = "CAST(NULL AS STRING)" if piece.type == "null" else as_text(node, piece)
    return Piece(text, "string")


def _whole(piece: Piece, word: str, cast_: str) -> str:
    """A floating-point number goes to the nearest, halves to the even one; of a decimal, halves go
    away from zero. Spark would cut both off."""
    plain = f"{cast_}({piece.text} AS {word})"
    nearest = f"{cast_}(rint(CAST({piece.text} AS DOUBLE)) AS {word})"
    away = f"{cast_}(round({_wide(piece)}) AS {word})"
    if is_whole(piece.type) or piece.type in ("string", "boolean", "null"):
        return plain
    if piece.type in FLOATS:
        return nearest
    if is_decimal(piece.type):
        return f"{cast_}(round({piece.text}) AS {word})"
    return (
        f"CASE WHEN typeof({piece.text}) IN ('float', 'double') THEN {nearest}"
        f" WHEN typeof({piece.text}) LIKE 'decimal%' THEN {away} ELSE {plain} END"
    )


def _wide(piece: Piece) -> str:
    return f"CAST({piece.text} AS DECIMAL(38,18))"


@rule(exp.TryCast)
def try_cast(node: exp.Expr) -> Piece:
    """NULL for what is no such value. Where the engines disagree about a text, it breaks off."""
    only(node, "this", "to", "_type", "safe")
    target = spark_type(node.args["to"])
    piece = say(node.this)
    word = target.upper()
    if target == "string":
        return as_string(node, piece)
    if target in WHOLE:
        sure, digits = r"^\\s*[+-]?[0-9]+\\s*$", "[0-9]"
        said = _whole(piece, word, "TRY_CAST")
    elif target == "double" or is_decimal(target):
        sure, digits = r"^\\s*[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)\\s*$", "[0-9]"
        said = f"TRY_CAST({piece.text} AS {word})"
        if is_decimal(target) and piece.type != "string":
            raise refused(node, "TRY_CAST to a DECIMAL of something else than a text", "use CAST")
    elif target == "date":
        sure, digits = r"^\\s*[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}\\s*$", "[0-9]"
        said = f"TRY_CAST({piece.text} AS {word})"
    else:
        raise refused(node, f"TRY_CAST to {word} is not translated", "use CAST, or strptime")
    if piece.type not in ("string", None):
        return Piece(said, target)
    value = f"CAST({piece.text} AS STRING)" if piece.type is None else piece.text
    unsure = (
        f"raise_error(concat('TRY_CAST of \\'', {value}, '\\' means another thing in DuckDB;"
        " clean the text first'))"
    )
    text = (
        f"CASE WHEN {value} RLIKE '{sure}' THEN TRY_CAST({value} AS {word})"
        f" WHEN {value} RLIKE '{digits}|(?i)inf|nan|epoch' THEN {unsure} END"
    )
    if piece.type == "string":
        return Piece(f"({text})", target)
    return Piece(f"(CASE WHEN typeof({piece.text}) = 'string' THEN {text} ELSE {said} END)", target)
