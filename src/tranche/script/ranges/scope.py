"""One SELECT that depends on the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import TokenType as T

from tranche.script.binding import quoted_name
from tranche.script.ranges.aggregates import AGGREGATES
from tranche.script.ranges.banded import Band, banded
from tranche.script.ranges.computed import computed_key
from tranche.script.ranges.marks import BANDS_VIEW, EXACT, FILE_KEY, KEYS_VIEW, Known
from tranche.script.ranges.shape import Relation, Select, Shapeless, Span, subqueries
from tranche.script.ranges.walking import names_of

if TYPE_CHECKING:
    from tranche.script.ranges.threaded import Threader

_OPENS = (T.L_PAREN, T.L_BRACKET)
_CLOSES = (T.R_PAREN, T.R_BRACKET)


class Scope:
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
        self.by = self.key
        """What tells keys apart."""
        self.hidden = [self.column]
        """The columns that no star of the user's may show."""
        self.owned: dict[str, str] = {}
        """The column of the key in each relation that has one, by the relation's name."""

    def thread(self, out: str) -> None:
        select, threader = self.select, self.threader
        aggregated = any(map(self.has_aggregate, [*select.items, *filter(None, [select.having])]))
        whole = aggregated and select.group is None
        last = select.items[-1].end - 1
        if whole:
            self.whole(out)
            return
        if not self.computed():
            if not select.relations:
                self.edits.behind(last, f" FROM {KEYS_VIEW} AS {self.column}({self.column})")
            elif not self.keyed():
                self.sources(f"{self.keys()} ")
            self.by = self.key
        for view in select.views:
            threader.expression(view, self.key, self.known)
        threader.expression(select.where, self.key, self.known)
        self.group()
        threader.expression(select.having, self.key, self.known, by=self.by)
        for window in select.windows:
            threader.window(window.start, self.by)
            threader.expression(window, self.key, self.known, windows=False)
        self.edits.behind(last, f", {self.key} AS {out}")
        self.items()

    def computed(self) -> bool:
        """Takes for the key what the rows are compared with it by, if nothing speaks against it."""
        threader = self.threader
        number = computed_key(threader, self.select, self.known) if threader.computing else None
        if number is None:
            return False
        found = threader.compared[number]
        words = self.edits.words(found.column)
        threader.probes[found] = threader.probe(found.column, self.all_sources())
        self.edits.replace(found.whole, f"{EXACT}{number}_")
        self.by, self.key = f"({words})", f"CAST(({words}) AS STRING)"
        self.hidden = []
        return True

    def keyed(self) -> bool:
        """Reads from something first that has the key of each row, so that nothing gives it them."""
        first, *others = self.select.relations
        own = self.own_key(first)
        if own is None:
            return False
        name, unnamed = self.name(first)
        self.key, self.hidden, self.owned = f"{quoted_name(name)}.{own}", [own], {name.lower(): own}
        if unnamed:
            self.edits.behind(self.end(first) - 1, f" AS {quoted_name(name)}")
        if self.pivots(first):
            self.wrapped(first, "(SELECT * FROM ", ")")
        if first.query is not None:
            self.threader.query(first.query, own, self.known)
        self.joined(others)
        return True

    def all_sources(self) -> Span:
        """Everything behind FROM."""
        relations, views = self.select.relations, self.select.views
        end = views[-1].end if views else relations[-1].span.end
        return Span(relations[0].span.start, end)

    def keys(self) -> str:
        """The relation of keys; with their bands, where rows can tell them by theirs."""
        threader, column = self.threader, self.column
        numbers = banded(threader, self.select) if threader.banding else ()
        if not numbers:
            return f"{KEYS_VIEW} AS {column}({column})"
        place = threader.fresh()
        probe = threader.probe(threader.compared[numbers[0]].column, self.all_sources())
        threader.bands.append(Band(numbers[0], numbers, probe, f"{column}.{place}"))
        self.hidden.append(place)
        return f"{BANDS_VIEW}{numbers[0]} AS {column}({column}, {place})"

    def whole(self, out: str) -> None:
        """One group of all rows, which is there also if there are none.

        Keys without rows get one that no aggregate looks at.
        """
        select, threader = self.select, self.threader
        every, there = threader.fresh(), threader.fresh()
        inner, last = self.column, select.items[-1].end - 1
        outer = f"{KEYS_VIEW} AS {every}({every})"
        if select.views or select.windows:
            raise Shapeless("an aggregate over LATERAL VIEW or with a window")
        group = f" GROUP BY {every}.{every}"
        joined = f") ON {inner}.{inner} = {every}.{every}"
        if not select.relations:
            raise Shapeless("an aggregate that reads nothing")
        keys = f"{self.keys()} CROSS JOIN (SELECT true AS {there}) AS {there}"
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
        first, *others = self.select.relations
        self.relation(first, keys)
        self.joined(others)

    def joined(self, relations: list[Relation]) -> None:
        commas = False
        for relation in relations:
            commas = commas or self.tokens[relation.span.start].token_type is T.COMMA
            if relation.kind in ("right", "full") and commas:
                raise Shapeless(f"a {relation.kind} join behind a comma")
            self.relation(relation, "")

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
                name in self.known for name in names_of(relation.joined)
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
            self.threader.expression(item, self.key, self.known, by=self.by)

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
            self.edits.before(group.start, f"{self.by}, {word} (")
            self.edits.replace(Span(group.end - 2, group.end), ")")
            return
        sets = self.sets_behind(group)
        if sets is not None:
            self.edits.replace(Span(group.start, sets), f"{self.by}, ")
            return
        self.edits.before(group.start, f"{self.by}, ")

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
