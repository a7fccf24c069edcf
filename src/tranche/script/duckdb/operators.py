"""Operators: comparisons, arithmetic, and what joins texts."""

from __future__ import annotations

import re

from sqlglot import exp

from tranche.script.duckdb.arithmetic import decimals_compared
from tranche.script.duckdb.cases import lowered
from tranche.script.duckdb.pieces import Piece, literal, marked, name, refused
from tranche.script.duckdb.rules import guarded, only, rule, say
from tranche.script.duckdb.types import (
    common,
    is_decimal,
    is_number,
    is_whole,
    precision_of,
    scale_of,
)

_COMPARED: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}
_INT_MAX = 2**31 - 1
_BIGINT_MAX = 2**63 - 1
_LONGEST = 40_000
"""How many characters an expression may become."""


@rule(exp.Column)
def column(node: exp.Expr) -> Piece:
    only(node, "this", "table", "db", "catalog")
    parts = node.parts if isinstance(node, exp.Column) else []
    if any(isinstance(part, exp.Star) for part in parts):
        return Piece(".".join("*" if isinstance(p, exp.Star) else name(p) for p in parts))
    return Piece(".".join(map(name, parts)))


@rule(exp.Identifier)
def parameter_of_lambda(node: exp.Expr) -> Piece:
    return Piece(name(node))


@rule(exp.Dot)
def field(node: exp.Expr) -> Piece:
    inner = node.expression
    if not isinstance(inner, exp.Identifier):
        raise refused(
            node, "a function behind a point is not translated", "write function(value, …)"
        )
    return Piece(f"{say(node.this).tight}.{name(inner)}")


@rule(exp.Literal)
def constant(node: exp.Expr) -> Piece:
    text = str(node.this)
    if node.args.get("is_string"):
        return Piece(marked(node, literal(text)), "string")
    digits = text.replace("_", "")
    if re.fullmatch(r"\d+", digits):
        value = int(digits)
        if value > _BIGINT_MAX:
            raise refused(node, f"{text} is a HUGEINT, which Spark lacks", "cast a text to DECIMAL")
        type_ = "int" if value <= _INT_MAX else "bigint"
        return Piece(marked(node, str(value)), type_)
    if re.fullmatch(r"\d*\.?\d*[eE][+-]?\d+", digits):
        return Piece(marked(node, f"{digits}D"), "double")
    if re.fullmatch(r"\d+\.\d+|\.\d+", digits):
        whole, _, fraction = digits.partition(".")
        size = max(len(whole.lstrip("0")) + len(fraction), 1)
        if size > 38:
            raise refused(node, f"{text} has more than 38 digits", "write fewer")
        exact = digits if whole else f"0{digits}"
        # Whether a zero stood before the point, which is a digit in DuckDB, the tree does not say.
        return Piece(marked(node, f"{exact}BD"), f"decimal({size},{len(fraction)})")
    raise refused(node, f"the number {text} is not translated", "write it with digits")


@rule(exp.RawString)
def dollar_quoted(node: exp.Expr) -> Piece:
    return Piece(marked(node, literal(str(node.this))), "string")


@rule(exp.Placeholder)
def argument(node: exp.Expr) -> Piece:
    said = node.this
    text = said if isinstance(said, str) else getattr(said, "name", "")
    if not str(text).isidentifier():
        raise refused(node, "a parameter without a name is not translated", "write $name")
    return Piece(marked(node, f"${text}"))


@rule(exp.Null)
def null(node: exp.Expr) -> Piece:
    return Piece(marked(node, "NULL"), "null")


@rule(exp.Boolean)
def boolean(node: exp.Expr) -> Piece:
    return Piece("true" if node.this else "false", "boolean")


@rule(exp.Paren)
def brackets(node: exp.Expr) -> Piece:
    inner = say(node.this)
    return Piece(
        f"({inner.text})", inner.type, element=inner.element, bare=f"({inner.bare or inner.text})"
    )


@rule(exp.And, exp.Or)
def connected(node: exp.Expr) -> Piece:
    word = "AND" if isinstance(node, exp.And) else "OR"
    sides = [_operand(node, side) for side in (node.this, node.expression)]
    return Piece(f" {word} ".join(sides), "boolean", loose=True)


def _operand(node: exp.Expr, side: exp.Expr) -> str:
    piece = say(side)
    tight = isinstance(side, exp.And | exp.Or | exp.Between) and type(side) is not type(node)
    return piece.tight if tight else piece.text


@rule(exp.Not)
def negated(node: exp.Expr) -> Piece:
    inner = node.this
    if isinstance(inner, exp.Is):
        return _is(inner, "IS NOT")
    if isinstance(inner, exp.In | exp.Like | exp.ILike | exp.Between):
        return Piece(f"NOT ({say(inner).text})", "boolean", loose=True)
    return Piece(f"NOT {say(inner).tight}", "boolean", loose=True)


@rule(*_COMPARED)
def compared(node: exp.Expr) -> Piece:
    left, right = say(node.this), say(node.expression)
    if {left.type, right.type} & {"list", "struct", "map"} and not isinstance(
        node, exp.EQ | exp.NEQ
    ):
        raise refused(
            node,
            "an order of lists or structs, in which NULL has another place",
            "compare elements",
        )
    text = f"{left.tight} {_COMPARED[type(node)]} {right.tight}"
    if not any(is_decimal(side.type) or side.type == "number" for side in (left, right)):
        return Piece(text, "boolean", loose=True)
    return Piece(decimals_compared(node, text, left, right), "boolean", loose=True)


@rule(exp.Is)
def is_(node: exp.Expr) -> Piece:
    return _is(node, "IS")


def _is(node: exp.Expr, words: str) -> Piece:
    right = node.expression
    if not isinstance(right, exp.Null | exp.Boolean):
        raise refused(node, "IS with something else than NULL, TRUE or FALSE", "compare with =")
    word = "NULL" if isinstance(right, exp.Null) else ("TRUE" if right.this else "FALSE")
    return Piece(f"{say(node.this).tight} {words} {word}", "boolean", loose=True)


@rule(exp.NullSafeEQ, exp.NullSafeNEQ)
def same(node: exp.Expr) -> Piece:
    text = f"{say(node.this).tight} <=> {say(node.expression).tight}"
    if isinstance(node, exp.NullSafeNEQ):
        return Piece(f"NOT ({text})", "boolean", loose=True)
    return Piece(text, "boolean", loose=True)


@rule(exp.Between)
def between(node: exp.Expr) -> Piece:
    only(node, "this", "low", "high")
    value, low, high = (say(node.args[part]).tight for part in ("this", "low", "high"))
    return Piece(f"{value} BETWEEN {low} AND {high}", "boolean", loose=True)


@rule(exp.In)
def within(node: exp.Expr) -> Piece:
    only(node, "this", "expressions", "query")
    value = say(node.this).tight
    query = node.args.get("query")
    if query is not None:
        inner = query.this if isinstance(query, exp.Subquery) else query
        return _within_query(node, value, say(inner).text)
    if not node.expressions:
        raise refused(node, "IN with a list as a value is not translated", "use list_contains")
    return Piece(
        f"{value} IN ({', '.join(say(item).text for item in node.expressions)})",
        "boolean",
        loose=True,
    )


def _within_query(node: exp.Expr, value: str, query: str) -> Piece:
    """Spark makes false of what is NULL, except that it knows for certain what is not within."""
    text = f"{value} IN ({query})"
    outer = _without_brackets(node)
    if _is_condition(outer.parent if isinstance(outer.parent, exp.Not) else outer):
        return Piece(text, "boolean", loose=True)
    known = f"CASE WHEN {text} THEN true WHEN {value} NOT IN ({query}) THEN false END"
    return Piece(known, "boolean")


def _without_brackets(node: exp.Expr) -> exp.Expr:
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    return node


def _is_condition(node: exp.Expr) -> bool:
    """Whether NULL is as good as false for what is around it."""
    parent = node.parent
    if isinstance(parent, exp.Paren | exp.And | exp.Or):
        return _is_condition(parent)
    if isinstance(parent, exp.If) and node.arg_key == "this":
        return parent.parent is None or parent.parent.this is None
    return isinstance(parent, exp.Where | exp.Having | exp.Qualify) or (
        isinstance(parent, exp.Join) and node.arg_key == "on"
    )


@rule(exp.Exists)
def exists(node: exp.Expr) -> Piece:
    inner = node.this.this if isinstance(node.this, exp.Subquery) else node.this
    return Piece(f"EXISTS ({say(inner).text})", "boolean")


@rule(exp.Like, exp.ILike)
def like(node: exp.Expr) -> Piece:
    only(node, "this", "expression", "negate")
    word = "NOT LIKE" if node.args.get("negate") else "LIKE"
    value = say(node.this)
    if isinstance(node, exp.ILike):
        # Spark's own has other pairs of letters than `lower` in DuckDB.
        value = lowered(value)
    return Piece(f"{value.tight} {word} {_form(node)}", "boolean", loose=True)


def _form(node: exp.Expr) -> str:
    """The pattern: a backslash in it is nothing special in DuckDB."""
    pattern, folded = node.expression, isinstance(node, exp.ILike)
    if not isinstance(pattern, exp.Literal):
        form = Piece(f"replace({say(pattern).text}, '\\\\', '\\\\\\\\')", "string")
        return lowered(form).text if folded else form.text
    text = str(pattern.this)
    known = folded and text.isascii()
    form = Piece(literal((text.lower() if known else text).replace("\\", "\\\\")), "string")
    return marked(pattern, lowered(form).text if folded and not known else form.text)


@rule(exp.DPipe)
def joined(node: exp.Expr) -> Piece:
    """Texts behind each other, or lists."""
    a, b = say(node.this), say(node.expression)
    if "list" in (a.type, b.type):
        return Piece(f"concat({a.text}, {b.text})", "list", element=a.element or b.element)
    sides = [as_text(node, piece) for piece in (a, b)]
    return Piece(f"{sides[0]} || {sides[1]}", "string", loose=True)


UNLIKE_TEXTS = ("float", "double", "timestamp", "binary")


def as_text(node: exp.Expr, piece: Piece) -> str:
    """A value as it is written; some are written in another way by Spark."""
    what = "a text is made of a value that Spark writes in another way"
    remedy = "cast it to DECIMAL, BIGINT or TIMESTAMP, or use strftime; for lists, list_concat"
    if piece.type == "string" or piece.type == "null":
        return piece.tight
    if piece.type in UNLIKE_TEXTS or piece.type in ("list", "struct", "map"):
        raise refused(node, f"a text made of a {piece.type.upper()}", remedy)
    text = f"CAST({piece.text} AS STRING)"
    if _has_no_whole_digits(piece.type):
        remedy = "cast it to one with a digit before it, as in x::DECIMAL(3,2)"
        raise refused(node, "a text made of a DECIMAL without digits before the point", remedy)
    if (
        piece.type in ("boolean", "date", "timestamp_ntz")
        or is_whole(piece.type)
        or is_decimal(piece.type)
    ):
        return text
    unlike = f"{piece.kind} RLIKE '{_UNLIKE_KINDS}'"
    return guarded(node, text, [unlike], what, remedy)


_UNLIKE_KINDS = "^(float|double|timestamp$|binary|array|struct|map|decimal.([0-9]+),\\\\2[^0-9])"
"""Types whose texts are others; of a DECIMAL(2,2), DuckDB writes no 0 before the point."""


def _has_no_whole_digits(type_: str | None) -> bool:
    return is_decimal(type_) and precision_of(type_ or "") == scale_of(type_ or "")


@rule(exp.Case)
def case(node: exp.Expr) -> Piece:
    only(node, "this", "ifs", "default")
    pieces = [say(branch.args["true"]) for branch in node.args["ifs"]]
    default = node.args.get("default")
    results = [*pieces, say(default)] if default is not None else pieces
    words = ["CASE"]
    if node.this is not None:
        words.append(say(node.this).text)
    for branch, piece in zip(node.args["ifs"], pieces, strict=True):
        words.append(f"WHEN {say(branch.this).text} THEN {piece.text}")
    if default is not None:
        words.append(f"ELSE {results[-1].text}")
    return Piece(unified(node, results, " ".join([*words, "END"])), common(results))


@rule(exp.If)
def if_(node: exp.Expr) -> Piece:
    branches = [say(node.args["true"])]
    if node.args.get("false") is not None:
        branches.append(say(node.args["false"]))
    rest = branches[1].text if len(branches) > 1 else "NULL"
    text = f"CASE WHEN {say(node.this).text} THEN {branches[0].text} ELSE {rest} END"
    return Piece(unified(node, branches, text), common(branches))


def unified(node: exp.Expr, pieces: list[Piece], text: str) -> str:
    """An expression that has one of several values, which DuckDB takes only if they are of one
    kind."""
    types = {piece.type for piece in pieces} - {"null", None}
    if "string" in types and len(types) > 1:
        raise refused(node, "values of a text and of another type beside each other", "cast them")
    bad: list[str] = []
    if any(map(is_number, types)) and not types & {"float", "double"}:
        bad = [f"typeof({piece.text}) = 'float'" for piece in pieces if piece.type is None]
    what = "a FLOAT beside another type, which is a FLOAT in DuckDB and a DOUBLE in Spark"
    said = guarded(node, text, bad, what, "cast it to DOUBLE")
    if len(said) > _LONGEST:
        raise refused(node, "an expression that is nested too deeply", "use a subquery or WITH")
    return said
