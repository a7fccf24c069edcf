"""Queries: SELECT with all its clauses, and what is made of several."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tranche.script.duckdb.aggregates import window_text
from tranche.script.duckdb.calls import called, declined
from tranche.script.duckdb.operators import unified
from tranche.script.duckdb.pieces import Piece, marked, name, refused
from tranche.script.duckdb.places import check_counted, check_unmoved
from tranche.script.duckdb.relations import joined, relation, with_alias
from tranche.script.duckdb.rules import only, rule, say
from tranche.script.duckdb.totals import check_order, has_total, total_of_nothing

_CLAUSES = (
    "with_",
    "distinct",
    "expressions",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "qualify",
    "windows",
    "order",
    "limit",
    "offset",
    "kind",
    "hint",
    "operation_modifiers",
)
declined("the columns are not known when a script is read; write the columns", "columns")
_ROW = "_tranche_row"
_KEPT = "_tranche_kept"


@rule(exp.Select)
def select(node: exp.Expr) -> Piece:
    if node.args.get("sample") is not None:
        raise refused(node.args["sample"], "SAMPLE takes other rows each time", "filter the rows")
    only(node, *_CLAUSES)
    _check_names(node)
    check_counted(node)
    _check_unnest(node)
    head = _with(node)
    tail = _tail(node)
    on = node.args["distinct"].args.get("on") if node.args.get("distinct") else None
    if on is not None:
        # What it is ordered by need not be among its columns.
        if node.args.get("qualify") is not None:
            raise refused(node.args["qualify"], "QUALIFY beside DISTINCT ON", "use a subquery")
        counted = node.args.get("limit") or node.args.get("offset")
        return Piece(f"{head}{_distinct_on(node, on)}{tail if counted else ''}")
    if node.args.get("qualify") is not None:
        return Piece(f"{head}{_qualified(node)}{tail}")
    if has_total(node):
        check_order(node)
        nothing = say(total_of_nothing(node)).text
        rows = f"SELECT {_projections(node)}{_body(node)}"
        return Piece(f"{head}SELECT * FROM ({rows} UNION ALL {nothing}){tail}")
    distinct = "DISTINCT " if node.args.get("distinct") else ""
    return Piece(f"{head}SELECT {distinct}{_projections(node)}{_body(node)}{tail}")


def _check_names(node: exp.Expr) -> None:
    """A name that may mean a column, or what the SELECT calls so: the engines choose differently."""
    given = _given(node)
    order = node.args.get("order")
    for key in order.expressions if order is not None else ():
        if not isinstance(key.this, exp.Column):
            _check_used(key, given, "ORDER BY")
    having, group = node.args.get("having"), node.args.get("group")
    if having is not None and group is not None:
        grouped = {key.name.lower() for key in group.expressions if isinstance(key, exp.Column)}
        _check_used(having, given & grouped, "HAVING")


def _check_unnest(node: exp.Expr) -> None:
    """Windows are computed before lists become rows in DuckDB, and after that in Spark."""
    unnested = [item for item in node.expressions if _is_unnest(item)]
    if not unnested:
        return
    if len(unnested) > 1:
        raise refused(unnested[1], "unnest of several lists in one SELECT", "use a subquery")
    distinct = node.args.get("distinct")
    if node.args.get("qualify") or (distinct is not None and distinct.args.get("on") is not None):
        raise refused(unnested[0], "unnest beside QUALIFY or DISTINCT ON", "use a subquery")
    if any(window.parent_select is node for window in node.find_all(exp.Window)):
        raise refused(unnested[0], "unnest beside a window", "use a subquery")


def _is_unnest(item: exp.Expr) -> bool:
    value = item.this if isinstance(item, exp.Alias) else item
    return isinstance(value, exp.Anonymous) and called(value) == "unnest"


def _given(node: exp.Expr) -> set[str]:
    """The names that the SELECT gives to something else than a column of that name."""
    return {
        item.alias.lower()
        for item in node.expressions
        if isinstance(item, exp.Alias) and not _is_called(item.this, item.alias)
    }


def _is_called(node: exp.Expr, name_: str) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() == name_.lower()


def _check_used(node: exp.Expr, given: set[str], clause: str) -> None:
    for column in node.find_all(exp.Column):
        if not column.table and column.name.lower() in given:
            raise refused(
                column,
                f"{column.name} in an expression of {clause} may mean a column or the name given"
                " in SELECT",
                "give it a name that no column has, and use it in a query around this one",
            )


def _with(node: exp.Expr) -> str:
    clause = node.args.get("with_")
    if clause is None:
        return ""
    if clause.args.get("recursive"):
        raise refused(clause, "WITH RECURSIVE is not translated", "use range or generate_series")
    parts: list[str] = []
    for cte in clause.expressions:
        only(cte, "this", "alias", "materialized")
        alias = cte.args["alias"]
        columns = ", ".join(map(name, alias.args.get("columns") or ()))
        if columns:
            check_unmoved(cte.this, "a list of names")
        listed = f" ({columns})" if columns else ""
        parts.append(f"{name(alias.this)}{listed} AS ({say(cte.this).text})")
    return f"WITH {', '.join(parts)} "


def _body(node: exp.Expr) -> str:
    """From FROM to WINDOW."""
    words: list[str] = []
    from_ = node.args.get("from_")
    if from_ is not None:
        words.append(f"FROM {relation(from_.this, first=True)}")
        words += [joined(join) for join in node.args.get("joins") or ()]
    for key, word in (("where", "WHERE"), ("group", None), ("having", "HAVING")):
        clause = node.args.get(key)
        if clause is not None:
            words.append(_group(clause) if word is None else f"{word} {say(clause.this).text}")
    windows = node.args.get("windows")
    if windows:
        named = ", ".join(f"{name(item.this)} AS {window_text(item)}" for item in windows)
        words.append(f"WINDOW {named}")
    return "".join(f" {word}" if not word.startswith(",") else word for word in words)


def _group(node: exp.Expr) -> str:
    only(node, "expressions", "all", "rollup", "cube", "grouping_sets")
    if node.args.get("all"):
        return "GROUP BY ALL"
    keys = [_grouped(key) for key in node.expressions]
    for kind in ("rollup", "cube", "grouping_sets"):
        keys += [_grouped(key) for key in node.args.get(kind) or ()]
    return f"GROUP BY {', '.join(keys)}"


def _grouped(node: exp.Expr) -> str:
    if isinstance(node, exp.Rollup | exp.Cube):
        word = "ROLLUP" if isinstance(node, exp.Rollup) else "CUBE"
        return f"{word} ({', '.join(_grouped(key) for key in node.expressions)})"
    if isinstance(node, exp.GroupingSets):
        return f"GROUPING SETS ({', '.join(_grouped(key) for key in node.expressions)})"
    if isinstance(node, exp.Tuple):
        return f"({', '.join(say(key).text for key in node.expressions)})"
    return say(node).text


def _tail(node: exp.Expr) -> str:
    words: list[str] = []
    order = node.args.get("order")
    if order is not None:
        words.append(f" ORDER BY {', '.join(say(key).text for key in order.expressions)}")
    for key, word in (("limit", "LIMIT"), ("offset", "OFFSET")):
        clause = node.args.get(key)
        if clause is None:
            continue
        options = clause.args.get("limit_options")
        if options is not None and options.args.get("percent"):
            raise refused(clause, "LIMIT of a percentage is not translated", "write the number")
        count = clause.expression
        if not isinstance(count, exp.Literal | exp.Placeholder):
            raise refused(clause, f"{word} with a computed number", "write the number")
        words.append(f" {word} {say(count).text}")
    return "".join(words)


def _projections(node: exp.Expr) -> str:
    named = is_named(node)
    return ", ".join(_projected(item, named=named) for item in node.expressions)


def _projected(item: exp.Expr, *, named: bool) -> str:
    if isinstance(item, exp.Alias):
        return f"{say(item.this).text} AS {name(item.args['alias'])}"
    star = item.this if isinstance(item, exp.Column) else item
    if isinstance(star, exp.Star):
        return _star(item, star)
    text = say(item).text
    if named and not isinstance(item, exp.Column | exp.Dot):
        raise refused(
            item,
            "a column without a name, which the engines would name differently",
            "give it one with AS",
        )
    return text


def _star(item: exp.Expr, star: exp.Star) -> str:
    """`*` without some columns; those that are replaced or renamed come behind the others."""
    table = f"{name(item.args['table'])}." if isinstance(item, exp.Column) else ""
    without = list(star.args.get("except_") or ())
    replaced = list(star.args.get("replace") or ())
    renamed = list(star.args.get("rename") or ())
    hidden = [_column_name(column) for column in without]
    hidden += [name(column.args["alias"]) for column in replaced]
    hidden += [_column_name(column.this) for column in renamed]
    text = f"{table}{marked(star, '*')}"
    if hidden:
        text += f" EXCEPT ({', '.join(hidden)})"
    added = [f"{say(column.this).text} AS {name(column.args['alias'])}" for column in replaced]
    added += [f"{table}{_column_name(c.this)} AS {name(c.args['alias'])}" for c in renamed]
    return ", ".join([text, *added])


def _column_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Column) and node.table:
        raise refused(
            node, f"{node.sql('duckdb')} of one table in EXCLUDE", "write t.* EXCLUDE (…)"
        )
    inner = node.this if isinstance(node, exp.Column) else node
    return name(inner)


def is_named(node: exp.Expr) -> bool:
    """Whether somebody may use the names of a query's columns."""
    parent = node.parent
    if isinstance(parent, exp.SetOperation):
        return node.arg_key == "this" and is_named(parent)
    if isinstance(parent, exp.Subquery):
        alias = parent.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            return False
        return isinstance(parent.parent, exp.From | exp.Join | exp.Lateral) or is_set(parent)
    if isinstance(parent, exp.CTE):
        return not parent.args["alias"].args.get("columns")
    return not isinstance(parent, exp.In | exp.Exists)


def is_set(node: exp.Expr) -> bool:
    return isinstance(node.parent, exp.SetOperation | exp.Create) or node.parent is None


def _qualified(node: exp.Expr) -> str:
    """The rows that the condition holds for, without the condition."""
    if node.args.get("distinct"):
        raise refused(node.args["qualify"], "QUALIFY beside DISTINCT", "use a subquery")
    # Standing among the columns, it may use names that the SELECT gives, as in DuckDB behind those
    # of columns.
    condition = say(node.args["qualify"].this).text
    inner = f"SELECT {_projections(node)}, {condition} AS {_KEPT}{_body(node)}"
    return f"SELECT * EXCEPT ({_KEPT}) FROM ({inner}) WHERE {_KEPT}"


def _distinct_on(node: exp.Expr, on: exp.Expr) -> str:
    """The first row of each, in the order of the query."""
    keys = on.expressions if isinstance(on, exp.Tuple) else [on]
    for key in keys:
        if not isinstance(key, exp.Column):
            _check_used(key, _given(node), "DISTINCT ON")
    by = ", ".join(say(_meant(node, key)).text for key in keys)
    order = node.args.get("order")
    if order is None:
        raise refused(node, "DISTINCT ON without ORDER BY takes any row", "add ORDER BY")
    sorting = ", ".join(say(_meant(node, key)).text for key in order.expressions)
    number = f"row_number() OVER (PARTITION BY {by} ORDER BY {sorting}) AS {_ROW}"
    inner = f"SELECT {_projections(node)}, {number}{_body(node)}"
    return f"SELECT * EXCEPT ({_ROW}) FROM ({inner}) WHERE {_ROW} = 1"


def _meant(node: exp.Expr, key: exp.Expr) -> exp.Expr:
    """A key of DISTINCT ON or its order. A name that the SELECT gives stands for what it names,
    before any column: inside a window Spark would take the column, or not find it."""
    inner = key.this if isinstance(key, exp.Ordered) else key
    if isinstance(inner, exp.Literal) and not inner.args.get("is_string"):
        # In a window it would be a constant.
        raise refused(node, "a number of a column in DISTINCT ON", "write the column")
    if not isinstance(inner, exp.Column) or inner.table:
        return key
    for item in node.expressions:
        if isinstance(item, exp.Alias) and item.alias.lower() == inner.name.lower():
            named = exp.Paren(this=item.this.copy())
            if key is inner:
                return named
            ordered = key.copy()
            ordered.set("this", named)
            return ordered
    return key


@rule(exp.Union, exp.Except, exp.Intersect)
def set_operation(node: exp.Expr) -> Piece:
    only(node, "this", "expression", "distinct", "by_name", "with_", "order", "limit", "offset")
    if node.args.get("by_name"):
        raise refused(node, "UNION BY NAME is not translated", "name the columns in both queries")
    word = type(node).__name__.upper()
    for side in (node.this, node.expression):
        check_unmoved(side, word)
    _check_types(node)
    every = "" if node.args.get("distinct") else " ALL"
    sides = f" {word}{every} ".join(_sides(node))
    return Piece(f"{_with(node)}{sides}{_tail(node)}")


def _check_types(node: exp.Expr) -> None:
    """Texts and others in one column become one type, and not the same in both engines."""
    sides = [side.unnest() for side in (node.this, node.expression) if isinstance(side, exp.Query)]
    columns = [side.expressions if isinstance(side, exp.Select) else [] for side in sides]
    for pair in zip(*columns, strict=False):
        _check_fields(node, [c.unalias() for c in pair])
        pieces = [say(c.this if isinstance(c, exp.Alias) else c) for c in pair if not c.is_star]
        if len(pieces) == 2:
            unified(node, [piece for piece in pieces if piece.type is not None], "")


def _check_fields(node: exp.Expr, pair: list[exp.Expr]) -> None:
    """Fields of structs are told by their names in DuckDB, and by their places in Spark."""
    names = [[item.this.name for item in c.expressions] for c in pair if isinstance(c, exp.Struct)]
    if len(names) == 2 and names[0] != names[1]:
        raise refused(node, "structs whose fields stand in another order", "write them in one")


def _sides(node: exp.Expr) -> Iterator[str]:
    for side in (node.this, node.expression):
        text = say(side).text
        same = type(side) is type(node) and side.arg_key == "this" and "DISTINCT"
        alike = same and side.args.get("distinct") == node.args.get("distinct")
        yield f"({text})" if isinstance(side, exp.SetOperation) and not alike else text


@rule(exp.Subquery)
def subquery(node: exp.Expr) -> Piece:
    if isinstance(node.parent, exp.SetOperation) or node.parent is None:
        only(node, "this", "with_", "order", "limit", "offset")
        return Piece(f"{_with(node)}({say(node.this).text}){_tail(node)}")
    only(node, "this")
    return Piece(f"({say(node.this).text})")


@rule(exp.Values)
def values(node: exp.Expr) -> Piece:
    """Columns are counted from 0, unless they have names."""
    only(node, "expressions", "alias", "order", "limit", "offset")
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        return Piece(f"{_values_text(node)}{with_alias(node)}")
    first = node.expressions[0]
    width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    columns = ", ".join(f"col{number}" for number in range(width))
    called = name(alias.this) if alias is not None else "_tranche_values"
    text = f"{_values_text(node)} AS {called}({columns})"
    if isinstance(node.parent, exp.From | exp.Join):
        return Piece(text)
    return Piece(f"SELECT * FROM {text}{_tail(node)}")


def _values_text(node: exp.Expr) -> str:
    rows: list[str] = []
    for row in node.expressions:
        items = row.expressions if isinstance(row, exp.Tuple) else [row]
        rows.append(f"({', '.join(say(item).text for item in items)})")
    return f"VALUES {', '.join(rows)}"
