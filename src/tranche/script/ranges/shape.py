"""The shape of a query: its scopes and clauses as spans of tokens, expressions left as they are.

Spark's own words for expressions are many, and nothing here needs to know them: what matters is
where a SELECT begins and ends, what it reads from, and where its clauses stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from sqlglot.tokenizer_core import Token
from sqlglot.tokenizer_core import TokenType as T


class Shapeless(Exception):
    """A query whose shape is not known here; the text says what it has."""


class Span(NamedTuple):
    """Tokens from `start` up to, but not including, `end`."""

    start: int
    end: int


JoinKind: TypeAlias = Literal["first", "inner", "cross", "left", "right", "full", "semi", "anti"]


@dataclass(slots=True)
class Relation:
    """Something that stands in FROM."""

    kind: JoinKind
    span: Span
    """With its words of joining, its alias and its condition."""
    primary: Span
    """The table, function or subquery itself, with its brackets."""
    alias: str | None = None
    tail: Span | None = None
    """What stands between it and its alias, such as PIVOT or TABLESAMPLE."""
    columns: Span | None = None
    """The names in brackets behind its alias."""
    name: tuple[str, ...] = ()
    query: Query | None = None
    joined: list[Relation] | None = None
    """What stands in brackets, if that is no query."""
    lateral: bool = False
    natural: bool = False
    condition: Span | None = None
    """What stands behind ON."""
    using: Span | None = None
    """The names in the brackets of USING."""


@dataclass(slots=True)
class Select:
    """One SELECT, up to where ORDER BY or a set operation would stand."""

    span: Span
    distinct: bool
    items: list[Span]
    relations: list[Relation] = field(default_factory=list)
    views: list[Span] = field(default_factory=list)
    """LATERAL VIEW clauses."""
    where: Span | None = None
    group: Span | None = None
    having: Span | None = None
    windows: list[Span] = field(default_factory=list)
    """What stands in the brackets of each named window."""


@dataclass(slots=True)
class SetOperation:
    """Two queries with UNION, INTERSECT or EXCEPT between them."""

    span: Span
    left: Body
    right: Body


@dataclass(slots=True)
class Values:
    """VALUES (…), (…)."""

    span: Span


@dataclass(slots=True)
class Nested:
    """A query in brackets of its own."""

    span: Span
    query: Query


Body: TypeAlias = Select | SetOperation | Values | Nested


@dataclass(slots=True)
class Cte:
    """One of the queries behind WITH."""

    name: str
    columns: Span | None
    query: Query


@dataclass(slots=True)
class Query:
    """A whole query: CTEs, a body, and what orders and limits it."""

    span: Span
    ctes: list[Cte]
    body: Body
    order: Span | None = None
    """The expressions behind ORDER BY."""
    limit: Span | None = None
    offset: Span | None = None
    tail: Span | None = None
    """Everything behind the body."""
    spreads: bool = False
    """Whether it says how rows are spread over tasks (SORT BY and the like)."""


_STARTS = (T.SELECT, T.WITH, T.VALUES)
_JOIN_WORDS = (
    T.JOIN,
    T.CROSS,
    T.INNER,
    T.LEFT,
    T.RIGHT,
    T.FULL,
    T.SEMI,
    T.ANTI,
    T.NATURAL,
    T.OUTER,
)
_SET_WORDS = (T.UNION, T.INTERSECT, T.EXCEPT)
_AFTER_BODY = (T.ORDER_BY, T.LIMIT, T.OFFSET, T.SORT_BY, T.CLUSTER_BY, T.DISTRIBUTE_BY)
_CLAUSES = (T.FROM, T.WHERE, T.GROUP_BY, T.HAVING, T.WINDOW, *_SET_WORDS, *_AFTER_BODY)
_REFUSED = {T.QUALIFY: "QUALIFY", T.PIPE_GT: "|>", T.FETCH: "FETCH"}
_OPENS = (T.L_PAREN, T.L_BRACKET)
_CLOSES = (T.R_PAREN, T.R_BRACKET)
_KINDS: dict[frozenset[T], JoinKind] = {
    frozenset({T.LEFT, T.SEMI}): "semi",
    frozenset({T.SEMI}): "semi",
    frozenset({T.LEFT, T.ANTI}): "anti",
    frozenset({T.ANTI}): "anti",
    frozenset({T.LEFT}): "left",
    frozenset({T.RIGHT}): "right",
    frozenset({T.FULL}): "full",
    frozenset({T.CROSS}): "cross",
    frozenset({T.INNER}): "inner",
    frozenset(): "inner",
}


def read_query(tokens: list[Token]) -> Query:
    """The shape of a statement that is one query."""
    return _Reader(tokens).query(0, len(tokens))


def subqueries(tokens: list[Token], span: Span) -> Iterator[tuple[Span, Query]]:
    """The queries that stand in an expression, outermost only, each with its brackets."""
    reader = _Reader(tokens)
    at = span.start
    while at < span.end:
        if tokens[at].token_type is T.L_PAREN:
            found = reader.bracketed_query(at)
            if found is not None:
                end = reader.closing(at) + 1
                yield Span(at, end), found
                at = end
                continue
        at += 1


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens

    def kind(self, at: int) -> T | None:
        return self.tokens[at].token_type if 0 <= at < len(self.tokens) else None

    def closing(self, at: int) -> int:
        """Where the bracket ends that opens here."""
        depth = 0
        for position in range(at, len(self.tokens)):
            kind = self.tokens[position].token_type
            if kind in _OPENS:
                depth += 1
            elif kind in _CLOSES:
                depth -= 1
                if depth == 0:
                    return position
        raise Shapeless("a bracket that is not closed")

    def until(self, at: int, end: int, *stops: T) -> int:
        """The next token of these kinds that stands in no bracket; `end` if there is none."""
        while at < end:
            kind = self.tokens[at].token_type
            if kind in stops and not self.is_name(at):
                return at
            if kind in _REFUSED and not self.is_name(at):
                raise Shapeless(_REFUSED[kind])
            at = self.closing(at) + 1 if kind in _OPENS else at + 1
        return end

    def is_name(self, at: int) -> bool:
        """Whether a word is a column's or a function's name, whatever else it could mean."""
        if self.kind(at - 1) is T.DOT or self.kind(at + 1) is T.DOT:
            return True
        if self.kind(at) is T.EXCEPT:
            return self.kind(at - 1) is T.STAR
        functions = (T.LEFT, T.RIGHT, T.FETCH, T.OFFSET, T.WINDOW)
        return self.kind(at) in functions and self.kind(at + 1) is T.L_PAREN

    def split(self, span: Span) -> list[Span]:
        """What stands between commas."""
        found: list[Span] = []
        start = span.start
        while start < span.end:
            comma = self.until(start, span.end, T.COMMA)
            found.append(Span(start, comma))
            start = comma + 1
        return found

    # Queries

    def bracketed_query(self, at: int) -> Query | None:
        """The query in the brackets that open here, if it is one."""
        first = at
        while self.kind(first) is T.L_PAREN:
            first += 1
        if self.kind(first) not in _STARTS:
            return None
        try:
            return self.query(at + 1, self.closing(at))
        except Shapeless:
            if first == at + 1:
                raise
            # Brackets of an expression that begins with a subquery.
            return None

    def query(self, start: int, end: int) -> Query:
        at, ctes = self.ctes(start, end)
        body, at = self.body(at, end)
        query = Query(Span(start, end), ctes, body, tail=Span(at, end))
        while at < end:
            kind = self.kind(at)
            if kind not in _AFTER_BODY:
                raise Shapeless(f"{self.tokens[at].text!r} after a query")
            after = self.until(at + 1, end, *_AFTER_BODY)
            clause = Span(at + 1, after)
            if kind is T.ORDER_BY:
                query.order = clause
            elif kind is T.LIMIT:
                query.limit = clause
            elif kind is T.OFFSET:
                query.offset = clause
            else:
                query.spreads = True
            at = after
        return query

    def ctes(self, at: int, end: int) -> tuple[int, list[Cte]]:
        found: list[Cte] = []
        if self.kind(at) is not T.WITH:
            return at, found
        at += 1
        if self.kind(at) is T.RECURSIVE:
            raise Shapeless("WITH RECURSIVE")
        while True:
            name, columns = self.tokens[at].text, None
            at += 1
            if self.kind(at) is T.L_PAREN:
                columns = Span(at + 1, self.closing(at))
                at = columns.end + 1
            if self.kind(at) is T.ALIAS:
                at += 1
            query = self.bracketed_query(at) if self.kind(at) is T.L_PAREN else None
            if query is None:
                raise Shapeless(f"the CTE {name}")
            found.append(Cte(name, columns, query))
            at = self.closing(at) + 1
            if self.kind(at) is not T.COMMA or at >= end:
                return at, found
            at += 1

    def body(self, at: int, end: int) -> tuple[Body, int]:
        """All set operations in a row; which of them binds closer does not matter here."""
        left, at = self.term(at, end)
        while at < end and self.kind(at) in _SET_WORDS:
            at += 1
            while self.kind(at) in (T.ALL, T.DISTINCT):
                at += 1
            if self.tokens[at].text.upper() == "BY":
                raise Shapeless("UNION BY NAME")
            right, at = self.term(at, end)
            left = SetOperation(Span(left.span.start, at), left, right)
        return left, at

    def term(self, at: int, end: int) -> tuple[Body, int]:
        match self.kind(at):
            case T.SELECT:
                return self.select(at, end)
            case T.VALUES:
                after = self.until(at + 1, end, *_SET_WORDS, *_AFTER_BODY)
                return Values(Span(at, after)), after
            case T.L_PAREN:
                query = self.bracketed_query(at)
                if query is not None:
                    after = self.closing(at) + 1
                    return Nested(Span(at, after), query), after
        word = self.tokens[at].text if at < len(self.tokens) else "its end"
        raise Shapeless(f"a query that begins with {word!r}")

    def select(self, start: int, end: int) -> tuple[Select, int]:
        end = self.until(start + 1, end, *_SET_WORDS, *_AFTER_BODY)
        at = start + 1
        if self.kind(at) is T.HINT:
            at += 1
        distinct = False
        while self.kind(at) in (T.DISTINCT, T.ALL):
            distinct = distinct or self.kind(at) is T.DISTINCT
            at += 1
        after = self.until(at, end, *_CLAUSES)
        select = Select(Span(start, end), distinct, self.split(Span(at, after)))
        at = after
        while at < end:
            kind = self.kind(at)
            after = self.until(at + 1, end, *_CLAUSES)
            clause = Span(at + 1, after)
            match kind:
                case T.FROM:
                    select.relations, select.views = self.sources(clause)
                case T.WHERE:
                    select.where = clause
                case T.GROUP_BY:
                    select.group = clause
                case T.HAVING:
                    select.having = clause
                case T.WINDOW:
                    select.windows = [self.window(each) for each in self.split(clause)]
                case _:
                    raise Shapeless(f"{self.tokens[at].text!r} in a SELECT")
            at = after
        return select, end

    def window(self, span: Span) -> Span:
        opens = self.until(span.start, span.end, T.L_PAREN)
        if opens == span.end:
            raise Shapeless("a window that is named after another")
        return Span(opens + 1, self.closing(opens))

    # What stands in FROM

    def sources(self, span: Span) -> tuple[list[Relation], list[Span]]:
        starts: list[int] = []
        at = span.start
        while (at := self.until(at, span.end, T.LATERAL)) < span.end:
            if self.kind(at + 1) is T.VIEW:
                starts.append(at)
            at += 1
        views = [Span(start, end) for start, end in pairwise([*starts, span.end])]
        for view in views:
            if self.until(view.start, view.end, T.JOIN, T.PIVOT) < view.end:
                raise Shapeless("a join behind LATERAL VIEW")
        return self.relations(Span(span.start, starts[0] if starts else span.end)), views

    def relations(self, span: Span) -> list[Relation]:
        found: list[Relation] = []
        at = span.start
        kind: JoinKind = "first"
        natural = False
        start = at
        while True:
            relation, at = self.relation(start, at, span.end, kind, natural=natural)
            found.append(relation)
            if at >= span.end:
                return found
            start = at
            natural = False
            if self.kind(at) is T.COMMA:
                kind = "cross"
                at += 1
                continue
            words: set[T] = set()
            while self.kind(at) in _JOIN_WORDS and self.kind(at) is not T.JOIN:
                words.add(self.tokens[at].token_type)
                at += 1
            natural = T.NATURAL in words
            shape = frozenset(words - {T.NATURAL, T.OUTER})
            if self.kind(at) is not T.JOIN or shape not in _KINDS:
                raise Shapeless(f"{self.tokens[start].text!r} in FROM")
            kind = _KINDS[shape]
            at += 1

    def relation(
        self, start: int, at: int, end: int, kind: JoinKind, *, natural: bool
    ) -> tuple[Relation, int]:
        lateral = self.kind(at) is T.LATERAL
        at += lateral
        relation = Relation(kind, Span(start, at), Span(at, at), lateral=lateral, natural=natural)
        at = self.primary(relation, at, end)
        at = self.named(relation, at, end)
        following = self.until(at, end, *_JOIN_WORDS, T.COMMA, T.ON, T.USING)
        if following != at:
            raise Shapeless(f"{self.tokens[at].text!r} in FROM")
        if at < end and self.kind(at) is T.ON:
            after = self.until_join(at + 1, end)
            relation.condition = Span(at + 1, after)
            at = after
        elif at < end and self.kind(at) is T.USING:
            relation.using = Span(at + 2, self.closing(at + 1))
            at = relation.using.end + 1
        relation.span = Span(start, at)
        return relation, at

    def until_join(self, at: int, end: int) -> int:
        """Where the condition of a join ends."""
        return self.until(at, end, *_JOIN_WORDS, T.COMMA)

    def primary(self, relation: Relation, at: int, end: int) -> int:
        start = at
        if self.kind(at) is T.L_PAREN:
            close = self.closing(at)
            relation.query = self.bracketed_query(at)
            if relation.query is None:
                relation.joined = self.relations(Span(at + 1, close))
            at = close + 1
        elif self.kind(at) is T.VALUES:
            at += 1
            while self.kind(at) is T.L_PAREN:
                at = self.closing(at) + 1
                if self.kind(at) is T.COMMA and self.kind(at + 1) is T.L_PAREN:
                    at += 1
        else:
            names = [self.tokens[at].text]
            at += 1
            while self.kind(at) is T.DOT:
                names.append(self.tokens[at + 1].text)
                at += 2
            if self.kind(at) is T.L_PAREN:
                at = self.closing(at) + 1
            else:
                relation.name = tuple(names)
        relation.primary = Span(start, min(at, end))
        return at

    def named(self, relation: Relation, at: int, end: int) -> int:
        """Versions, samples, pivots and the alias."""
        start = at
        while at < end:
            word = self.tokens[at].text.upper()
            kind = self.kind(at)
            if word in ("VERSION", "TIMESTAMP", "FOR") and relation.name:
                at = self.travelled(at, end)
            elif kind is T.TABLE_SAMPLE:
                raise Shapeless("TABLESAMPLE")
            elif kind in (T.PIVOT, T.UNPIVOT):
                at = self.until(at, end, T.L_PAREN)
                at = self.closing(at) + 1
            else:
                break
        if at > start:
            relation.tail = Span(start, at)
        if at < end and self.kind(at) is T.ALIAS:
            at += 1
        elif at >= end or self.kind(at) in (*_JOIN_WORDS, T.COMMA, T.ON, T.USING):
            return at
        relation.alias = self.tokens[at].text
        at += 1
        if at < end and self.kind(at) is T.L_PAREN:
            relation.columns = Span(at + 1, self.closing(at))
            at = relation.columns.end + 1
        return at

    def travelled(self, at: int, end: int) -> int:
        """`VERSION AS OF 3`, `FOR SYSTEM_TIME AS OF …`."""
        while at < end and self.tokens[at].text.upper() != "OF":
            at += 1
        return min(at + 2, end)
