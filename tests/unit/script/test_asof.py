"""ASOF JOIN: what Spark gets for it, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tranche.errors import UsageError
from tranche.model.script import Script
from tranche.model.statement import Statement, TableHole, Text
from tranche.script.adhoc import resolved_statement
from tranche.script.binding import Values, bind
from tranche.script.lakes import Lakes

ReadScript = Callable[[str], Script]
Faults = Callable[[str], list[str]]
HEAD = "-- pipeline\n-- partitioned daily\n-- materialize lake://main/out\n-- $n (int)\n"
CHECK = re.compile(r" AND if\(typeof.*?, true\)(?=\) AS `)")
"""The check of types, which is the same everywhere and has its own test."""


def table(hole: TableHole) -> str:
    return ".".join(hole.table.parts) + ("@" if hole.pinned else "")


def texts(script: Script) -> list[str]:
    values = Values("2026-05-16", {"n": "1"}, {"n": "int"})
    found = [*script.setup, *([script.query] if script.query else [])]
    return [bind(s, values, table=table, files=lambda _: "<files>").text for s in found]


def bound(script: Script) -> str:
    return CHECK.sub("", "; ".join(texts(script)))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT * FROM o ASOF JOIN d ON o.id = d.id AND o.at >= d.since",
            "SELECT * FROM main.default.o@ /* ASOF */ JOIN LATERAL (SELECT _tranche_row.* FROM (SELECT *, lead(_tranche_at) OVER (PARTITION BY _tranche_1 ORDER BY _tranche_at) AS _tranche_next FROM (SELECT struct(*) AS _tranche_row, d.id AS _tranche_1, d.since AS _tranche_at FROM main.default.d@ )) WHERE o.id = _tranche_1 AND o.at >= _tranche_at AND (_tranche_next IS NULL OR o.at < _tranche_next)) AS `d` ON true",
        ),
        (
            "SELECT * FROM o ASOF LEFT OUTER JOIN other.raw.d AS x(i, t) ON (x.t > o.at) WHERE o.a",
            "SELECT * FROM main.default.o@ /* ASOF */ LEFT OUTER JOIN LATERAL (SELECT _tranche_row.* FROM (SELECT *, lead(_tranche_at) OVER (ORDER BY _tranche_at DESC) AS _tranche_next FROM (SELECT struct(*) AS _tranche_row, x.t AS _tranche_at FROM other.raw.d@ AS x(i, t) )) WHERE (_tranche_at > o.at) AND (_tranche_next IS NULL OR o.at >= _tranche_next)) AS `x` ON true WHERE o.a",
        ),
        (
            "SELECT at FROM o JOIN p ON o.i = p.i ASOF JOIN d USING (id, `at`) ORDER BY at",
            "SELECT at FROM main.default.o@ JOIN main.default.p@ ON o.i = p.i /* ASOF */ JOIN LATERAL (SELECT _tranche_row.* FROM (SELECT *, lead(_tranche_at) OVER (PARTITION BY _tranche_1 ORDER BY _tranche_at) AS _tranche_next FROM (SELECT struct(* EXCEPT (`id`, `at`)) AS _tranche_row, `d`.`id` AS _tranche_1, `d`.`at` AS _tranche_at FROM main.default.d@ )) WHERE `id` = _tranche_1 AND `at` >= _tranche_at AND (_tranche_next IS NULL OR `at` < _tranche_next)) AS `d` ON true ORDER BY at",
        ),
        (
            "SELECT main.raw.d.x, raw.d.*, d.y FROM o ASOF JOIN main.raw.d ON o.at >= main.raw.d.since",
            "SELECT `d`.x, `d`.*, d.y FROM main.default.o@ /* ASOF */ JOIN LATERAL (SELECT _tranche_row.* FROM (SELECT *, lead(_tranche_at) OVER (ORDER BY _tranche_at) AS _tranche_next FROM (SELECT struct(*) AS _tranche_row, `d`.since AS _tranche_at FROM main.raw.d@ )) WHERE o.at >= _tranche_at AND (_tranche_next IS NULL OR o.at < _tranche_next)) AS `d` ON true",
        ),
        (
            "SELECT * FROM o ASOF JOIN (SELECT * FROM d WHERE day = '{partition}') AS d ON o.at - $n >= d.at + DATE '{partition}'",
            "SELECT * FROM main.default.o@ /* ASOF */ JOIN LATERAL (SELECT _tranche_row.* FROM (SELECT *, lead(_tranche_at) OVER (ORDER BY _tranche_at) AS _tranche_next FROM (SELECT struct(*) AS _tranche_row, d.at + CAST(:_tranche_key AS DATE) AS _tranche_at FROM (SELECT * FROM main.default.d@ WHERE day = :_tranche_key) AS d )) WHERE o.at - CAST(:_tranche_argument_n AS INT) >= _tranche_at AND (_tranche_next IS NULL OR o.at - CAST(:_tranche_argument_n AS INT) < _tranche_next)) AS `d` ON true",
        ),
        (
            "SELECT * FROM o ASOF JOIN read_json('in/' || '{partition}') AS d ON o.at >= d.at",
            "SELECT * FROM main.default.o@ /* ASOF */ JOIN LATERAL (SELECT _tranche_row.* FROM (SELECT *, lead(_tranche_at) OVER (ORDER BY _tranche_at) AS _tranche_next FROM (SELECT struct(*) AS _tranche_row, d.at AS _tranche_at FROM <files> AS d )) WHERE o.at >= _tranche_at AND (_tranche_next IS NULL OR o.at < _tranche_next)) AS `d` ON true",
        ),
        (
            "CREATE TEMP VIEW v AS SELECT 1 AS at; WITH c AS (SELECT * FROM v ASOF JOIN d ON v.at >= d.at MINUS SELECT 1) SELECT * FROM c ASOF JOIN v ON c.at >= v.at",
            "CREATE TEMP VIEW v AS SELECT 1 AS at; WITH c AS (SELECT * FROM v /* ASOF */ JOIN LATERAL (SELECT _tranche_row.* FROM (SELECT *, lead(_tranche_at) OVER (ORDER BY _tranche_at) AS _tranche_next FROM (SELECT struct(*) AS _tranche_row, d.at AS _tranche_at FROM main.default.d@ )) WHERE v.at >= _tranche_at AND (_tranche_next IS NULL OR v.at < _tranche_next)) AS `d` ON true MINUS SELECT 1) SELECT * FROM c /* ASOF */ JOIN LATERAL (SELECT _tranche_row.* FROM (SELECT *, lead(_tranche_at) OVER (ORDER BY _tranche_at) AS _tranche_next FROM (SELECT struct(*) AS _tranche_row, v.at AS _tranche_at FROM v )) WHERE c.at >= _tranche_at AND (_tranche_next IS NULL OR c.at < _tranche_next)) AS `v` ON true",
        ),
        (
            "SELECT * FROM a JOIN b ASOF JOIN c ON b.at >= c.at ON a.i = b.i",
            "SELECT * FROM main.default.a@ JOIN main.default.b@ /* ASOF */ JOIN LATERAL (SELECT _tranche_row.* FROM (SELECT *, lead(_tranche_at) OVER (ORDER BY _tranche_at) AS _tranche_next FROM (SELECT struct(*) AS _tranche_row, c.at AS _tranche_at FROM main.default.c@ )) WHERE b.at >= _tranche_at AND (_tranche_next IS NULL OR b.at < _tranche_next)) AS `c` ON true ON a.i = b.i",
        ),
        ("SELECT asof FROM o AS asof JOIN d ON asof.i = d.i", "SELECT asof FROM main.default.o@ AS asof JOIN main.default.d@ ON asof.i = d.i"),
    ],
)  # fmt: skip
def test_it_becomes_a_lateral_join(query: str, expected: str, script: ReadScript) -> None:
    assert bound(script(HEAD + query)) == expected


@pytest.mark.parametrize(
    ("on", "order", "beyond"),
    [
        ("o.at >= d.at", "_tranche_at", "<"),
        ("o.at > d.at", "_tranche_at", "<="),
        ("o.at <= d.at", "_tranche_at DESC", ">"),
        ("o.at < d.at", "_tranche_at DESC", ">="),
        ("d.at <= o.at", "_tranche_at", "<"),
        ("d.at < o.at", "_tranche_at", "<="),
        ("d.at >= o.at", "_tranche_at DESC", ">"),
        ("d.at > o.at", "_tranche_at DESC", ">="),
    ],
)
def test_each_way_of_looking(on: str, order: str, beyond: str, script: ReadScript) -> None:
    found = bound(script(f"{HEAD}SELECT * FROM o ASOF JOIN d ON {on}"))
    assert f"OVER (ORDER BY {order})" in found
    assert f"OR o.at {beyond} _tranche_next)" in found


@pytest.mark.parametrize(
    "following",
    [
        "JOIN p ON o.i = p.i",
        "LEFT JOIN p ON left(o.s, 1) = p.i",
        "ASOF LEFT JOIN p ON o.at < p.at",
        "NATURAL JOIN p",
        "CROSS JOIN p",
        "LEFT ANTI JOIN p USING (i)",
        ", p",
        "LATERAL VIEW explode(o.s) t AS s",
        "PIVOT (sum(x) FOR s IN ('p', 'q'))",
        "WHERE o.i = 1",
        "GROUP BY ALL",
        "HAVING count(*) > 1",
        "WINDOW w AS (ORDER BY at)",
        "ORDER BY 1",
        "SORT BY 1",
        "CLUSTER BY at",
        "DISTRIBUTE BY at",
        "LIMIT 3",
        "OFFSET 3",
        "UNION ALL SELECT 1",
        "EXCEPT SELECT 1",
        "INTERSECT SELECT 1",
        "|> WHERE at > 1",
        "-- a remark",
    ],
)
@pytest.mark.parametrize(
    "operand", ["left(d.at, 3)", "d.left", "d.end", "CASE WHEN d.a AND d.b THEN d.at END", "d.x[0].at::date"]
)  # fmt: skip
def test_the_condition_ends_where_something_else_begins(
    operand: str, following: str, script: ReadScript
) -> None:
    query = f"FROM o ASOF JOIN d ON o.i = d.i AND o.at >= {operand} {following}"
    found = bound(script(HEAD + (query if "|>" in query else f"SELECT * {query}")))
    assert f"d.i AS _tranche_1, {operand} AS _tranche_at FROM" in found
    begins = following.split()[0].replace("ASOF", "/*").replace("--", "")
    assert f"o.at < _tranche_next)) AS `d` ON true {begins}".rstrip() in found


def test_what_stands_behind_stays_on_its_line(script: ReadScript) -> None:
    text = (
        "SELECT *\nFROM o\nASOF\nJOIN d -- one\nUSING\n(id,\nat)\n"
        "ASOF JOIN e\nON o.a -- two\n= e.a\nAND o.b >=\n  e.b + /* three */\n  e.c\nWHERE o.x = 1"
    )
    found = bound(script(HEAD + text))
    assert found.splitlines()[-1] == "WHERE o.x = 1"
    assert found.count("\n") == text.count("\n")


def test_tables_inside_are_read(script: ReadScript) -> None:
    found = script(
        f"{HEAD}SELECT * FROM o ASOF JOIN other.d ON o.at >= d.at"
        " ASOF JOIN (SELECT * FROM p ASOF JOIN q USING (at)) AS x ON x.at < o.at"
    )
    assert sorted(map(str, found.reads)) == [
        "lake://main/o", "lake://main/p", "lake://main/q", "lake://other/d"
    ]  # fmt: skip
    assert bound(found).count("LATERAL") == 3


def test_texts_that_would_sort_differently_are_refused_by_spark(script: ReadScript) -> None:
    [found] = texts(script(f"{HEAD}SELECT *\nFROM o ASOF JOIN d ON o.i = d.i AND o.at >= d.at"))
    assert found.endswith(
        " AND if(typeof(_tranche_1) LIKE 'string%' AND typeof(o.i) NOT LIKE 'string%'"
        " OR typeof(_tranche_at) LIKE 'string%' AND typeof(o.at) NOT LIKE 'string%',"
        " raise_error('the ASOF JOIN on line 6 compares a text of its right side with another"
        " type; cast the text'), true)) AS `d` ON true"
    )


_ONE = "write one, as in ON o.customer_id = d.id AND o.ordered_at >= d.valid_from"
_SHAPE = "write equalities and one inequality with AND between them; filter in WHERE or a subquery"
_SIDES = "compare a column of the one side with one of the other; filter in WHERE or a subquery"


@pytest.mark.parametrize(
    ("join", "expected"),
    [
        ("ASOF JOIN d", f"6: the ASOF JOIN has no condition; {_ONE}"),
        ("ASOF JOIN d\nON o.i = d.i", f"6: the ASOF JOIN has no inequality; {_ONE}"),
        ("ASOF JOIN d\nON o.at > d.at\nAND o.x < d.x", "8: the ASOF JOIN has 2 inequalities; keep the one that finds the nearest row; filter with the others in WHERE or a subquery"),
        ("ASOF JOIN d\nON o.i = d.i OR o.at > d.at", f"7: the ASOF JOIN holds more than comparisons; {_SHAPE}"),
        ("ASOF JOIN d\nON o.i = d.i\nAND NOT o.at > d.at", f"8: the ASOF JOIN holds more than comparisons; {_SHAPE}"),
        ("ASOF JOIN d\nON o.i <=> d.i\nAND o.at > d.at", f"7: the ASOF JOIN holds more than comparisons; {_SHAPE}"),
        ("ASOF JOIN d\nON o.i <> d.i\nAND o.at > d.at", f"7: the ASOF JOIN holds more than comparisons; {_SHAPE}"),
        ("ASOF JOIN d\nON o.at > d.at\nAND o.i = d.i = true", f"8: the ASOF JOIN holds more than comparisons; {_SHAPE}"),
        ("ASOF JOIN d\nON o.at > d.at\nAND o.x IS NULL", f"8: the ASOF JOIN holds more than comparisons; {_SHAPE}"),
        ("ASOF JOIN d\nON o.at BETWEEN d.a AND d.b", f"7: the condition of the ASOF JOIN is more than AND; {_SHAPE}"),
        ("ASOF JOIN d\nON o.at > d.at\nAND d.kind = 'x'", f"8: an operand is of neither side of the ASOF JOIN; {_SIDES}"),
        ("ASOF JOIN d\nON o.at > d.at\nAND d.day = '{partition}'", f"8: an operand is of neither side of the ASOF JOIN; {_SIDES}"),
        ("ASOF JOIN d\nON o.at - d.delay > d.at", f"7: an operand is of both sides of the ASOF JOIN; {_SIDES}"),
        ("ASOF JOIN d\nON o.at > d.at\nAND d.a = d.b", f"8: both operands of a comparison are of the right side of the ASOF JOIN; {_SIDES}"),
        ("ASOF JOIN d\nON o.at > d.at\nAND o.a = o.b", f"8: both operands of a comparison are of the left side of the ASOF JOIN; {_SIDES}"),
        ("ASOF JOIN d\nON o.at >\n at", "8: at does not say which side of the ASOF JOIN it is of; write d.at, or the name of a table on the left before it"),
        ("ASOF JOIN d\nON payload.at > d.at", "7: payload.at does not say which side of the ASOF JOIN it is of; write d.payload.at, or the name of a table on the left before it"),
        ("ASOF JOIN o\nON o.a > o.b", "7: o.a could be of both sides of the ASOF JOIN; give its tables different aliases"),
        ("ASOF JOIN (SELECT 1 AS at) ON o.at > at", "6: the right side of the ASOF JOIN has no name; give it one, as in ASOF JOIN (SELECT …) AS d"),
        ("ASOF JOIN read_json('x') USING (at)", "6: the right side of the ASOF JOIN has no name; give it one, as in ASOF JOIN (SELECT …) AS d"),
        ("ASOF JOIN d USING (i, at)\nWHERE d.at > 1", "7: d.at is not there: USING leaves one at, of the left; write at, or join with ON to have both"),
        ("ASOF RIGHT JOIN d ON o.at > d.at", "6: ASOF RIGHT JOIN cannot be run; write ASOF JOIN or ASOF LEFT JOIN"),
        ("ASOF FULL OUTER JOIN d ON o.at > d.at", "6: ASOF FULL OUTER JOIN cannot be run; write ASOF JOIN or ASOF LEFT JOIN"),
        ("ASOF ANTI JOIN d ON o.at > d.at", "6: ASOF ANTI JOIN cannot be run; write ASOF JOIN or ASOF LEFT JOIN"),
    ],
)  # fmt: skip
def test_faults(join: str, expected: str, faults: Faults) -> None:
    assert faults(f"{HEAD}SELECT * FROM o\n{join}") == [f"s.sql:{expected}"]


def test_one_fault_does_not_hide_the_next(faults: Faults) -> None:
    text = "SELECT * FROM o\nASOF JOIN d ON at > d.at\nASOF JOIN e ON o.a = e.a"
    assert [fault.split(":")[1] for fault in faults(HEAD + text)] == ["6", "7"]


def test_a_manual_script_has_it_too(script: ReadScript) -> None:
    found = script(
        "-- pipeline\n-- materialize lake://main/out manual\n"
        "INSERT INTO out SELECT * FROM o ASOF JOIN d ON o.at >= d.at"
    )
    assert "INSERT INTO main.default.out SELECT * FROM main.default.o /* ASOF */ JOIN" in bound(
        found
    )


def test_a_typed_statement_has_it_too(lakes: Lakes) -> None:
    found = resolved_statement("SELECT * FROM o ASOF JOIN d ON o.at >= d.at", lakes)
    assert isinstance(found, Statement)
    texts = [part.text for part in found.parts if isinstance(part, Text)]
    assert "JOIN LATERAL (" in "".join(texts)
    with pytest.raises(UsageError, match="has no inequality"):
        resolved_statement("SELECT * FROM o ASOF JOIN d ON o.at = d.at", lakes)
