"""Lists, structs and maps: literals, places in them, and functions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tranche.script.duckdb.calls import constant_number, constant_text, declined, function, said
from tranche.script.duckdb.operators import unified
from tranche.script.duckdb.pieces import Piece, literal, name, refused
from tranche.script.duckdb.rules import guarded, only, rule, say
from tranche.script.duckdb.types import common

declined(
    "the order of its result is not said; sort it by hand",
    "list_distinct array_distinct list_unique array_unique list_intersect array_intersect",
)
declined(
    "it is not translated yet; unnest the list and aggregate it",
    "list_sum list_avg list_aggregate list_aggr array_aggregate list_reduce array_reduce reduce"
    " list_zip array_zip list_first list_last list_count list_string_agg list_median",
)


@rule(exp.Array)
def list_(node: exp.Expr) -> Piece:
    if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Comprehension):
        return comprehension(node.expressions[0])
    if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Query):
        raise refused(node, "ARRAY(SELECT …) is not translated", "use list(x) in a subquery")
    pieces = list(said(node.expressions))
    text = f"array({', '.join(piece.text for piece in pieces)})"
    return Piece(unified(node, pieces, text), "list", element=common(pieces))


@function(1, 1, "unnest")
def unnest(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    """A row for each element; it stands alone in a column of SELECT."""
    around = node.parent.parent if isinstance(node.parent, exp.Alias) else node.parent
    if not isinstance(around, exp.Select):
        raise refused(node, "unnest inside an expression", "use a subquery")
    [values] = said(arguments)
    return Piece(f"explode({values.text})", values.element)


@function(0, 99, "list_value", "list_pack")
def list_value(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return list_(exp.Array(expressions=[argument.copy() for argument in arguments]))


@rule(exp.Struct)
def struct(node: exp.Expr) -> Piece:
    fields: list[str] = []
    for item in node.expressions:
        if not isinstance(item, exp.PropertyEQ):
            raise refused(node, "a struct without names is not translated", "write {'a': 1}")
        fields.append(f"{literal(item.this.name)}, {say(item.expression).text}")
    return Piece(f"named_struct({', '.join(fields)})", "struct")


@function(1, 99, "struct_pack")
def struct_pack(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return struct(exp.Struct(expressions=[argument.copy() for argument in arguments]))


@function(2, 2, "struct_extract")
def struct_extract(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    field = constant_text(node, arguments[1], "the field")
    escaped = field.replace("`", "``")
    return Piece(f"{say(arguments[0]).tight}.`{escaped}`")


@rule(exp.ToMap)
def map_literal(node: exp.Expr) -> Piece:
    inner = node.this
    if isinstance(inner, exp.Bracket):
        # The parser takes the place in a map for one in the struct that it is written as.
        written = exp.ToMap(this=inner.this.copy())
        return place(exp.Bracket(this=written, expressions=[e.copy() for e in inner.expressions]))
    pairs = inner.expressions if isinstance(inner, exp.Struct) else []
    items: list[str] = []
    for pair in pairs:
        if not isinstance(pair, exp.PropertyEQ):
            raise refused(node, "a map that is no list of pairs", "write MAP {'a': 1}")
        key = pair.this
        said_ = literal(key.name) if isinstance(key, exp.Identifier) else say(key).text
        items += [said_, say(pair.expression).text]
    return Piece(f"map({', '.join(items)})", "map")


@rule(exp.Map)
def map_of_lists(node: exp.Expr) -> Piece:
    keys, values = node.args.get("keys"), node.args.get("values")
    if keys is None or values is None:
        raise refused(node, "a map of one list", "write MAP {'a': 1} or MAP([keys], [values])")
    return Piece(f"map_from_arrays({say(keys).text}, {say(values).text})", "map")


@function(1, 1, "map_keys", "map_values")
def of_map(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return Piece(f"{str(node.this).lower()}({say(arguments[0]).text})", "list")


@function(1, 1, "array_length")
def array_length(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return Piece(f"CAST(size({say(arguments[0]).text}) AS BIGINT)", "bigint")


@function(1, 1, "cardinality")
def cardinality(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return Piece(f"CAST(size({say(arguments[0]).text}) AS BIGINT)", "bigint")


@rule(exp.Bracket)
def place(node: exp.Expr) -> Piece:
    """`l[1]`, `'text'[1]`, `l[1:2]`, `m['key']` and `s['field']`."""
    value = say(node.this)
    [index] = node.expressions
    if isinstance(index, exp.Slice):
        return _slice(node, value, index)
    number = constant_number(index)
    if value.type == "string":
        if number is None or number == 0:
            raise refused(node, "a computed place in a text", "use substring")
        return Piece(f"substring({value.text}, {number}, 1)", "string")
    if value.type == "struct":
        field = constant_text(node, index, "the field").replace("`", "``")
        return Piece(f"{value.tight}.`{field}`")
    if number == 0 and value.type != "map":
        raise refused(node, "place 0 of a list", "places are counted from 1")
    return _element(value, index)


def _element(value: Piece, index: exp.Expr) -> Piece:
    """NULL if there is none, also at place 0."""
    place_ = say(index).text
    if constant_number(index) is None and not isinstance(index, exp.Literal):
        if value.type == "list":
            place_ = f"nullif({place_}, 0)"
        elif value.type != "map":
            place_ = f"if(typeof({value.text}) LIKE 'array%', nullif({place_}, 0), {place_})"
    return Piece(f"try_element_at({value.text}, {place_})", value.element)


def _slice(node: exp.Expr, value: Piece, index: exp.Expr) -> Piece:
    """From a place to a place, both included."""
    only(index, "this", "expression")
    first_node, last_node = index.args.get("this"), index.args.get("expression")
    first = 1 if first_node is None else constant_number(first_node)
    last = None if last_node is None else constant_number(last_node)
    plain = (
        first is not None and first >= 1 and (last_node is None or (last is not None and last >= 0))
    )
    tail = first is not None and first < 0 and last_node is None
    if not (plain or tail):
        raise refused(node, "a slice with computed or negative places", "write places from 1 on")
    size = None if last is None or first is None else max(last - first + 1, 0)
    if value.type == "string":
        rest = "" if size is None else f", {size}"
        return Piece(f"substring({value.text}, {first}{rest})", "string")
    if tail and first is not None:
        start = f"greatest(size({value.text}) - {-first} + 1, 1)"
        return Piece(f"slice({value.text}, {start}, {-first})", "list", element=value.element)
    count = str(size) if size is not None else f"greatest(size({value.text}), 0)"
    return Piece(f"slice({value.text}, {first}, {count})", "list", element=value.element)


@rule(exp.Lambda)
def lambda_(node: exp.Expr) -> Piece:
    names = ", ".join(name(parameter) for parameter in node.expressions)
    several = f"({names})" if len(node.expressions) > 1 else names
    body = say(node.this)
    return Piece(f"{several} -> {body.text}", element=body.type)


@rule(exp.Comprehension)
def comprehension(node: exp.Expr) -> Piece:
    """`[x * 2 FOR x IN l IF x > 1]`"""
    only(node, "this", "expression", "iterator", "condition")
    variable = name(node.expression)
    values = say(node.args["iterator"]).text
    condition = node.args.get("condition")
    if condition is not None:
        values = f"filter({values}, {variable} -> {say(condition).text})"
    body = say(node.this)
    return Piece(f"transform({values}, {variable} -> {body.text})", "list", element=body.type)


def _with_lambda(node: exp.Expr, arguments: Sequence[exp.Expr]) -> tuple[Piece, Piece]:
    if not isinstance(arguments[1], exp.Lambda):
        raise refused(node, f"{node.this} without a lambda", "write lambda x: …")
    if len(arguments[1].expressions) != 1:
        raise refused(node, "a lambda with the place of the element", "leave the second name out")
    return say(arguments[0]), say(arguments[1])


@function(2, 2, "list_transform", "array_transform", "list_apply", "array_apply")
def transform(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    values, change = _with_lambda(node, arguments)
    return Piece(f"transform({values.text}, {change.text})", "list", element=change.element)


@function(2, 2, "list_filter", "array_filter")
def filtered(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    values, condition = _with_lambda(node, arguments)
    return Piece(f"filter({values.text}, {condition.text})", "list", element=values.element)


@function(2, 2, "list_contains", "array_contains", "list_has", "array_has")
def contains(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    values, value = (piece.tight for piece in said(arguments))
    return Piece(
        f"if({values} IS NULL OR {value} IS NULL, NULL,"
        f" coalesce(array_contains({values}, {value}), false))",
        "boolean",
    )


@function(2, 2, "list_concat", "array_concat", "list_cat", "array_cat")
def concat(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    a, b = said(arguments)
    return Piece(
        f"concat(coalesce({a.text}, array()), coalesce({b.text}, array()))",
        "list",
        element=a.element or b.element,
    )


@function(2, 2, "list_append", "array_append", "array_push_back")
def append(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    values, value = said(arguments)
    return Piece(
        f"concat(coalesce({values.text}, array()), array({value.text}))",
        "list",
        element=values.element,
    )


@function(1, 1, "list_sort", "array_sort")
def sort(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    [values] = said(arguments)
    return Piece(f"array_sort({values.text})", "list", element=values.element)


@function(1, 1, "list_reverse", "array_reverse")
def reverse(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    [values] = said(arguments)
    # It takes texts as well, which are turned around in another way.
    return Piece(f"reverse(concat(array(), {values.text}))", "list", element=values.element)


@function(1, 1, "list_min", "list_max")
def extreme(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    word = "array_min" if str(node.this).lower().endswith("min") else "array_max"
    [values] = said(arguments)
    return Piece(f"{word}({values.text})", values.element)


@function(1, 1, "flatten")
def flatten(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    [values] = said(arguments)
    return Piece(f"flatten(filter({values.text}, _tranche_x -> _tranche_x IS NOT NULL))", "list")


@function(2, 2, "list_extract", "list_element", "array_extract")
def extract(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    number = constant_number(arguments[1])
    if number == 0:
        raise refused(node, "place 0 of a list", "places are counted from 1")
    return _element(say(arguments[0]), arguments[1])


@function(2, 2, "array_to_string")
def to_text(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    values, separator = said(arguments)
    what, remedy = (
        "array_to_string of something else than texts",
        "[x::VARCHAR FOR x IN list] casts",
    )
    if values.element not in ("string", None):
        raise refused(node, what, remedy)
    joined = f"array_join({values.text}, {separator.text})"
    none = f"size({values.text}) > 0 AND NOT exists({values.text}, _tranche_x -> _tranche_x IS NOT NULL)"
    text = f"if({none}, NULL, {joined})"
    bad = [] if values.element else [f"{values.kind} <> 'array<string>'"]
    return Piece(guarded(node, text, bad, what, remedy), "string")


@function(1, 3, "range", "generate_series")
def series(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    """A list of whole numbers; `range` leaves its end out."""
    numbers = [constant_number(argument) for argument in arguments]
    if any(number is None for number in numbers):
        raise refused(node, f"a list by {node.this} of computed numbers", "use it in FROM")
    whole = [number for number in numbers if number is not None]
    start, end = (0, whole[0]) if len(whole) == 1 else (whole[0], whole[1])
    step = whole[2] if len(whole) > 2 else 1
    if step == 0:
        raise refused(node, f"{node.this} with steps of 0", "write another step")
    inclusive = str(node.this).lower() != "range"
    last = end if inclusive else end - (1 if step > 0 else -1)
    if (last - start) * step < 0:
        return Piece("CAST(array() AS ARRAY<BIGINT>)", "list", element="bigint")
    return Piece(f"sequence({start}L, {last}L, {step}L)", "list", element="bigint")
