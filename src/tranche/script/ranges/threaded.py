"""The key threaded through a query: it gives the rows of every key, each with its key.

Wherever the query of one slice compares with its key, the keys are joined in as a relation, and
whatever works on rows of one slice (grouping, windows, limits, set operations) does so for each key.
The result of a scope that knows the key has it as one more column, by which the scopes around it
join. So the rows with key k are those that the query gives for k alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count

from sqlglot.tokenizer_core import Token
from sqlglot.tokenizer_core import TokenType as T

from tranche.script.binding import quoted_name
from tranche.script.ranges.aggregates import AGGREGATES
from tranche.script.ranges.edits import Edits
from tranche.script.ranges.shape import (
    Body,
    Cte,
    Nested,
    Query,
    Relation,
    Select,
    SetOperation,
    Shapeless,
    Span,
    Values,
    subqueries,
)

KEYS_VIEW = "_tranche_keys"
"""The relation of all keys; it has one column, whose name nobody relies on."""
FILE_KEY = "_tranche_file_key"
"""The column of a view over files that says to which key a row's path belongs."""

_OPENS = (T.L_PAREN, T.L_BRACKET)
_CLOSES = (T.R_PAREN, T.R_BRACKET)

Known = Mapping[str, str]
"""The CTEs that have a key, by name, with the column that it stands in."""


@dataclass(frozen=True, slots=True)
class Holes:
    """The tokens that stand for what depends on the key."""

    keys: Mapping[int, Callable[[str], str]]
    """Where the key stands, and how it is written there."""
    files: frozenset[int]
    """Where rows of files stand, whose path has the key in it."""
    names: Mapping[int, str]
    """What tables are called by that have no other name."""
    others: frozenset[int] = frozenset()
    """All tokens that stand for something else than they say."""


class Threader:
    """Collects what has to change in a query."""

    def __init__(
        self, text: str, tokens: list[Token], holes: Holes, *, correlated: bool = True
    ) -> None:
        """`correlated` subqueries look at the key of the query around them, where Spark lets them;
        otherwise all of them are joined by it."""
        self.tokens = tokens
        self.holes = holes
        self.correlated = correlated
        self.edits = Edits(text, tokens)
        self._numbers = count(1)

    def apart(self) -> Threader:
        """One for a query that moves to another place."""
        other = Threader(self.edits.text, self.tokens, self.holes, correlated=self.correlated)
        other._numbers = self._numbers
        return other

    # Queries

    def query(self, query: Query, out: str, known: Known) -> None:
        """Makes a query return its rows for every key, which is the last column, called `out`."""
        limited = query.limit is not None or query.offset is not None
        inside = self.ctes(query.ctes, known)
        if limited:
            self.limit(query, out)
        elif query.order is not None and not query.spreads:
            # Rows of a table have no order.
            self.remove(Span(query.order.start - 1, query.order.end))
        self.body(query.body, out, inside)

    def ctes(self, ctes: list[Cte], known: Known) -> Known:
        inside = dict(known)
        for cte in ctes:
            name = cte.name.lower()
            if not self.depends(cte.query, inside):
                inside.pop(name, None)
                continue
            column = self.fresh()
            if cte.columns is not None:
                self.edits.behind(cte.columns.end - 1, f", {column}")
            self.query(cte.query, column, inside)
            inside[name] = column
        return inside

    def limit(self, query: Query, out: str) -> None:
        assert query.tail is not None
        if query.order is None:
            raise Shapeless("LIMIT without ORDER BY")
        if query.spreads or self.depends_on(query.tail):
            raise Shapeless("a LIMIT that depends on the key")
        order = self.edits.words(query.order)
        if any(word.token_type in (*_OPENS, T.DOT, T.NUMBER) for word in self.within(query.order)):
            raise Shapeless("LIMIT by an expression that is no column of the result")
        number, skipped = self.fresh(), "0"
        conditions = []
        if query.offset is not None:
            skipped = f"({self.edits.words(query.offset)})"
            conditions.append(f"{number} > {skipped}")
        if query.limit is not None and self.edits.words(query.limit).upper() != "ALL":
            conditions.append(f"{number} <= ({self.edits.words(query.limit)}) + {skipped}")
        self.edits.around(
            query.body.span,
            f"SELECT * EXCEPT ({number}) FROM (SELECT *, row_number() OVER (PARTITION BY {out}"  # noqa: S608
            f" ORDER BY {order}) AS {number} FROM (",
            f")) WHERE {' AND '.join(conditions) or 'true'}",
        )
        self.remove(query.tail)

    def body(self, body: Body, out: str, known: Known) -> None:
        match body:
            case SetOperation(_, left, right):
                self.body(left, out, known)
                self.body(right, out, known)
            case Nested(_, query):
                self.query(query, out, known)
            case Select() if self.depends(body, known):
                self.select(body, out, known)
            case _:
                if isinstance(body, Values) and self.depends_on(body.span):
                    raise Shapeless("VALUES with the key")
                key = self.fresh()
                self.edits.around(
                    body.span,
                    f"SELECT _tranche_each.*, {key} AS {out} FROM {KEYS_VIEW} AS {key}({key})"  # noqa: S608
                    " CROSS JOIN (",
                    ") AS _tranche_each",
                )

    def select(self, select: Select, out: str, known: Known) -> None:
        scope = _Scope(self, select, known)
        scope.thread(out)

    def inside(self, query: Query, key: str, known: Known) -> None:
        """A query that looks at the key of the query around it."""
        inner = {name: column for name, column in known.items() if not _has_cte(query, name)}
        for at in range(*query.span):
            if at in self.holes.keys:
                self.key(at, key)
            elif at in self.holes.files:
                self.edits.around(
                    Span(at, at + 1),
                    f"(SELECT * EXCEPT ({FILE_KEY}) FROM ",  # noqa: S608
                    f" WHERE {FILE_KEY} = {key})",
                )
        for relation in _relations(query):
            column = inner.get(relation.name[0].lower()) if len(relation.name) == 1 else None
            if column is not None:
                alias = "" if relation.alias else f" AS {quoted_name(relation.name[0])}"
                self.edits.around(
                    relation.primary,
                    f"(SELECT * EXCEPT ({column}) FROM ",  # noqa: S608
                    f" WHERE {column} = {key}){alias}",
                )

    # Expressions

    def expression(
        self, span: Span | None, key: str, known: Known, *, windows: bool = True
    ) -> None:
        """Puts the key into an expression, and lets its windows and subqueries look at it."""
        if span is None:
            return
        at = span.start
        nested = {found.start: (found, query) for found, query in subqueries(self.tokens, span)}
        while at < span.end:
            if at in nested:
                found, query = nested[at]
                self.subquery(found, query, key, known)
                at = found.end
                continue
            if at in self.holes.keys:
                self.key(at, key)
            elif at in self.holes.files:
                raise Shapeless("files outside of FROM")
            elif windows and self.tokens[at].token_type is T.OVER and self.opens(at + 1):
                self.window(at + 2, key)
            at += 1

    def subquery(self, span: Span, query: Query, key: str, known: Known) -> None:
        if not self.depends(query, known):
            return
        if self.correlated and not self.nests(query, known):
            self.inside(query, key, known)
            return
        column = self.fresh()
        self.edits.around(
            Span(span.start + 1, span.end - 1),
            f"SELECT * EXCEPT ({column}) FROM (",  # noqa: S608
            f") AS {column} WHERE {column}.{column} = {key}",
        )
        self.query(query, column, known)

    def window(self, at: int, key: str) -> None:
        """A window, from the token behind its opening bracket on, is one of each key."""
        kind = self.tokens[at].token_type
        if kind is T.PARTITION_BY:
            self.edits.behind(at, f" {key},")
        elif kind in (T.ORDER_BY, T.SORT_BY, T.R_PAREN, T.ROWS, T.RANGE):
            self.edits.before(at, f"PARTITION BY {key} ")
        else:
            raise Shapeless(f"a window that begins with {self.tokens[at].text!r}")

    def key(self, at: int, key: str) -> None:
        self.edits.replace(Span(at, at + 1), self.holes.keys[at](key))

    # Looking

    def depends(self, what: Query | Select, known: Known) -> bool:
        """Whether the rows of a query may differ from key to key."""
        if self.depends_on(what.span):
            return True
        names = {self.tokens[at].text.lower() for at in range(*what.span)}
        return not names.isdisjoint(known)

    def depends_on(self, span: Span) -> bool:
        return any(at in self.holes.keys or at in self.holes.files for at in range(*span))

    def nests(self, query: Query, known: Known) -> bool:
        """Whether the key is wanted by a subquery within: Spark looks one level up only."""
        if query.ctes and any(self.depends(cte.query, known) for cte in query.ctes):
            return True
        return any(
            self.depends(inner, known)
            for select in _selects(query)
            for span in _expressions(select)
            for _, inner in subqueries(self.tokens, span)
        ) or any(relation.lateral for relation in _relations(query))

    def within(self, span: Span) -> list[Token]:
        return self.tokens[span.start : span.end]

    def opens(self, at: int) -> bool:
        return at < len(self.tokens) and self.tokens[at].token_type is T.L_PAREN

    def closing(self, at: int) -> int:
        depth = 0
        for position in range(at, len(self.tokens)):
            kind = self.tokens[position].token_type
            depth += (kind in _OPENS) - (kind in _CLOSES)
            if depth == 0:
                return position
        raise Shapeless("a bracket that is not closed")

    def remove(self, span: Span) -> None:
        if span.end > span.start:
            self.edits.replace(span, "")

    def fresh(self) -> str:
        return f"_tranche_k{next(self._numbers)}"


class _Scope:
    """One SELECT that depends on the key."""

    def __init__(self, threader: Threader, select: Select, known: Known) -> None:
        self.threader = threader
        self.edits = threader.edits
        self.tokens = threader.tokens
        self.select = select
        self.known = known
        self.column = threader.fresh()
        self.key = f"{self.column}.{self.column}"
        """What stands for the key, behind the relations that were looked at so far."""
        self.hidden = [self.column]
        """The columns that no star of the user's may show."""
        self.owned: dict[str, str] = {}
        """The column of the key in each relation that has one, by the relation's name."""

    def thread(self, out: str) -> None:
        select, threader = self.select, self.threader
        aggregated = any(map(self.has_aggregate, [*select.items, *filter(None, [select.having])]))
        whole = aggregated and select.group is None
        last = select.items[-1].end - 1
        keys = f"{KEYS_VIEW} AS {self.column}({self.column})"
        if whole:
            self.whole(out)
            return
        if not select.relations:
            self.edits.behind(last, f" FROM {keys}")
        else:
            self.sources(f"{keys} ")
        for view in select.views:
            threader.expression(view, self.key, self.known)
        threader.expression(select.where, self.key, self.known)
        self.group()
        threader.expression(select.having, self.key, self.known)
        for window in select.windows:
            threader.window(window.start, self.key)
            threader.expression(window, self.key, self.known, windows=False)
        self.edits.behind(last, f", {self.key} AS {out}")
        self.items()

    def whole(self, out: str) -> None:
        """One group of all rows, which is there also if there are none.

        Keys without rows get one that no aggregate looks at.
        """
        select, threader = self.select, self.threader
        every, there = threader.fresh(), threader.fresh()
        inner, last = self.column, select.items[-1].end - 1
        keys = f"{KEYS_VIEW} AS {inner}({inner}) CROSS JOIN (SELECT true AS {there}) AS {there}"
        outer = f"{KEYS_VIEW} AS {every}({every})"
        if select.views or select.windows:
            raise Shapeless("an aggregate over LATERAL VIEW or with a window")
        group = f" GROUP BY {every}.{every}"
        joined = f") ON {inner}.{inner} = {every}.{every}"
        if not select.relations:
            raise Shapeless("an aggregate that reads nothing")
        end = select.relations[-1].span.end - 1
        joined = f"{self.joined_scalars()}{joined}"
        if select.where is not None:
            end = select.where.end - 1
            self.edits.replace(Span(select.where.start - 1, select.where.start), f"{joined} AND (")
            self.edits.behind(end, f"){group}")
        else:
            self.edits.behind(end, f"{joined}{group}")
        self.sources(f"{outer} LEFT JOIN ({keys} ")
        threader.expression(select.where, self.key, self.known)
        self.key = f"{every}.{every}"
        self.edits.behind(last, f", {self.key} AS {out}")
        for span in [*select.items, *filter(None, [select.having])]:
            self.filter_aggregates(span, f"{there}.{there}")
            threader.expression(span, self.key, self.known)

    def joined_scalars(self) -> str:
        """Values of the key that WHERE asks for, as joins: Spark takes no subquery in ON.

        An aggregate of all rows has one row for each key, so that a join gives the same value.
        """
        where = self.select.where
        joins = ""
        for span, query in subqueries(self.tokens, where) if where is not None else ():
            if not self.threader.depends(query, self.known):
                continue
            body = query.body
            asked = self.tokens[span.start - 1].token_type in (T.IN, T.EXISTS)
            if asked or not isinstance(body, Select) or len(body.items) != 1 or body.group:
                continue
            if not self.has_aggregate(body.items[0]):
                continue
            value, key = self.threader.fresh(), self.threader.fresh()
            apart = self.threader.apart()
            apart.query(query, key, self.known)
            text = apart.edits.made(query.span)
            joins += f" LEFT JOIN ({text}) AS {value}({value}, {key}) ON {key} = {self.key}"
            self.edits.replace(span, f"{value}.{value}")
        return joins

    # FROM

    def sources(self, keys: str) -> None:
        """Joins the keys in, and what depends on them by them."""
        relations = self.select.relations
        commas = False
        for number, relation in enumerate(relations):
            first = number == 0
            commas = commas or (
                not first and self.tokens[relation.span.start].token_type is T.COMMA
            )
            if relation.kind in ("right", "full") and commas:
                raise Shapeless(f"a {relation.kind} join behind a comma")
            self.relation(relation, keys if first else "")

    def relation(self, relation: Relation, keys: str) -> None:
        first = bool(keys)
        pivoted = self.pivots(relation)
        if pivoted and not first:
            raise Shapeless("PIVOT behind a join")
        own = self.own_key(relation)
        if own is None and relation.kind not in ("right", "full"):
            lateral = self.looks_up(relation)
            word = "CROSS JOIN LATERAL " if lateral and not relation.lateral else "CROSS JOIN "
            if first:
                self.edits.before(relation.span.start, f"{keys}{word}")
            elif lateral and not relation.lateral:
                self.edits.before(relation.primary.start, "LATERAL ")
            self.condition(relation, None)
            if pivoted:
                self.wrapped(relation, "(SELECT * FROM ", ")")
            if relation.lateral and relation.query is not None:
                self.threader.inside(relation.query, self.key, self.known)
            elif lateral:
                self.threader.expression(relation.primary, self.key, self.known)
            return
        if relation.using is not None or relation.natural:
            self.by_name(relation, own, first=first)
            return
        name, unnamed = self.name(relation)
        missing = own is None
        if own is None:
            own = self.threader.fresh()
        theirs = f"{quoted_name(name)}.{own}"
        if first:
            self.edits.before(relation.span.start, f"{keys}JOIN ")
        elif relation.kind == "cross":
            self.edits.replace(self.joining(relation), " JOIN ")
        equal = f"{theirs} = {self.key}"
        if relation.kind == "right":
            self.key = theirs
        elif relation.kind == "full":
            self.key = f"coalesce({self.key}, {theirs})"
        if relation.kind not in ("semi", "anti"):
            self.hidden.append(own)
            self.owned[name.lower()] = own
        self.condition(relation, equal)
        if unnamed:
            self.edits.behind(self.end(relation) - 1, f" AS {quoted_name(name)}")
        if missing:
            beside = f"(SELECT * FROM {KEYS_VIEW} AS {own}({own}) CROSS JOIN "  # noqa: S608
            self.wrapped(relation, beside, ")")
        elif self.pivots(relation):
            self.wrapped(relation, "(SELECT * FROM ", ")")
        if relation.query is not None and not missing:
            self.threader.query(relation.query, own, self.known)

    def by_name(self, relation: Relation, own: str | None, *, first: bool) -> None:
        """Joined by columns of the same name, of which the key becomes another."""
        if first or self.hidden != [self.column] or relation.query is None:
            raise Shapeless("USING with something that depends on the key")
        if own is not None:
            self.threader.query(relation.query, self.column, self.known)
        else:
            key = self.threader.fresh()
            named = f"(SELECT *, {key} AS {self.column} FROM {KEYS_VIEW} AS {key}({key})"  # noqa: S608
            self.wrapped(relation, f"{named} CROSS JOIN ", ")")
        if relation.using is not None:
            self.edits.behind(relation.using.end - 1, f", {self.column}")
        if relation.kind in ("right", "full"):
            self.key = self.column

    def own_key(self, relation: Relation) -> str | None:
        """The column of the key, of a relation that depends on it by itself."""
        threader = self.threader
        if relation.tail is not None and threader.depends_on(relation.tail):
            raise Shapeless("PIVOT with the key")
        if relation.joined is not None:
            if threader.depends_on(relation.primary) or any(
                name in self.known for name in _names(relation.joined)
            ):
                raise Shapeless("brackets around a join that depends on the key")
            return None
        if relation.lateral:
            return None
        if relation.primary.start in threader.holes.files:
            return FILE_KEY
        if relation.query is not None:
            return threader.fresh() if threader.depends(relation.query, self.known) else None
        if len(relation.name) == 1:
            return self.known.get(relation.name[0].lower())
        return None

    def looks_up(self, relation: Relation) -> bool:
        """Whether it is a function of the key, or a lateral query."""
        if relation.lateral:
            return True
        if not self.threader.depends_on(relation.primary):
            return False
        if self.tokens[relation.primary.start].token_type is T.VALUES:
            raise Shapeless("VALUES with the key")
        return True

    def pivots(self, relation: Relation) -> bool:
        return relation.tail is not None and any(
            word.token_type in (T.PIVOT, T.UNPIVOT) for word in self.threader.within(relation.tail)
        )

    def wrapped(self, relation: Relation, before: str, behind: str) -> None:
        self.edits.around(Span(relation.primary.start, self.end(relation)), before, behind)

    def end(self, relation: Relation) -> int:
        """The token behind the relation itself, where its alias would stand."""
        return relation.tail.end if relation.tail is not None else relation.primary.end

    def name(self, relation: Relation) -> tuple[str, bool]:
        """What its columns are called by, and whether it still has to be given that name."""
        if relation.alias is not None:
            if relation.columns is not None:
                raise Shapeless("an alias with names of columns")
            return relation.alias, False
        at = relation.primary.start
        name = self.threader.holes.names.get(at)
        if name is None and relation.name and at not in self.threader.holes.others:
            name = relation.name[-1]
        return name or self.threader.fresh(), True

    def joining(self, relation: Relation) -> Span:
        """The words that join a relation, or its comma."""
        return Span(relation.span.start, relation.primary.start)

    def condition(self, relation: Relation, equal: str | None) -> None:
        if relation.condition is not None:
            if equal is not None:
                self.edits.around(relation.condition, "(", f") AND {equal}")
            self.threader.expression(relation.condition, self.key, self.known)
        elif equal is not None:
            self.edits.behind(relation.span.end - 1, f" ON {equal}")

    # SELECT and GROUP BY

    def items(self) -> None:
        for item in self.select.items:
            self.star(item)
            self.threader.expression(item, self.key, self.known)

    def star(self, item: Span) -> None:
        """`*` and `t.*` show what they showed, without the keys."""
        words = self.threader.within(item)
        kinds = [word.token_type for word in words]
        hidden: list[str] = []
        if kinds[0] is T.STAR:
            at, hidden = item.start, self.hidden
        elif kinds[1:3] == [T.DOT, T.STAR]:
            at = item.start + 2
            own = self.owned.get(words[0].text.lower())
            hidden = [own] if own is not None else []
        else:
            self.check_stars(item)
            return
        if not hidden:
            return
        if kinds[at - item.start + 1 :][:1] == [T.EXCEPT]:
            self.edits.behind(at + 2, f"{', '.join(hidden)}, ")
        else:
            self.edits.behind(at, f" EXCEPT ({', '.join(hidden)})")

    def check_stars(self, item: Span) -> None:
        """`struct(*)` would show the keys; `count(*)` counts rows."""
        for at in range(item.start, item.end):
            if self.tokens[at].token_type is not T.STAR:
                continue
            before = self.tokens[at - 1]
            counts = before.token_type is T.L_PAREN and self.tokens[at - 2].text.lower() == "count"
            if not counts and before.token_type in (T.L_PAREN, T.COMMA, T.DOT, T.DISTINCT):
                raise Shapeless("a star within a function")

    def group(self) -> None:
        group = self.select.group
        if group is None:
            return
        kinds = [word.token_type for word in self.threader.within(group)]
        self.threader.expression(group, self.key, self.known)
        if kinds == [T.ALL]:
            return
        if kinds[-2:-1] == [T.WITH] and kinds[-1] in (T.ROLLUP, T.CUBE):
            word = "ROLLUP" if kinds[-1] is T.ROLLUP else "CUBE"
            self.edits.before(group.start, f"{self.key}, {word} (")
            self.edits.replace(Span(group.end - 2, group.end), ")")
            return
        sets = self.sets_behind(group)
        if sets is not None:
            self.edits.replace(Span(group.start, sets), f"{self.key}, ")
            return
        self.edits.before(group.start, f"{self.key}, ")

    def sets_behind(self, group: Span) -> int | None:
        """Where GROUPING SETS stands behind a list, without a comma before it."""
        depth = 0
        for at in range(group.start, group.end):
            kind = self.tokens[at].token_type
            depth += (kind in _OPENS) - (kind in _CLOSES)
            if kind is T.GROUPING_SETS and depth == 0 and at > group.start:
                return at if self.tokens[at - 1].token_type is not T.COMMA else None
        return None

    # Aggregates

    def calls(self, span: Span) -> list[int]:
        """The names of aggregate functions that are called, those in subqueries and windows aside."""
        nested = [found for found, _ in subqueries(self.tokens, span)]
        found = []
        for at in range(span.start, span.end):
            if any(inner.start <= at < inner.end for inner in nested):
                continue
            named = self.tokens[at].text.lower() in AGGREGATES
            if not named or not self.threader.opens(at + 1):
                continue
            if self.tokens[at - 1].token_type is T.DOT:
                continue
            end = self.behind_call(at)
            over = [word.token_type for word in self.tokens[end + 1 : end + 2]]
            if over != [T.OVER]:
                found.append(at)
        return found

    def has_aggregate(self, span: Span) -> bool:
        return bool(self.calls(span))

    def behind_call(self, at: int) -> int:
        """The last token of a call, with what belongs to it but for OVER."""
        end = self.threader.closing(at + 1)
        while end + 1 < len(self.tokens):
            word = self.tokens[end + 1]
            filtered = word.token_type is T.FILTER or word.text.upper().startswith("WITHIN")
            if filtered and self.threader.opens(end + 2):
                end = self.threader.closing(end + 2)
            elif word.text.upper() == "WITHIN" and self.threader.opens(end + 3):
                end = self.threader.closing(end + 3)
            elif word.text.upper() in ("IGNORE", "RESPECT", "IGNORE NULLS", "RESPECT NULLS"):
                end += 1 if " " in word.text else 2
            else:
                return end
        return end

    def filter_aggregates(self, span: Span, there: str) -> None:
        """Aggregates see only rows that are there."""
        for at in self.calls(span):
            end = self.threader.closing(at + 1)
            following = self.tokens[end + 1 : end + 2]
            if following and following[0].text.upper().startswith("WITHIN"):
                end = self.threader.closing(end + (2 if self.threader.opens(end + 2) else 3))
                following = self.tokens[end + 1 : end + 2]
            if following and following[0].token_type is T.FILTER:
                self.edits.around(
                    Span(end + 4, self.threader.closing(end + 2)), f"{there} AND (", ")"
                )
            else:
                self.edits.behind(end, f" FILTER (WHERE {there})")


def _selects(query: Query) -> list[Select]:
    """The SELECTs of a query, with those of the queries that it reads from."""
    found: list[Select] = []
    bodies: list[Body] = [query.body]
    while bodies:
        match bodies.pop():
            case Select() as select:
                found.append(select)
                for relation in _flat(select.relations):
                    if relation.query is not None:
                        bodies.append(relation.query.body)
            case SetOperation(_, left, right):
                bodies += (left, right)
            case Nested(_, inner):
                bodies.append(inner.body)
            case Values():
                pass
    return found


def _relations(query: Query) -> list[Relation]:
    return [relation for select in _selects(query) for relation in _flat(select.relations)]


def _flat(relations: list[Relation]) -> list[Relation]:
    return [
        inner
        for relation in relations
        for inner in (_flat(relation.joined) if relation.joined is not None else [relation])
    ]


def _names(relations: list[Relation]) -> list[str]:
    return [relation.name[0].lower() for relation in _flat(relations) if len(relation.name) == 1]


def _expressions(select: Select) -> list[Span]:
    spans = [select.where, select.group, select.having, *select.items, *select.views]
    spans += (relation.condition for relation in _flat(select.relations))
    return [span for span in spans if span is not None and span.end > span.start]


def _has_cte(query: Query, name: str) -> bool:
    return any(cte.name.lower() == name for cte in query.ctes)
