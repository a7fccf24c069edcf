"""Arithmetic: of numbers, and of dates with numbers."""

from __future__ import annotations

from sqlglot import exp

from tranche.script.duckdb.intervals import added
from tranche.script.duckdb.pieces import Piece, refused
from tranche.script.duckdb.rules import guarded, rule, say
from tranche.script.duckdb.types import (
    FLOATS,
    TIMES,
    WHOLE,
    common,
    is_decimal,
    is_number,
    is_whole,
)

_WHOLE_LIST = ", ".join(f"'{type_}'" for type_ in WHOLE)
_TIME_LIST = ", ".join(f"'{type_}'" for type_ in TIMES)
_LEAST = 2**63
_MIXED_FLOATS = "a FLOAT beside another number, which is a FLOAT in DuckDB and a DOUBLE in Spark"
_TO_DOUBLE = "cast it to DOUBLE or DECIMAL"
_SHORT = 300


@rule(exp.Neg)
def minus(node: exp.Expr) -> Piece:
    inner = node.this
    if isinstance(inner, exp.Literal) and str(inner.this) == str(_LEAST):
        return Piece("-9223372036854775808L", "bigint", loose=True)
    piece = say(inner)
    return Piece(f"-{piece.tight}", piece.type, loose=True)


@rule(exp.Add, exp.Sub)
def added_or_taken(node: exp.Expr) -> Piece:
    sign = "+" if isinstance(node, exp.Add) else "-"
    left, right = node.this, node.expression
    if isinstance(right, exp.Interval):
        return added(node, left, right, sign)
    if isinstance(left, exp.Interval) and sign == "+":
        return added(node, right, left, sign)
    a, b = say(left), say(right)
    if "string" in (a.type, b.type):
        raise refused(node, "arithmetic with a text", "cast it, as in x::INTEGER or x::DATE")
    text = f"{a.tight} {sign} {b.tight}"
    if sign == "+":
        return _sum(node, a, b, text)
    if a.type == b.type == "date":
        return Piece(f"CAST(datediff({a.text}, {b.text}) AS BIGINT)", "bigint")
    if a.type in TIMES and b.type in TIMES:
        raise refused(node, "the difference of two times is an INTERVAL", "use date_diff")
    if a.type == "date" and is_whole(b.type):
        return Piece(text, "date", loose=True)
    if is_number(a.type) or is_number(b.type):
        return Piece(guarded_floats(node, text, a, b), _of(a, b), loose=True)
    both = f"typeof({a.text}) IN ({_TIME_LIST}) AND typeof({b.text}) IN ({_TIME_LIST})"
    said = guarded(
        node,
        guarded_floats(node, text, a, b),
        [both],
        "the difference of two dates or times is another thing in Spark",
        "use date_diff('day', from, to), or cast both to DATE",
    )
    return Piece(said)


def _sum(node: exp.Expr, a: Piece, b: Piece, text: str) -> Piece:
    dates = {a.type, b.type} - set(WHOLE)
    if dates == {"date"}:
        return Piece(text, "date", loose=True)
    return Piece(guarded_floats(node, text, a, b), _of(a, b), loose=True)


def _of(a: Piece, b: Piece) -> str | None:
    """The type of a sum, a difference or a product."""
    if is_whole(a.type) and is_whole(b.type):
        return common([a, b])
    if is_number(a.type) and is_number(b.type):
        return "double" if "double" in (a.type, b.type) else "number"
    return None


@rule(exp.Mul)
def product(node: exp.Expr) -> Piece:
    a, b = say(node.this), say(node.expression)
    if "string" in (a.type, b.type):
        raise refused(node, "arithmetic with a text", "cast it, as in x::INTEGER")
    if isinstance(node.this, exp.Interval) or isinstance(node.expression, exp.Interval):
        raise refused(node, "an interval that is multiplied", "write INTERVAL (n * 2) DAY")
    type_ = _of(a, b) or "number"
    text = f"{a.tight} * {b.tight}"
    if isinstance(node.parent, exp.Mul) or is_whole(type_) or type_ == "double":
        return Piece(text, type_, loose=True)
    return Piece(guarded_floats(node, _exact(node, text), a, b), type_, loose=True)


def _exact(node: exp.Expr, text: str) -> str:
    """A product that keeps all its digits: of those that are too many, Spark would round some."""
    factors = [say(factor).text for factor in _factors(node)]
    kept = _scale(text)
    wanted = " + ".join(map(_scale, factors))
    what = "a product with more digits than a decimal has"
    return guarded(
        node,
        text,
        [f"typeof({text}) LIKE 'decimal%' AND {kept} < {wanted}"],
        what,
        "cast the factors to DOUBLE",
    )


def _factors(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Mul):
        return [*_factors(node.this), *_factors(node.expression)]
    return [node]


def _scale(text: str) -> str:
    """How many digits a value has behind the point, from its type."""
    digits = f"regexp_extract(typeof({text}), '^decimal.*,([0-9]+)', 1)"
    return f"coalesce(TRY_CAST({digits} AS INT), 0)"


@rule(exp.Div)
def quotient(node: exp.Expr) -> Piece:
    """A DOUBLE, whatever is divided; by zero it is infinite, or no number."""
    a, b = say(node.this), say(node.expression)
    if "string" in (a.type, b.type):
        raise refused(node, "arithmetic with a text", "cast it, as in x::DOUBLE")
    if "float" in (a.type, b.type) and "double" not in (a.type, b.type):
        raise refused(node, "a division of FLOATs", "cast to DOUBLE before dividing")
    left, right = as_double(a), as_double(b)
    if _is_constant(node.expression) and float(str(node.expression.this)):
        text = f"{left} / {right}"
    else:
        text = f"CASE WHEN {right} = 0D THEN {left} * power({right}, -1D) ELSE {left} / {right} END"
    unsure = [piece for piece in (a, b) if piece.type in (None, "number")]
    bad = [] if "double" in (a.type, b.type) else [f"typeof({x.text}) = 'float'" for x in unsure]
    said = guarded(node, text, bad, "a division of FLOATs", "cast to DOUBLE before dividing")
    return Piece(f"({said})", "double")


def as_double(piece: Piece) -> str:
    return piece.tight if piece.type == "double" else f"CAST({piece.text} AS DOUBLE)"


def _is_constant(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.args.get("is_string")


@rule(exp.IntDiv)
def whole_quotient(node: exp.Expr) -> Piece:
    """Whole numbers only: of others DuckDB makes a plain division."""
    a, b = say(node.this), say(node.expression)
    unsure = [piece for piece in (a, b) if not is_whole(piece.type)]
    if any(piece.type not in (None, "number") for piece in unsure):
        raise refused(node, "// of something else than whole numbers", "cast to BIGINT, or use /")
    text = f"{a.tight} DIV {_unless_zero(node.expression, b)}"
    type_ = "bigint"
    if not unsure and (type_ := common([a, b]) or "bigint") != "bigint":
        text = f"CAST({text} AS {type_.upper()})"
    bad = [f"typeof({piece.text}) NOT IN ({_WHOLE_LIST})" for piece in unsure]
    said = guarded(
        node, text, bad, "// of something else than whole numbers", "cast to BIGINT, or use /"
    )
    return Piece(f"({said})", type_)


@rule(exp.Mod)
def remainder(node: exp.Expr) -> Piece:
    return modulo(node, node.this, node.expression)


def modulo(node: exp.Expr, left: exp.Expr, right: exp.Expr) -> Piece:
    """Nothing by zero, except that a floating-point number gives none."""
    a, b = say(left), say(right)
    if {a.type, b.type} & set(FLOATS):
        raise refused(node, "% of floating-point numbers", "cast to DECIMAL or BIGINT")
    text = f"{a.tight} % {_unless_zero(right, b)}"
    unsure = [x for x in (a, b) if not (is_whole(x.type) or is_decimal(x.type))]
    bad = [f"typeof({x.text}) IN ('float', 'double')" for x in unsure]
    said = guarded(node, text, bad, "% of floating-point numbers", "cast to DECIMAL or BIGINT")
    return Piece(f"({said})", _of(a, b) or "number")


def _unless_zero(node: exp.Expr, piece: Piece) -> str:
    if _is_constant(node) and float(str(node.this)):
        return piece.tight
    return f"nullif({piece.text}, 0)"


@rule(exp.BitwiseAnd, exp.BitwiseOr)
def bits(node: exp.Expr) -> Piece:
    word = "&" if isinstance(node, exp.BitwiseAnd) else "|"
    a, b = say(node.this), say(node.expression)
    return Piece(f"{a.tight} {word} {b.tight}", common([a, b]), loose=True)


def guarded_floats(node: exp.Expr, text: str, a: Piece, b: Piece) -> str:
    """An operation of two numbers that breaks off if one is a FLOAT and the other neither that nor
    a DOUBLE."""
    types = {a.type, b.type}
    if "double" in types or types == {"float"}:
        return text
    if "float" in types and None not in types and "number" not in types:
        raise refused(node, _MIXED_FLOATS, _TO_DOUBLE)
    unsure = [x.text for x in (a, b) if x.type in (None, "number") and len(x.text) < _SHORT]
    if len(unsure) == 2:
        pair = [f"typeof({value})" for value in unsure]
        mixed = (
            f"({pair[0]} = 'float') <> ({pair[1]} = 'float')"
            f" AND 'double' NOT IN ({pair[0]}, {pair[1]})"
        )
        return guarded(node, text, [mixed], _MIXED_FLOATS, _TO_DOUBLE)
    if "float" in types:
        bad = [f"typeof({value}) NOT IN ('float', 'double')" for value in unsure]
    else:
        bad = [f"typeof({value}) = 'float'" for value in unsure]
    return guarded(node, text, bad, _MIXED_FLOATS, _TO_DOUBLE)
