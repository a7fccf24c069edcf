"""Where rows have their key in a column, so that they need not be joined with the keys.

`WHERE day = '{partition}' GROUP BY region` is `WHERE day IN (…) GROUP BY day, region`: what is
compared with the key tells it. That holds for values that are written in one way only, which is for
Spark to say; here it is seen whether the text allows for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import TokenType as T

from tranche.script.ranges.marks import Known
from tranche.script.ranges.shape import Select, Span, subqueries
from tranche.script.ranges.walking import expressions_of, flat

if TYPE_CHECKING:
    from tranche.script.ranges.threaded import Threader

_OPENS = (T.L_PAREN, T.L_BRACKET, T.CASE)
_CLOSES = (T.R_PAREN, T.R_BRACKET, T.END)
_SETS = (T.ROLLUP, T.CUBE, T.GROUPING_SETS)


def computed_key(threader: Threader, select: Select, known: Known) -> int | None:
    """Which of the comparisons with the key all rows pass that a SELECT takes, if that will do."""
    where = select.where
    if where is None or not select.relations or not _plain(threader, select, known):
        return None
    found = conjuncts(threader, where)
    for number, each in enumerate(threader.compared):
        equals = [operator for operator, _ in each.limits] == ["="]
        if each.whole in found and equals:
            return number
    return None


def _plain(threader: Threader, select: Select, known: Known) -> bool:
    """Whether nothing else needs the key where a column of these rows could not be seen."""
    spans = [relation.primary for relation in flat(select.relations)]
    spans += [relation.condition for relation in flat(select.relations) if relation.condition]
    spans += select.views
    # Names in HAVING are first of all those of the result.
    spans += [select.having] if select.having is not None else []
    names = {threader.tokens[at].text.lower() for span in spans for at in range(*span)}
    if any(map(threader.depends_on, spans)) or not names.isdisjoint(known):
        return False
    sets = select.group is not None and any(
        word.token_type in _SETS for word in threader.within(select.group)
    )
    nested = (
        threader.depends(query, known)
        for span in expressions_of(select)
        for _, query in subqueries(threader.tokens, span)
    )
    return not sets and not any(nested)


def conjuncts(threader: Threader, where: Span) -> set[Span]:
    """The conditions that all have to hold."""
    found: set[Span] = set()
    depth, start = 0, where.start
    between = False
    for at in range(*where):
        kind = threader.tokens[at].token_type
        depth += (kind in _OPENS) - (kind in _CLOSES)
        if depth:
            continue
        if kind is T.OR:
            return set()
        if kind is T.BETWEEN:
            between = True
        elif kind is T.AND and between:
            between = False
        elif kind is T.AND:
            found.add(Span(start, at))
            start = at + 1
    found.add(Span(start, where.end))
    return found
