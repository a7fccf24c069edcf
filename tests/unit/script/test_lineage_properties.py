"""Lineage of queries that nobody has written: what must hold for each of them."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lineage_cases import HEADER, LAKES, cases, columns, lineage_of, told
from lineage_rows import answer, filled, runnable

from tranche.model.asset import LakeTable
from tranche.model.lineage import ScriptLineage, columns_read
from tranche.script.lineage import script_lineage
from tranche.script.sql import read_sql_script

TABLES = {"t": columns("k, a, b, c"), "u": columns("k, x, y"), "v": columns("m, n")}
SOME = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@dataclass(frozen=True)
class Query:
    text: str
    names: tuple[str, ...]


@st.composite
def queries(draw: st.DrawFn, depth: int = 2) -> Query:
    """A query in which each column says of which relation it is."""
    if depth and draw(st.integers(0, 5)) == 0:
        left = draw(_selects(depth - 1))
        word = draw(st.sampled_from(["UNION ALL", "UNION", "EXCEPT", "INTERSECT"]))
        right = draw(_selects(depth - 1, width=len(left.names)))
        return Query(f"{left.text} {word} {right.text}", left.names)
    return draw(_selects(depth))


@st.composite
def _selects(draw: st.DrawFn, depth: int, width: int | None = None) -> Query:
    from_, known = draw(_from(depth))
    grouped = draw(st.booleans())
    keys = draw(st.lists(st.sampled_from(known), max_size=2, unique=True)) if grouped else []
    count = width or draw(st.integers(1, 4))
    items = [draw(_item(known, keys, grouped)) for _ in range(count)]
    names = tuple(f"o{number}" for number in range(count))
    shown = ", ".join(f"{item} AS {name}" for item, name in zip(items, names, strict=True))
    distinct = "DISTINCT " if draw(st.integers(0, 6)) == 0 else ""
    text = f"SELECT {distinct}{shown} FROM {from_}"
    if draw(st.booleans()):
        text += f" WHERE {draw(_condition(known))}"
    if keys:
        text += f" GROUP BY {', '.join(keys)}"
        if draw(st.booleans()):
            text += f" HAVING max({draw(st.sampled_from(known))}) > 1"
    return Query(text, names)


@st.composite
def _from(draw: st.DrawFn, depth: int) -> tuple[str, list[str]]:
    text, known = "", list[str]()
    for number in range(draw(st.integers(1, 2))):
        alias = f"q{depth}{number}_"
        if depth and draw(st.booleans()):
            inner = draw(queries(depth - 1))
            relation, names = f"({inner.text}) AS {alias}", list(inner.names)
        else:
            table = draw(st.sampled_from(sorted(TABLES)))
            relation, names = f"{table} AS {alias}", [name for name, _ in TABLES[table]]
        own = [f"{alias}.{name}" for name in names]
        if not number:
            text = relation
        else:
            word = draw(st.sampled_from(["JOIN", "LEFT JOIN"]))
            left, right = draw(st.sampled_from(known)), draw(st.sampled_from(own))
            text += f" {word} {relation} ON {left} = {right}"
        known += own
    return text, known


@st.composite
def _item(draw: st.DrawFn, known: list[str], keys: list[str], grouped: bool) -> str:
    one, other, third = (draw(st.sampled_from(known)) for _ in range(3))
    if grouped:
        forms = [f"sum({one})", "count(*)", f"max({one} + {other})", "7"]
        forms += [f"sum(CASE WHEN {one} > 1 THEN {other} END)", *keys, *(f"{k} + 1" for k in keys)]
        return draw(st.sampled_from(forms))
    return draw(
        st.sampled_from(
            [
                one,
                one,
                f"{one} + {other}",
                f"coalesce({one}, {other})",
                f"CASE WHEN {one} > 1 THEN {other} ELSE {third} END",
                f"(SELECT max(w.x) FROM u AS w WHERE w.k = {one})",
                f"sum({one}) OVER (PARTITION BY {other})",
                f"rank() OVER (PARTITION BY {one} ORDER BY {other})",
                "7",
            ]
        )
    )


@st.composite
def _condition(draw: st.DrawFn, known: list[str]) -> str:
    one, other = (draw(st.sampled_from(known)) for _ in range(2))
    return draw(
        st.sampled_from(
            [
                f"{one} > 1",
                f"{one} = {other}",
                f"{one} IN (SELECT w.m FROM v AS w WHERE w.n <> {other})",
                f"EXISTS (SELECT 1 FROM u AS w WHERE w.k = {one} AND w.y < {other})",
                f"NOT EXISTS (SELECT 1 FROM u AS w WHERE w.k = {one})",
            ]
        )
    )


@SOME
@given(queries())
def test_all_is_told(query: Query) -> None:
    found = lineage_of(query.text, TABLES)
    assert found.complete
    assert [column.column for column in found.columns] == list(query.names)


@SOME
@given(queries())
def test_names_of_relations_do_not_matter(query: Query) -> None:
    renamed = re.sub(r"\bq(\d+)_", r"other_\1", query.text)
    assert told(lineage_of(renamed, TABLES)) == told(lineage_of(query.text, TABLES))


@SOME
@given(queries())
def test_queries_around_do_not_matter(query: Query) -> None:
    plain = told(lineage_of(query.text, TABLES))
    named = ", ".join(query.names)
    for around in (
        f"SELECT * FROM ({query.text}) AS w",
        f"SELECT {named} FROM ({query.text})",
        f"WITH w AS ({query.text}) SELECT {named} FROM w",
        f"WITH w ({named}) AS ({query.text}) SELECT w.* FROM w",
        f"CREATE TEMP VIEW w AS {query.text}; SELECT {named} FROM w",
        f"SELECT l.* FROM (SELECT 1 AS one) AS o, LATERAL ({query.text}) AS l",
    ):
        assert told(lineage_of(around, TABLES)) == plain, around


@SOME
@given(queries())
def test_columns_need_not_be_known_where_names_are_whole(query: Query) -> None:
    assert told(lineage_of(query.text, {})) == told(lineage_of(query.text, TABLES))


@SOME
@given(queries(), st.integers(0, 1000))
def test_what_is_not_read_may_be_anything(query: Query, seed: int) -> None:
    sql = runnable(query.text)
    read = columns_read(lineage_of(query.text, TABLES))
    data, other = filled(TABLES, seed), filled(TABLES, seed + 1)
    before = answer(sql, data) if sql is not None else None
    if before is None:
        return
    assert read is not None
    changed = {
        table: {
            name: values
            if name in (read.get(LakeTable("main", table)) or ())
            else other[table][name]
            for name, values in named.items()
        }
        for table, named in data.items()
    }
    assert answer(sql or "", changed) == before


@pytest.mark.parametrize("seed", range(40))
def test_nothing_breaks_it(seed: int) -> None:
    """Queries of the corpus with words taken out, doubled and exchanged."""
    chance = random.Random(seed)
    corpus = cases()
    for _ in range(8):
        case = chance.choice(corpus)
        words = re.findall(r"\w+|'[^']*'|\s+|[^\w\s]", case.query)
        others = re.findall(r"\w+|'[^']*'|[^\w\s]", chance.choice(corpus).query)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(words))
            words[at : at + 1] = chance.choice(
                [[], [words[at]] * 2, [chance.choice(words)], [" ", chance.choice(others), " "]]
            )
        read = read_sql_script("s", "s.sql", HEADER + "".join(words), LAKES)
        if read.script is not None:
            found = script_lineage(read.script, lambda asset: None)
            assert isinstance(found, ScriptLineage)
            columns_read(found)
