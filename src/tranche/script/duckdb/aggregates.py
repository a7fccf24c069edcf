"""Aggregates, and functions of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from tranche.script.duckdb.calls import (
    call,
    called,
    check_count,
    constant_number,
    declined,
    unknown,
)
from tranche.script.duckdb.intervals import unit_of
from tranche.script.duckdb.pieces import Piece, name, refused
from tranche.script.duckdb.rules import guarded, only, rule, say
from tranche.script.duckdb.types import WHOLE, is_whole

declined(
    "the last digits depend on the order of rows; compute it from sums",
    "stddev stddev_samp stddev_pop variance var_samp var_pop corr covar_pop covar_samp kurtosis"
    " skewness regr_slope regr_intercept regr_r2 entropy fsum kahan_sum sumkahan favg product"
    " geomean geometric_mean",
)
declined(
    "its interpolation rounds in another way; use row_number and pick the row",
    "median quantile quantile_cont quantile_disc percentile_cont percentile_disc mad",
)
declined(
    "which of several it takes is not said; use max, or arg_max by what no two rows share",
    "first last arbitrary mode",
)
declined("it is an estimate of another kind; use count(DISTINCT x)", "approx_count_distinct")
declined("it is an estimate of another kind; use row_number", "approx_quantile approx_top_k")
declined("it is not translated yet; use GROUP BY and list", "histogram bitstring_agg map_agg")


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A call of an aggregate: arguments, order and DISTINCT in its brackets, FILTER behind them."""

    node: exp.Expr
    word: str
    arguments: Sequence[exp.Expr]
    distinct: bool = False
    order: Sequence[exp.Expr] = field(default_factory=tuple)
    where: exp.Expr | None = None

    @property
    def filter(self) -> str:
        return "" if self.where is None else f" FILTER (WHERE {say(self.where).text})"

    def filtered(self, condition: str) -> str:
        """The filter with one more condition."""
        if self.where is None:
            return f" FILTER (WHERE {condition})"
        return f" FILTER (WHERE ({say(self.where).text}) AND {condition})"


Making: TypeAlias = Callable[[Aggregate, str], Piece]
"""What makes Spark SQL of an aggregate; the text is what stands behind it, as OVER (…)."""
AGGREGATES: dict[str, tuple[Making, int, int]] = {}
_SAME_WITH_DISTINCT = ("min", "max", "any_value", "bool_and", "bool_or")
"""Whose result does not change if each value counts once; they leave the word out."""
WINDOWS = {
    "row_number": ("bigint", 0, 0),
    "rank": ("bigint", 0, 0),
    "dense_rank": ("bigint", 0, 0),
    "ntile": ("bigint", 1, 1),
    "percent_rank": ("double", 0, 0),
    "cume_dist": ("double", 0, 0),
    "lag": (None, 1, 3),
    "lead": (None, 1, 3),
    "first_value": (None, 1, 1),
    "last_value": (None, 1, 1),
    "nth_value": (None, 2, 2),
}
"""Functions that need OVER, with their types and how many arguments they take."""
_ORDERED = frozenset(WINDOWS) - {"first_value", "last_value"}
"""Which Spark has only over rows in an order."""


def aggregate(least: int, most: int, *names: str) -> Callable[[Making], Making]:
    def registered(making: Making) -> Making:
        for called_ in names:
            AGGREGATES[called_] = (making, least, most)
        return making

    return registered


def made(node: exp.Expr, where: exp.Expr | None, over: str) -> Piece:
    word = called(node)
    making, least, most = AGGREGATES[word]
    arguments, distinct = list(node.expressions), False
    order: Sequence[exp.Expr] = ()
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        distinct = True
        arguments = arguments[0].expressions
    if arguments and isinstance(arguments[-1], exp.Order):
        order = arguments[-1].expressions
        arguments[-1] = arguments[-1].this
        if isinstance(arguments[-1], exp.Distinct):
            distinct, arguments = True, arguments[-1].expressions
    check_count(node, word, len(arguments), least, most)
    if distinct and over and word not in _SAME_WITH_DISTINCT:
        raise refused(node, f"{word} with DISTINCT over a window", "use a subquery with GROUP BY")
    return making(Aggregate(node, word, arguments, distinct, tuple(order), where), over)


def _plain(item: Aggregate) -> None:
    if item.order:
        raise refused(item.node, f"{item.word} with ORDER BY", "leave the order out")


@aggregate(0, 1, "count")
def count(item: Aggregate, over: str) -> Piece:
    _plain(item)
    what = "*"
    if item.arguments and not isinstance(item.arguments[0], exp.Star):
        what = say(item.arguments[0]).text
        what = f"DISTINCT {what}" if item.distinct else what
    return Piece(f"count({what}){item.filter}{over}", "bigint")


@aggregate(0, 0, "count_star")
def count_star(item: Aggregate, over: str) -> Piece:
    return Piece(f"count(*){item.filter}{over}", "bigint")


@aggregate(1, 1, "count_if", "countif")
def count_if(item: Aggregate, over: str) -> Piece:
    condition = say(item.arguments[0]).text
    return Piece(f"count_if({condition}){item.filter}{over}", "bigint")


@aggregate(1, 1, "sum")
def sum_(item: Aggregate, over: str) -> Piece:
    """Of whole numbers a BIGINT, where DuckDB has a HUGEINT: one that is too large breaks off."""
    _plain(item)
    value = say(item.arguments[0])
    if value.type == "string":
        raise refused(item.node, "the sum of a text", "cast it")
    distinct = "DISTINCT " if item.distinct else ""
    if value.type == "boolean":
        value = Piece(f"CAST({value.text} AS INT)", "int")
    type_ = "bigint" if is_whole(value.type) else "number"
    if value.type in ("double", "float"):
        type_ = "double"
    return Piece(f"sum({distinct}{value.text}){item.filter}{over}", type_)


@aggregate(1, 1, "avg", "mean")
def avg(item: Aggregate, over: str) -> Piece:
    """A DOUBLE: of whole numbers and decimals the exact sum, divided once."""
    _plain(item)
    value = say(item.arguments[0])
    if value.type in ("date", "timestamp", "timestamp_ntz", "string"):
        raise refused(item.node, f"the average of a {value.type.upper()}", "cast it to a number")
    distinct = "DISTINCT " if item.distinct else ""
    x, tail = f"{distinct}{value.text}", f"{item.filter}{over}"
    floating = f"avg({x}){tail}"
    if value.type in ("double", "float"):
        return Piece(floating, "double")
    if is_whole(value.type):
        whole = f"CAST(sum({x}){tail} AS DOUBLE)"
        return Piece(f"try_divide({whole}, CAST(count({x}){tail} AS DOUBLE))", "double")
    # Inside an aggregate, so that the column need not be grouped by.
    kind = f"typeof(first({value.text}){over})"
    digits = f"regexp_extract({kind}, ',([0-9]+)', 1)"
    shift = f"CAST(rpad('1', 1 + coalesce(TRY_CAST({digits} AS INT), 0), '0') AS DECIMAL(19,0))"
    total = f"CAST(CAST(sum({x}){tail} AS DECIMAL(38,18)) * {shift} AS DOUBLE)"
    exact = f"try_divide({total}, CAST(count({x}){tail} * {shift} AS DOUBLE))"
    text = f"CASE WHEN {kind} IN ('float', 'double') THEN {floating} ELSE {exact} END"
    bad = [f"{kind} RLIKE ',(19|[23][0-9])'"]
    what = "the average of a decimal with more than 18 digits behind the point"
    return Piece(f"({guarded(item.node, text, bad, what, 'cast it to DECIMAL(38,18)')})", "double")


@aggregate(1, 1, "min", "max")
def extreme(item: Aggregate, over: str) -> Piece:
    _plain(item)
    value = say(item.arguments[0])
    return Piece(f"{item.word}({value.text}){item.filter}{over}", value.type)


@aggregate(1, 1, "any_value")
def any_value(item: Aggregate, over: str) -> Piece:
    _plain(item)
    value = say(item.arguments[0])
    return Piece(f"first({value.text}, true){item.filter}{over}", value.type)


@aggregate(1, 1, "bool_and", "bool_or")
def all_or_any(item: Aggregate, over: str) -> Piece:
    _plain(item)
    return Piece(f"{item.word}({say(item.arguments[0]).text}){item.filter}{over}", "boolean")


@aggregate(2, 2, "arg_max", "max_by", "argmax", "arg_min", "min_by", "argmin")
def at_extreme(item: Aggregate, over: str) -> Piece:
    """Of the rows in which neither is NULL."""
    _plain(item)
    if item.distinct:
        raise refused(item.node, f"{item.word} with DISTINCT", "leave it out")
    value, by = (say(argument) for argument in item.arguments)
    word = "max_by" if "max" in item.word else "min_by"
    if over:
        # A window takes no filter; a row whose key is NULL is left out as well.
        key = f"CASE WHEN ({value.text}) IS NOT NULL THEN {by.text} END"
        return Piece(f"{word}({value.text}, {key}){over}", value.type)
    rest = item.filtered(f"({value.text}) IS NOT NULL")
    return Piece(f"{word}({value.text}, {by.text}){rest}{over}", value.type)


@aggregate(1, 2, "string_agg", "group_concat", "listagg")
def string_agg(item: Aggregate, over: str) -> Piece:
    if over:
        raise refused(item.node, f"{item.word} over a window", "use a subquery")
    value = say(item.arguments[0])
    bad = [] if value.type == "string" else [f"typeof(first({value.text})) <> 'string'"]
    if value.type not in ("string", None):
        raise refused(item.node, f"{item.word} of a {value.type.upper()}", "cast it to VARCHAR")
    separator = say(item.arguments[1]).text if len(item.arguments) > 1 else "','"
    distinct = "DISTINCT " if item.distinct else ""
    order = ""
    if item.order:
        order = f" WITHIN GROUP (ORDER BY {', '.join(say(key).text for key in item.order)})"
    text = f"listagg({distinct}{value.text}, {separator}){order}{item.filter}"
    what = f"{item.word} of something else than texts"
    return Piece(guarded(item.node, text, bad, what, "cast it to VARCHAR"), "string")


@aggregate(1, 1, "list", "array_agg")
def list_agg(item: Aggregate, over: str) -> Piece:
    """Keeps what is NULL, and is NULL itself where there are no rows."""
    if item.distinct:
        raise refused(
            item.node, f"{item.word} with DISTINCT", "sort it: list(x ORDER BY x) of a subquery"
        )
    value = say(item.arguments[0])
    tail = f"{item.filter}{over}"
    keys = [say(key.this).text for key in item.order]
    fields = [f"{text} AS _tranche_k{number}" for number, text in enumerate(keys)]
    rows = f"collect_list(struct({', '.join([*fields, f'{value.text} AS _tranche_v'])})){tail}"
    if item.order:
        rows = f"array_sort({rows}, (_tranche_a, _tranche_b) -> {_compared(item.order)})"
    text = f"if(count(*){tail} = 0, NULL, transform({rows}, _tranche_r -> _tranche_r._tranche_v))"
    return Piece(text, "list", element=value.type)


def _compared(order: Sequence[exp.Expr]) -> str:
    """How two rows stand to each other, with NULL where the order says."""
    branches: list[str] = []
    for number, key in enumerate(order):
        a, b = f"_tranche_a._tranche_k{number}", f"_tranche_b._tranche_k{number}"
        less = "1" if key.args.get("desc") else "-1"
        more = "-1" if key.args.get("desc") else "1"
        first = bool(key.args.get("nulls_first"))
        branches += [
            f"WHEN {a} IS NULL AND {b} IS NOT NULL THEN {'-1' if first else '1'}",
            f"WHEN {a} IS NOT NULL AND {b} IS NULL THEN {'1' if first else '-1'}",
            f"WHEN {a} < {b} THEN {less}",
            f"WHEN {a} > {b} THEN {more}",
        ]
    return f"CASE {' '.join(branches)} ELSE 0 END"


@rule(exp.Filter)
def filtered(node: exp.Expr) -> Piece:
    inner = node.this
    if not isinstance(inner, exp.Anonymous) or called(inner) not in AGGREGATES:
        raise refused(node, "FILTER of something else than a known aggregate", "use CASE")
    return made(inner, node.expression.this, "")


@rule(exp.Ordered)
def ordered(node: exp.Expr) -> Piece:
    """NULL is last, unless it is said where it is."""
    only(node, "this", "desc", "nulls_first")
    direction = " DESC" if node.args.get("desc") else ""
    nulls = "FIRST" if node.args.get("nulls_first") else "LAST"
    if isinstance(node.this, exp.Var) and node.this.name.upper() == "ALL":
        return Piece(f"ALL{direction} NULLS {nulls}")
    return Piece(f"{say(node.this).text}{direction} NULLS {nulls}")


@rule(exp.Window)
def window(node: exp.Expr) -> Piece:
    over = f" OVER {window_text(node)}"
    inner = node.this
    if isinstance(inner, exp.Filter):
        raise refused(node, "FILTER of a window is not translated", "use CASE WHEN … THEN … END")
    nulls = isinstance(inner, exp.IgnoreNulls)
    if nulls or isinstance(inner, exp.RespectNulls):
        raise refused(node, "IGNORE NULLS is not translated", "filter the rows before")
    if not isinstance(inner, exp.Anonymous):
        raise refused(node, "a window over something else than a function", "use a subquery")
    word = called(inner)
    if word in AGGREGATES:
        return made(inner, None, over)
    if word not in WINDOWS:
        raise unknown(inner, word)
    type_, least, most = WINDOWS[word]
    arguments = inner.expressions
    check_count(inner, word, len(arguments), least, most)
    if any(
        isinstance(argument, exp.IgnoreNulls | exp.Order | exp.Distinct) for argument in arguments
    ):
        raise refused(node, f"{word} with more than values in its brackets", "leave it out")
    pieces = [say(argument) for argument in arguments]
    if word in ("lag", "lead", "nth_value", "ntile") and len(arguments) > 1 - (word == "ntile"):
        number = constant_number(arguments[0 if word == "ntile" else 1])
        if number is None or number < 0 or (word != "lag" and word != "lead" and number == 0):
            raise refused(node, f"{word} with a computed or negative number", "write the number")
    if word in _ORDERED and not (node.args.get("order") or node.args.get("alias")):
        raise refused(node, f"{word} over rows without an order", "add ORDER BY")
    text = f"{word}({', '.join(piece.text for piece in pieces)}){over}"
    if len(pieces) == 3:
        text = _with_default(node, text, pieces[0], pieces[2])
    if type_ == "bigint":
        return Piece(f"CAST({text} AS BIGINT)", "bigint")
    return Piece(text, type_ or (pieces[0].type if pieces else None))


def _with_default(node: exp.Expr, text: str, value: Piece, default: Piece) -> str:
    """`lag(x, 1, 0)`: what is given for a whole number has to be one, of others Spark would cut
    off what DuckDB rounds."""
    if is_whole(default.type) or default.type == "null":
        return text
    whole = ", ".join(f"'{type_}'" for type_ in WHOLE)
    bad = [f"{value.kind} IN ({whole}) AND {default.kind} NOT IN ({whole}, 'void')"]
    what = "lag or lead of whole numbers with something else instead"
    return guarded(node, text, bad, what, "cast it, as in x::INTEGER")


def window_text(node: exp.Expr) -> str:
    """What stands in the brackets behind OVER."""
    only(node, "this", "partition_by", "order", "spec", "alias", "over", "first")
    alias = node.args.get("alias")
    adds = any(node.args.get(key) for key in ("partition_by", "order", "spec"))
    if alias is not None and not adds:
        return name(alias)
    if alias is not None:
        raise refused(node, "a window that adds to a named one", "write it out")
    words: list[str] = []
    if node.args.get("partition_by"):
        keys = ", ".join(say(key).text for key in node.args["partition_by"])
        words.append(f"PARTITION BY {keys}")
    order = node.args.get("order")
    if order is not None:
        words.append(f"ORDER BY {', '.join(say(key).text for key in order.expressions)}")
    spec = node.args.get("spec")
    if spec is not None:
        words.append(_frame(spec))
    return f"({' '.join(words)})"


def _frame(spec: exp.Expr) -> str:
    kind = str(spec.args.get("kind") or "").upper()
    if kind not in ("ROWS", "RANGE") or spec.args.get("exclude"):
        raise refused(spec, "a frame by GROUPS, or with EXCLUDE", "use ROWS or RANGE")
    start = _border(spec, "start")
    if spec.args.get("end") is None:
        return f"{kind} {start}"
    return f"{kind} BETWEEN {start} AND {_border(spec, 'end')}"


def _border(spec: exp.Expr, side: str) -> str:
    value, where = spec.args.get(side), spec.args.get(f"{side}_side")
    if isinstance(value, str):
        return f"{value} {where or ''}".strip()
    if isinstance(value, exp.Interval):
        if unit_of(value) != "DAY":
            raise refused(spec, "a frame by other units than days", "use ROWS")
        return f"INTERVAL '{int(value.this.name)}' DAY {where}"
    if not isinstance(value, exp.Literal):
        raise refused(spec, "a frame with a computed border", "write the number of rows")
    return f"{say(value).text} {where}"


def contains_aggregate(node: exp.Expr) -> bool:
    """Whether a SELECT of it has one row for each group."""
    return any(
        called(inner) in AGGREGATES and not isinstance(inner.parent, exp.Window)
        for inner in node.find_all(exp.Anonymous)
    )


def _call_or_aggregate(node: exp.Expr) -> Piece:
    return made(node, None, "") if called(node) in AGGREGATES else call(node)


rule(exp.Anonymous)(_call_or_aggregate)
