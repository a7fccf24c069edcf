"""Arithmetic: of numbers, and of dates with numbers."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tranche.script.duckdb.doubles import as_double, nearest
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
    precision_of,
    scale_of,
)

_WHOLE_LIST = ", ".join(f"'{type_}'" for type_ in WHOLE)
_TIME_LIST = ", ".join(f"'{type_}'" for type_ in TIMES)
_LEAST = 2**63
_MIXED_FLOATS = "a FLOAT beside another number, which is a FLOAT in DuckDB and a DOUBLE in Spark"
_TO_DOUBLE = "cast it to DOUBLE or DECIMAL"
_SHORT = 1000
"""How long the text of a value may be that is asked for its type."""
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
"""How many digits whole numbers have, beside decimals."""
_MOST_DIGITS = 38
_FEWER = "cast to fewer digits, as in x::DECIMAL(30,10), or to DOUBLE"


@rule(exp.Neg)
def minus(node: exp.Expr) -> Piece:
    inner = node.this
    if isinstance(inner, exp.Literal) and str(inner.this) == str(_LEAST):
        return Piece("-9223372036854775808L", "bigint", loose=True)
    piece = say(inner)
    return Piece(f"-{piece.tight}", piece.type, loose=True, bare=f"-{piece.bare_tight}")


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
    text, bare = f"{a.tight} {sign} {b.tight}", f"{a.bare_tight} {sign} {b.bare_tight}"
    if sign == "+":
        return _sum(node, a, b, text, bare)
    if a.type == b.type == "date":
        return Piece(f"CAST(datediff({a.text}, {b.text}) AS BIGINT)", "bigint")
    if a.type in TIMES and b.type in TIMES:
        raise refused(node, "the difference of two times is an INTERVAL", "use date_diff")
    if a.type == "date" and is_whole(b.type):
        return Piece(text, "date", loose=True)
    if is_number(a.type) or is_number(b.type):
        return Piece(_kept_whole(node, text, bare, a, b), _of(a, b), loose=True, bare=bare)
    both = f"{a.kind} IN ({_TIME_LIST}) AND {b.kind} IN ({_TIME_LIST})"
    said = guarded(
        node,
        _kept_whole(node, text, bare, a, b),
        [both],
        "the difference of two dates or times is another thing in Spark",
        "use date_diff('day', from, to), or cast both to DATE",
    )
    return Piece(said, loose=True, bare=bare)


def _sum(node: exp.Expr, a: Piece, b: Piece, text: str, bare: str) -> Piece:
    dates = {a.type, b.type} - set(WHOLE)
    if dates == {"date"}:
        return Piece(text, "date", loose=True)
    return Piece(_kept_whole(node, text, bare, a, b), _of(a, b), loose=True, bare=bare)


def _kept_whole(node: exp.Expr, text: str, bare: str, a: Piece, b: Piece) -> str:
    """A sum or difference that keeps all digits of decimals; once for a chain of them, because
    digits that are lost do not come back."""
    if not isinstance(node.parent, exp.Add | exp.Sub):
        terms = [say(term) for term in _terms(node)]
        bad = digits_lost(f"typeof({bare})", terms, len(terms) - 1)
        what = "a sum or difference with more digits than a decimal has"
        text = guarded(node, text, bad, what, _FEWER)
    return guarded_floats(node, text, a, b)


def _terms(node: exp.Expr) -> list[exp.Expr]:
    sides = [node.this, node.expression]
    if not isinstance(node, exp.Add | exp.Sub) or any(isinstance(s, exp.Interval) for s in sides):
        return [node]
    return [term for side in sides for term in _terms(side)]


def decimals_compared(node: exp.Expr, text: str, a: Piece, b: Piece) -> str:
    """A comparison that breaks off where Spark would compare fewer digits than there are."""
    pair = f"{a.bare or a.text}, {b.bare or b.text}"
    bad = digits_lost(f"typeof(coalesce({pair}))", [a, b], 0)
    what = "a comparison of decimals with more digits than a decimal has"
    return guarded_floats(node, guarded(node, text, bad, what, _FEWER), a, b)


def digits_lost(kind: str, pieces: list[Piece], more: int) -> list[str]:
    """When a decimal that comes of others has fewer digits behind the point than one of them.
    `more` is how many digits it may have before the point that none of them has."""
    known = [p for p in pieces if is_whole(p.type) or is_decimal(p.type)]
    unsure = [p for p in pieces if p.type in (None, "number")]
    if len(known) + len(unsure) < len(pieces) or (not unsure and all(map(_is_whole, known))):
        return []
    scales = [scale_of(piece.type or "") for piece in known]
    whole = max((_digits(p) - s for p, s in zip(known, scales, strict=True)), default=0)
    if not unsure and whole + max(scales) + more <= _MOST_DIGITS:
        return []
    # What is no decimal has no scale, and a comparison with NULL is as good as none.
    wanted = dict.fromkeys(_scale_of_type(piece.kind) for piece in unsure)
    if max(scales, default=0):
        wanted[str(max(scales))] = None
    most = f"greatest({', '.join(wanted)})" if len(wanted) > 1 else next(iter(wanted))
    return [f"{_scale_of_type(kind, '38')} < {most}"]


def _scale_of_type(kind: str, digits: str = ".*") -> str:
    return f"TRY_CAST(regexp_extract({kind}, '^decimal.{digits},([0-9]+)', 1) AS INT)"


def _is_whole(piece: Piece) -> bool:
    return is_whole(piece.type)


def _digits(piece: Piece) -> int:
    return _DIGITS.get(piece.type or "") or precision_of(piece.type or "")


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
    text, bare = f"{a.tight} * {b.tight}", f"{a.bare_tight} * {b.bare_tight}"
    if isinstance(node.parent, exp.Mul) or is_whole(type_) or type_ == "double":
        return Piece(text, type_, loose=True, bare=bare)
    exact = _exact(node, text, Piece(bare))
    return Piece(guarded_floats(node, exact, a, b), type_, loose=True, bare=bare)


def _exact(node: exp.Expr, text: str, whole: Piece) -> str:
    """A product that keeps all its digits: of those that are too many, Spark would round some."""
    factors = [say(factor) for factor in _factors(node)]
    kept = _scale(whole)
    wanted = " + ".join(map(_scale, factors))
    what = "a product with more digits than a decimal has"
    return guarded(
        node,
        text,
        [f"{whole.kind} LIKE 'decimal%' AND {kept} < {wanted}"],
        what,
        "cast the factors to DOUBLE",
    )


def _factors(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Mul):
        return [*_factors(node.this), *_factors(node.expression)]
    return [node]


def _scale(piece: Piece) -> str:
    """How many digits a value has behind the point, from its type."""
    return f"coalesce({_scale_of_type(piece.kind)}, 0)"


@rule(exp.Div)
def quotient(node: exp.Expr) -> Piece:
    """A DOUBLE, whatever is divided; by zero it is infinite, or no number."""
    a, b = say(node.this), say(node.expression)
    if "string" in (a.type, b.type):
        raise refused(node, "arithmetic with a text", "cast it, as in x::DOUBLE")
    if "float" in (a.type, b.type) and "double" not in (a.type, b.type):
        raise refused(node, "a division of FLOATs", "cast to DOUBLE before dividing")
    left, right = as_double(node, a), as_double(node, b)
    if _is_constant(node.expression) and float(str(node.expression.this)):
        text = f"{left} / {right}"
    else:
        # What breaks off does so where it is divided.
        above, zero = (nearest(replace(x, text=x.bare or x.text)) for x in (a, b))
        infinite = f"{above} * power({zero}, -1D)"
        text = f"CASE WHEN {zero} = 0D THEN {infinite} ELSE {left} / {right} END"
    unsure = [piece for piece in (a, b) if piece.type in (None, "number")]
    bad = [] if "double" in (a.type, b.type) else [f"{x.kind} = 'float'" for x in unsure]
    said = guarded(node, text, bad, "a division of FLOATs", "cast to DOUBLE before dividing")
    return Piece(f"({said})", "double")


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
    bad = [f"{piece.kind} NOT IN ({_WHOLE_LIST})" for piece in unsure]
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
    bad = [f"{x.kind} IN ('float', 'double')" for x in unsure]
    said = guarded(node, text, bad, "% of floating-point numbers", "cast to DECIMAL or BIGINT")
    pair = f"typeof(coalesce({a.bare or a.text}, {b.bare or b.text}))"
    what = "% of decimals with more digits together than a decimal has"
    said = guarded(node, said, digits_lost(pair, [a, b], 0), what, _FEWER)
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
    unsure = [x.kind for x in (a, b) if x.type in (None, "number") and len(x.kind) < _SHORT]
    if len(unsure) == 2:
        pair = unsure
        mixed = (
            f"({pair[0]} = 'float') <> ({pair[1]} = 'float')"
            f" AND 'double' NOT IN ({pair[0]}, {pair[1]})"
        )
        return guarded(node, text, [mixed], _MIXED_FLOATS, _TO_DOUBLE)
    if "float" in types:
        bad = [f"{kind} NOT IN ('float', 'double')" for kind in unsure]
    else:
        bad = [f"{kind} = 'float'" for kind in unsure]
    return guarded(node, text, bad, _MIXED_FLOATS, _TO_DOUBLE)
