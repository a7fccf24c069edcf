"""DuckDB's ASOF JOIN, in words that Spark knows.

`o ASOF JOIN d ON o.id = d.id AND o.at >= d.since` gives each row of `o` the one row of `d` with the
same id and the latest `since` that is not after `at`. For Spark it becomes a lateral join:

    o /* ASOF */ JOIN LATERAL (
        SELECT _tranche_row.* FROM (
            SELECT *, lead(_tranche_at) OVER (
                PARTITION BY _tranche_1 ORDER BY _tranche_at) AS _tranche_next
            FROM (SELECT struct(*) AS _tranche_row, d.id AS _tranche_1, d.since AS _tranche_at
                  FROM d))
        WHERE o.id = _tranche_1 AND o.at >= _tranche_at
          AND (_tranche_next IS NULL OR o.at < _tranche_next)) AS d ON true

Spark plans that as a join on the equalities with a range, like one that is written by hand, and
`SELECT *` and `d.*` show the columns of `d` and no others. They travel in one struct, because a
name inside a lateral query means a column of that query first: if `d` had a column `o`, it would
catch `o.at`. Spark takes the struct apart again where not all of it is needed.

The user's words stay on their lines, with their holes. Only the operands of the right side move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tranche.model.statement import Part, Text
from tranche.script.asof_join import AsofJoin, BadJoin, Span, read_asof_join
from tranche.script.binding import quoted_name
from tranche.script.source import Source
from tranche.script.splice import Hole, spliced

_BEYOND = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
"""How the left side compares with the row behind the nearest, which has to be too far."""


@dataclass(frozen=True, slots=True)
class _Match:
    """A comparison of the two sides, and the column that has the right one's value."""

    left: tuple[Part, ...]
    operator: str
    right: tuple[Part, ...]
    column: str


def with_asof_joins(
    source: Source, tokens: list[Token], tree: exp.Expr, holes: list[Hole]
) -> list[Hole]:
    """The holes of a statement, and those that make its ASOF JOINs lateral joins."""
    if not any(token.token_type is TokenType.ASOF for token in tokens):
        return holes
    for node in tree.find_all(exp.Join):
        if node.method != "ASOF":
            continue
        try:
            join = read_asof_join(tokens, node)
        except BadJoin as bad:
            source.fault(bad.position, bad.what, bad.remedy)
            continue
        holes = _rewritten(source, join, _with_short_names(join, holes))
    return holes


def _with_short_names(join: AsofJoin, holes: list[Hole]) -> list[Hole]:
    """Outside of the lateral query nobody knows the lake and the schema of its table."""
    name = Text(quoted_name(join.right[-1]))
    kept = [hole for hole in holes if hole[:2] not in join.long_names]
    return [*kept, *((start, end, name) for start, end in join.long_names)]


def _rewritten(source: Source, join: AsofJoin, holes: list[Hole]) -> list[Hole]:
    matches = list(_using(join) if join.using else _on(source.text, join, holes))
    for comparison, match in zip(join.comparisons, matches, strict=not join.using):
        holes = [hole for hole in holes if not _is_within(hole, comparison.right)]
        holes.append((*comparison.right, Text(match.column)))
    # What stands behind a USING of several lines stays on its own.
    lines = "\n" * source.text.count("\n", *join.condition)
    return [
        *holes,
        (*join.asof, Text("/* ASOF */")),
        *_inserted(join.join.end, _opening(join, matches)),
        (*join.condition, Text(f"{lines})) WHERE")),
        *_inserted(join.end, _compared(matches) if join.using else ()),
        *_inserted(join.end, _nothing_nearer(matches)),
        *_inserted(join.end, _same_order(matches, source.line(join.asof.start))),
        (join.end, join.end, Text(f") AS {quoted_name(join.right[-1])} ON true")),
    ]


def _on(text: str, join: AsofJoin, holes: list[Hole]) -> Iterator[_Match]:
    for number, comparison in enumerate(join.comparisons, 1):
        left, right = (
            tuple(spliced(text, *span, (hole for hole in holes if _is_within(hole, span))))
            for span in (comparison.left, comparison.right)
        )
        column = f"_tranche_{number}" if comparison.operator == "=" else "_tranche_at"
        yield _Match(left, comparison.operator, right, column)


def _using(join: AsofJoin) -> Iterator[_Match]:
    """All columns are equal but the last, which looks back. Those of the left side need no name
    of a table before them: nothing in the lateral query is called like them."""
    right = quoted_name(join.right[-1])
    for number, name in enumerate(map(quoted_name, join.using), 1):
        last = number == len(join.using)
        column = "_tranche_at" if last else f"_tranche_{number}"
        yield _Match((Text(name),), ">=" if last else "=", (Text(f"{right}.{name}"),), column)


def _compared(matches: list[_Match]) -> Iterator[Part]:
    for number, match in enumerate(matches):
        yield from (Text(" AND " if number else " "), *match.left)
        yield Text(f" {match.operator} {match.column}")


def _is_within(hole: Hole, span: Span) -> bool:
    return span.start <= hole[0] < span.end or hole[:2] == (span.end, span.end)


def _inserted(position: int, parts: Iterable[Part]) -> list[Hole]:
    return [(position, position, part) for part in parts]


def _opening(join: AsofJoin, matches: list[_Match]) -> Iterator[Part]:
    """Up to the right side: each of its rows, and the value of the row behind it."""
    equal = ", ".join(match.column for match in matches if match.operator == "=")
    [nearest] = [match for match in matches if match.operator != "="]
    by = f"PARTITION BY {equal} " if equal else ""
    down = "" if nearest.operator.startswith(">") else " DESC"
    # USING leaves one of each column, that of the left side.
    hidden = ", ".join(map(quoted_name, join.using))
    without = f" EXCEPT ({hidden})" if hidden else ""
    yield Text(" LATERAL (SELECT _tranche_row.* FROM (SELECT *, lead(_tranche_at)")
    yield Text(f" OVER ({by}ORDER BY _tranche_at{down}) AS _tranche_next")
    yield Text(f" FROM (SELECT struct(*{without}) AS _tranche_row")
    for match in matches:
        yield from (Text(", "), *match.right, Text(f" AS {match.column}"))
    yield Text(" FROM")


def _nothing_nearer(matches: list[_Match]) -> Iterator[Part]:
    """The row behind has to be too far. Of rows with the same value the last one matches: only it
    has another value behind it. Rows without a value sort to where nobody takes them for a match.
    """
    [nearest] = [match for match in matches if match.operator != "="]
    yield from (Text(" AND (_tranche_next IS NULL OR "), *nearest.left)
    yield Text(f" {_BEYOND[nearest.operator]} _tranche_next)")


def _same_order(matches: list[_Match], line: int) -> Iterator[Part]:
    """Texts on the right are sorted and grouped as texts, but compared with a number as numbers:
    '9' is after '10', and '1' is not '01'. Several rows could match then. Spark knows the types
    when it plans the query, so that the check costs nothing.
    """
    for number, match in enumerate(matches):
        start = " OR " if number else " AND if("
        yield Text(f"{start}typeof({match.column}) LIKE 'string%' AND typeof(")
        yield from (*match.left, Text(") NOT LIKE 'string%'"))
    yield Text(
        f", raise_error('the ASOF JOIN on line {line} compares a text of its right side with"
        " another type; cast the text'), true)"
    )
