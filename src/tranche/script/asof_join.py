"""What an ASOF JOIN says: where its words stand, and which side each operand is of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tranche.script.parsing import BRACKETS
from tranche.script.tokens import SPARK

Relation: TypeAlias = tuple[str, ...]
"""The names under which a table's columns can be had: its alias, or the parts of its name."""

_PARSER = SPARK.parser_class
_JOIN_WORDS = {*_PARSER.JOIN_METHODS, *_PARSER.JOIN_SIDES, *_PARSER.JOIN_KINDS}
_FOLLOWERS = {
    *_JOIN_WORDS,
    *_PARSER.SET_OPERATIONS,
    *_PARSER.QUERY_MODIFIER_TOKENS,
    TokenType.COMMA,
    TokenType.INSERT,
    TokenType.JOIN,
    TokenType.LATERAL,
    TokenType.ON,
    TokenType.PIPE_GT,
    TokenType.PIVOT,
    TokenType.SELECT,
    TokenType.UNPIVOT,
}
"""What can stand behind the condition of a join."""
_DEPTHS = {**BRACKETS, TokenType.CASE: 1, TokenType.END: -1}
_ALSO_FUNCTIONS = (TokenType.LEFT, TokenType.RIGHT)
_OPERATORS = {
    TokenType.EQ: "=",
    TokenType.GTE: ">=",
    TokenType.GT: ">",
    TokenType.LTE: "<=",
    TokenType.LT: "<",
}
_COMPARISONS = (exp.EQ, exp.GTE, exp.GT, exp.LTE, exp.LT)
_TURNED = {"=": "=", ">=": "<=", ">": "<", "<=": ">=", "<": ">"}
_SHAPE = "write equalities and one inequality with AND between them; filter in WHERE or a subquery"
_SIDES = "compare a column of the one side with one of the other; filter in WHERE or a subquery"
_EXAMPLE = "write one, as in ON o.customer_id = d.id AND o.ordered_at >= d.valid_from"


class BadJoin(Exception):
    """A join that cannot be run: where, what is wrong with it, and what to write."""

    def __init__(self, position: int, what: str, remedy: str) -> None:
        super().__init__(what)
        self.position = position
        self.what = what
        self.remedy = remedy


class Span(NamedTuple):
    """From where to where in the text."""

    start: int
    end: int

    def holds(self, position: int) -> bool:
        return self.start <= position < self.end


@dataclass(frozen=True, slots=True)
class Comparison:
    """The operands, and the operator as it reads with the left side first."""

    left: Span
    operator: str
    right: Span

    @property
    def is_equality(self) -> bool:
        return self.operator == "="


@dataclass(frozen=True, slots=True)
class AsofJoin:
    """An ASOF JOIN with ON or with USING, and where its words stand."""

    asof: Span
    join: Span
    condition: Span
    """The word ON, or all of USING."""
    end: int
    right: Relation
    comparisons: tuple[Comparison, ...] = ()
    """Those of ON, in their order; exactly one is no equality."""
    using: tuple[str, ...] = ()
    """The columns of USING; the last one is the inequality."""
    long_names: tuple[Span, ...] = ()
    """Where the query calls the right side by more than the last part of its name."""


def read_asof_join(tokens: list[Token], join: exp.Join) -> AsofJoin:
    """Raises `BadJoin` for one that cannot be run."""
    head = _head(tokens, join)
    asof = tokens[head].start
    right = _right_side(join, asof)
    if not (join.args.get("on") or join.args.get("using")):
        raise BadJoin(asof, "the ASOF JOIN has no condition", _EXAMPLE)
    word = next(i for i in range(head, len(tokens)) if tokens[i].token_type is TokenType.JOIN)
    on = _next_at_depth(tokens, word + 1, {TokenType.ON, TokenType.USING})
    sides = _Sides(join, right)
    comparisons: tuple[Comparison, ...] = ()
    using = tuple(name.name for name in join.args.get("using") or ())
    if using:
        sides.check_hidden({name.lower() for name in using})
        end = _next_at_depth(tokens, on + 2, {TokenType.R_PAREN}) + 1
    else:
        end = _next_at_depth(tokens, on + 1, _FOLLOWERS)
        comparisons = tuple(_comparisons(tokens[on + 1 : end], join.args["on"], sides))
        _check_inequality(comparisons, asof)
    return AsofJoin(
        asof=_span(tokens[head : head + 1]),
        join=_span(tokens[word : word + 1]),
        condition=_span(tokens[on : end if using else on + 1]),
        end=tokens[end - 1].end + 1,
        right=right,
        comparisons=comparisons,
        using=using,
        long_names=tuple(sides.long_names()),
    )


def _head(tokens: list[Token], join: exp.Join) -> int:
    """The ASOF that the join begins with: the last one before its right side."""
    starts = [name.meta["start"] for name in join.this.find_all(exp.Identifier) if name.meta]
    heads = [at for at in range(len(tokens)) if _begins_join(tokens, at)]
    before = [at for at in heads if starts and tokens[at].start < min(starts)]
    return before[-1] if before else heads[0]


def _begins_join(tokens: list[Token], at: int) -> bool:
    if tokens[at].token_type is not TokenType.ASOF:
        return False
    at += 1
    while at < len(tokens) and tokens[at].token_type in _JOIN_WORDS:
        at += 1
    return at < len(tokens) and tokens[at].token_type is TokenType.JOIN


def _right_side(join: exp.Join, asof: int) -> Relation:
    words = [word for word in (join.side, join.kind) if word]
    if words not in ([], ["INNER"], ["LEFT"], ["LEFT", "OUTER"]):
        raise BadJoin(
            asof,
            f"ASOF {' '.join(words)} JOIN cannot be run",
            "write ASOF JOIN or ASOF LEFT JOIN",
        )
    right = _relation(join.this)
    if right is None or join.this.args.get("joins"):
        raise BadJoin(
            asof,
            "the right side of the ASOF JOIN has no name",
            "give it one, as in ASOF JOIN (SELECT …) AS d",
        )
    return right


def _relation(node: exp.Expr) -> Relation | None:
    if node.alias:
        return (node.alias,)
    if not isinstance(node, exp.Table):
        return None
    parts = node.parts
    named = parts and all(isinstance(part, exp.Identifier) for part in parts)
    return tuple(part.name for part in parts) if named else None


def _span(tokens: list[Token]) -> Span:
    return Span(tokens[0].start, tokens[-1].end + 1)


def _shallow(tokens: list[Token], start: int = 0) -> Iterator[int]:
    """The tokens outside of brackets, up to one that closes what was not opened, included.

    Behind a dot stands a name, whatever it looks like: `d.end`, `d.left`.
    """
    depth = 0
    for at in range(start, len(tokens)):
        named = at > start and tokens[at - 1].token_type is TokenType.DOT
        if named:
            continue
        if not depth:
            yield at
        depth += _DEPTHS.get(tokens[at].token_type, 0)
        if depth < 0:
            return


def _next_at_depth(tokens: list[Token], start: int, wanted: set[TokenType]) -> int:
    """The first such token outside of brackets, or where the brackets around it close."""
    for at in _shallow(tokens, start):
        found = tokens[at].token_type
        called = [token.token_type for token in tokens[at + 1 : at + 2]] == [TokenType.L_PAREN]
        if called and found in _ALSO_FUNCTIONS:
            continue
        if found in wanted or _DEPTHS.get(found) == -1:
            return at
    return len(tokens)


def _comparisons(tokens: list[Token], on: exp.Expr, sides: _Sides) -> Iterator[Comparison]:
    """The words and what the parser makes of them must agree: a list of comparisons."""
    found, meant = list(_conjuncts(tokens)), list(_flat(on))
    if len(found) != len(meant):
        raise BadJoin(tokens[0].start, "the condition of the ASOF JOIN is more than AND", _SHAPE)
    for words, node in zip(found, meant, strict=True):
        at = [i for i in _shallow(words) if words[i].token_type in _OPERATORS]
        if len(at) != 1 or not isinstance(node, _COMPARISONS):
            raise BadJoin(words[0].start, "the ASOF JOIN holds more than comparisons", _SHAPE)
        operator = _OPERATORS[words[at[0]].token_type]
        first, second = _span(words[: at[0]]), _span(words[at[0] + 1 :])
        if sides.in_order(first, second):
            yield Comparison(first, operator, second)
        else:
            yield Comparison(second, _TURNED[operator], first)


def _conjuncts(tokens: list[Token]) -> Iterator[list[Token]]:
    """
    >>> [len(part) for part in _conjuncts(SPARK.tokenize("a = b AND ((c > d) AND e = f)"))]
    [3, 3, 3]
    """
    while _is_wrapped(tokens):
        tokens = tokens[1:-1]
    ands = [at for at in _shallow(tokens) if tokens[at].token_type is TokenType.AND]
    if not ands:
        yield tokens
        return
    for start, end in zip([0, *(at + 1 for at in ands)], [*ands, len(tokens)], strict=True):
        yield from _conjuncts(tokens[start:end])


def _is_wrapped(tokens: list[Token]) -> bool:
    """Whether one pair of brackets holds everything."""
    if len(tokens) < 3 or tokens[0].token_type is not TokenType.L_PAREN:
        return False
    return _next_at_depth(tokens, 1, {TokenType.R_PAREN}) == len(tokens) - 1


def _flat(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Paren):
        yield from _flat(node.this)
    elif isinstance(node, exp.And):
        yield from _flat(node.this)
        yield from _flat(node.expression)
    else:
        yield node


def _check_inequality(comparisons: tuple[Comparison, ...], asof: int) -> None:
    found = [comparison for comparison in comparisons if not comparison.is_equality]
    if not found:
        raise BadJoin(asof, "the ASOF JOIN has no inequality", _EXAMPLE)
    if len(found) > 1:
        position = min(found[1].left.start, found[1].right.start)
        raise BadJoin(
            position,
            f"the ASOF JOIN has {len(found)} inequalities",
            "keep the one that finds the nearest row; filter with the others in WHERE or a subquery",
        )


class _Sides:
    """Which columns of a query are of the right side of a join, and which of the left."""

    def __init__(self, join: exp.Join, right: Relation) -> None:
        scope = join.find_ancestor(exp.Select)
        self.right = right
        self.left = list(_relations_beside(scope, join)) if scope is not None else []
        self.columns = [
            column
            for column in (scope.find_all(exp.Column) if scope is not None else ())
            if column.parent_select is scope and "start" in column.parts[0].meta
        ]

    def in_order(self, first: Span, second: Span) -> bool:
        """Whether the operands are of the left and the right side in this order."""
        sides = self.is_right(first), self.is_right(second)
        if sides[0] == sides[1]:
            side = "right" if sides[0] else "left"
            raise BadJoin(
                first.start,
                f"both operands of a comparison are of the {side} side of the ASOF JOIN",
                _SIDES,
            )
        return sides[1]

    def is_right(self, operand: Span) -> bool:
        found = [column for column in self.columns if operand.holds(_start(column))]
        sides = {self._is_right(column) for column in found}
        if len(sides) != 1:
            of = "both sides" if sides else "neither side"
            raise BadJoin(
                operand.start,
                f"an operand is of {of} of the ASOF JOIN",
                _SIDES,
            )
        return sides.pop()

    def _is_right(self, column: exp.Column) -> bool:
        right = _qualified(column, self.right) > 0
        left = any(_qualified(column, relation) for relation in self.left)
        name = ".".join(part.name for part in column.parts)
        if right and left:
            raise BadJoin(
                _start(column),
                f"{name} could be of both sides of the ASOF JOIN",
                "give its tables different aliases",
            )
        if not right and not left:
            raise BadJoin(
                _start(column),
                f"{name} does not say which side of the ASOF JOIN it is of",
                f"write {self.right[-1]}.{name}, or the name of a table on the left before it",
            )
        return right

    def check_hidden(self, names: set[str]) -> None:
        """A lateral join cannot have a column that is there and that `*` does not show."""
        for column in self.columns:
            size = _qualified(column, self.right)
            name = column.parts[size].name if size else ""
            if size and name.lower() in names:
                raise BadJoin(
                    _start(column),
                    f"{self.right[-1]}.{name} is not there: USING leaves one {name}, of the left",
                    f"write {name}, or join with ON to have both",
                )

    def long_names(self) -> Iterator[Span]:
        for column in self.columns:
            size = _qualified(column, self.right)
            if size > 1:
                yield Span(_start(column), column.parts[size - 1].meta["end"] + 1)


def _start(column: exp.Column) -> int:
    return int(column.parts[0].meta["start"])


def _qualified(column: exp.Column, relation: Relation) -> int:
    """How many parts of a column's name are the relation's; 0 if they are of something else.

    >>> _qualified(exp.column("x", "d", "main"), ("main", "d"))
    2
    >>> _qualified(exp.column("x", "d"), ("main", "d"))
    1
    >>> _qualified(exp.column("d"), ("main", "d"))
    0
    """
    parts = [part.name.lower() for part in column.parts]
    names = [name.lower() for name in relation]
    sizes = range(min(len(names), len(parts) - 1), 0, -1)
    return next((size for size in sizes if parts[:size] == names[-size:]), 0)


def _relations_beside(scope: exp.Select, join: exp.Join) -> Iterator[Relation]:
    """Everything else that the query reads from, without what its subqueries read."""
    roots = [scope.args.get("from_"), *(scope.args.get("joins") or ())]
    for root in [*roots, *(scope.args.get("laterals") or ())]:
        if root is None:
            continue
        for node in root.walk(prune=lambda node: isinstance(node, exp.Select | exp.SetOperation)):
            relation = _relation(node) if isinstance(node, exp.DerivedTable | exp.Table) else None
            if relation is not None and node is not join.this:
                yield relation
