"""Functions of numbers, and those that choose among values."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tranche.script.duckdb.arithmetic import modulo
from tranche.script.duckdb.calls import constant_number, declined, function, said, templates
from tranche.script.duckdb.doubles import as_double, nearest
from tranche.script.duckdb.operators import unified
from tranche.script.duckdb.pieces import Piece, refused
from tranche.script.duckdb.rules import guarded, rule, say
from tranche.script.duckdb.types import common, is_decimal, is_whole

templates("double", ("pi", "pi()"))
templates("boolean", ("isnan", "if(({0}) IS NULL, NULL, isnan({0}))"))
declined(
    "the last digit of the result may differ; compute it with + - * /",
    "exp ln log log2 log10 pow power sin cos tan asin acos atan atan2 cbrt degrees radians"
    " sinh cosh tanh gamma lgamma cot",
)
declined("it gives a HUGEINT, which Spark lacks; compute it with *", "factorial")
_FLOATS = "IN ('float', 'double')"


@function(1, 1, "sqrt")
def root(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    [value] = said(arguments)
    return Piece(f"sqrt({as_double(node, value)})", "double")


@function(1, 1, "abs")
def absolute(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    [value] = said(arguments)
    return Piece(f"abs({value.text})", value.type or "number")


@rule(exp.Abs)
def at_sign(node: exp.Expr) -> Piece:
    return absolute(node, [node.this])


@function(1, 1, "sign")
def sign(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    """0 for what is no number."""
    [value] = said(arguments)
    text = f"sign({value.text})"
    if not (is_whole(value.type) or is_decimal(value.type)):
        text = f"if(isnan(CAST({value.text} AS DOUBLE)), 0, {text})"
    return Piece(f"CAST({text} AS TINYINT)", "tinyint")


@function(2, 2, "mod")
def mod(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return modulo(node, arguments[0], arguments[1])


@function(2, 2, "xor")
def xor(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    a, b = said(arguments)
    return Piece(f"({a.tight} ^ {b.tight})", common([a, b]))


@function(2, 2, "divide")
def divide(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return say(exp.IntDiv(this=arguments[0].copy(), expression=arguments[1].copy()))


@function(1, 1, "ceil", "ceiling", "floor")
def to_whole(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    """Keeps the type: a DOUBLE that Spark would make a BIGINT, a decimal without a fraction."""
    word = "floor" if str(node.this).lower() == "floor" else "ceil"
    [value] = said(arguments)
    if value.type is not None and (value.type == "float" or is_whole(value.type)):
        raise refused(node, f"{word} of a {value.type.upper()}", "cast it to DOUBLE or DECIMAL")
    if is_decimal(value.type):
        return Piece(f"{word}({value.text})", "number")
    x = nearest(value)
    text = (
        f"CASE WHEN isnan({x}) OR abs({x}) >= 4503599627370496D THEN {x}"
        f" ELSE CAST({word}({x}) AS DOUBLE) END"
    )
    bad = [] if value.type == "double" else [f"typeof({value.text}) <> 'double'"]
    what = f"{word} of something that may be no DOUBLE"
    return Piece(f"({guarded(node, text, bad, what, 'cast it to DOUBLE or DECIMAL')})", "double")


@function(1, 2, "round")
def rounded(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    """Halves go away from zero. A DOUBLE is multiplied, rounded and divided again; Spark would
    round what it is written as."""
    value = say(arguments[0])
    digits = constant_number(arguments[1]) if len(arguments) > 1 else 0
    if digits is None or not 0 <= digits <= 18:
        raise refused(node, "round to a computed or negative number of digits", "write 0 to 18")
    if value.type == "float":
        raise refused(node, "round of a FLOAT", "cast it to DOUBLE or DECIMAL")
    if value.type == "double":
        x = value.text
        text = f"round({x})"
        if digits:
            shifted = f"{value.tight} * 1E{digits}D"
            text = f"round({shifted}) / 1E{digits}D"
            text = f"CASE WHEN isnan({shifted}) OR abs({shifted}) = 'Infinity' THEN {x} ELSE {text} END"
        return Piece(f"({text})", "double")
    plain = f"round({value.text}, {digits})"
    if is_decimal(value.type) or is_whole(value.type):
        return Piece(plain, value.type if is_whole(value.type) else "number")
    said_ = guarded(
        node,
        plain,
        [f"typeof({value.text}) {_FLOATS}"],
        "round of something that may be a DOUBLE",
        "write round(x::DOUBLE, n) or round(x::DECIMAL(18,4), n)",
    )
    return Piece(said_, "number")


@function(1, 9, "coalesce")
def coalesce(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    pieces = list(said(arguments))
    text = f"coalesce({', '.join(piece.text for piece in pieces)})"
    return Piece(unified(node, pieces, text), common(pieces))


@rule(exp.Coalesce)
def coalesce_node(node: exp.Expr) -> Piece:
    return coalesce(node, [node.this, *node.expressions])


@function(2, 2, "ifnull")
def ifnull(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return coalesce(node, arguments)


@function(2, 2, "nullif")
def nullif(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    a, b = said(arguments)
    bare = f"nullif({a.bare or a.text}, {b.bare or b.text})"
    return Piece(f"nullif({a.text}, {b.text})", a.type, bare=bare)


@function(3, 3, "if")
def if_(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    condition, *branches = said(arguments)
    text = f"CASE WHEN {condition.text} THEN {branches[0].text} ELSE {branches[1].text} END"
    return Piece(unified(node, branches, text), common(branches))


@function(1, 9, "greatest", "least")
def extreme(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    pieces = list(said(arguments))
    if len(pieces) == 1:
        return pieces[0]
    text = f"{str(node.this).lower()}({', '.join(piece.text for piece in pieces)})"
    return Piece(unified(node, pieces, text), common(pieces))
