"""The key threaded through a query: it gives the rows of every key, each with its key.

Wherever the query of one slice compares with its key, the keys are joined in as a relation, and
whatever works on rows of one slice (grouping, windows, limits, set operations) does so for each key.
The result of a scope that knows the key has it as one more column, by which the scopes around it
join. So the rows with key k are those that the query gives for k alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from sqlglot.tokenizer_core import Token
from sqlglot.tokenizer_core import TokenType as T

from tranche.script.binding import quoted_name
from tranche.script.ranges.banded import Band
from tranche.script.ranges.edits import Edits
from tranche.script.ranges.implied import Compared
from tranche.script.ranges.marks import FILE_KEY, KEYS_VIEW, Holes, Known
from tranche.script.ranges.scope import Scope
from tranche.script.ranges.shape import (
    Body,
    Cte,
    Nested,
    Query,
    Select,
    SetOperation,
    Shapeless,
    Span,
    Values,
    subqueries,
)
from tranche.script.ranges.walking import expressions_of, has_cte, relations_of, selects_of

_OPENS = (T.L_PAREN, T.L_BRACKET)
_CLOSES = (T.R_PAREN, T.R_BRACKET)


class Threader:
    """Collects what has to change in a query."""

    def __init__(
        self,
        text: str,
        tokens: list[Token],
        holes: Holes,
        *,
        correlated: bool = True,
        compared: Sequence[Compared] = (),
        computing: bool = False,
        banding: bool = False,
    ) -> None:
        """`correlated` subqueries look at the key of the query around them, where Spark lets them;
        otherwise all of them are joined by it. What is `compared` with the key may stand for it, if
        `computing`, or may tell of a few keys, if `banding`."""
        self.tokens = tokens
        self.holes = holes
        self.correlated = correlated
        self.compared = compared
        self.computing = computing
        self.banding = banding
        self.bands: list[Band] = []
        self.probes: dict[Compared, str] = {}
        """What stands for the key, each with a query that shows of which type it is."""
        self.edits = Edits(text, tokens)
        self._visible: list[Cte] = []
        self._numbers = count(1)

    def apart(self) -> Threader:
        """One for a query that moves to another place."""
        other = Threader(
            self.edits.text,
            self.tokens,
            self.holes,
            correlated=self.correlated,
            compared=self.compared,
            computing=self.computing,
            banding=self.banding,
        )
        other.probes, other.bands, other._visible = self.probes, self.bands, self._visible
        other._numbers = self._numbers
        return other

    # Queries

    def query(self, query: Query, out: str, known: Known) -> None:
        """Makes a query return its rows for every key, which is the last column, called `out`."""
        limited = query.limit is not None or query.offset is not None
        before = len(self._visible)
        inside = self.ctes(query.ctes, known)
        if limited:
            self.limit(query, out)
        elif query.order is not None and not query.spreads:
            # Rows of a table have no order.
            self.remove(Span(query.order.start - 1, query.order.end))
        self.body(query.body, out, inside)
        del self._visible[before:]

    def ctes(self, ctes: list[Cte], known: Known) -> Known:
        inside = dict(known)
        for cte in ctes:
            name = cte.name.lower()
            if not self.depends(cte.query, inside):
                inside.pop(name, None)
                self._visible.append(cte)
                continue
            column = self.fresh()
            if cte.columns is not None:
                self.edits.behind(cte.columns.end - 1, f", {column}")
            self.query(cte.query, column, inside)
            self._visible.append(cte)
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
        Scope(self, select, known).thread(out)

    def probe(self, column: Span, sources: Span) -> str:
        """A query that shows of which type something is that stands behind FROM."""
        words = self.edits.words
        ctes = {
            cte.name.lower(): f"{quoted_name(cte.name)}"
            + (f"({words(cte.columns)})" if cte.columns is not None else "")
            + f" AS ({words(cte.query.span)})"
            for cte in self._visible
        }
        before = f"WITH {', '.join(ctes.values())} " if ctes else ""
        return f"{before}SELECT {words(column)} AS v FROM {words(sources)}"  # noqa: S608

    def inside(self, query: Query, key: str, known: Known) -> None:
        """A query that looks at the key of the query around it."""
        inner = {name: column for name, column in known.items() if not has_cte(query, name)}
        for at in range(*query.span):
            if at in self.holes.keys:
                self.key(at, key)
            elif at in self.holes.files:
                self.edits.around(
                    Span(at, at + 1),
                    f"(SELECT * EXCEPT ({FILE_KEY}) FROM ",  # noqa: S608
                    f" WHERE {FILE_KEY} = {key})",
                )
        for relation in relations_of(query):
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
        self,
        span: Span | None,
        key: str,
        known: Known,
        *,
        windows: bool = True,
        by: str | None = None,
    ) -> None:
        """Puts the key into an expression, and lets its windows and subqueries look at it.

        Windows are parted by `by`, where that tells keys apart too and costs less.
        """
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
                self.window(at + 2, by or key)
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
            for select in selects_of(query)
            for span in expressions_of(select)
            for _, inner in subqueries(self.tokens, span)
        ) or any(relation.lateral for relation in relations_of(query))

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
