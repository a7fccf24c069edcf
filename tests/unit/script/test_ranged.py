"""Queries for many keys: what becomes of their text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tranche.model.script import Script
from tranche.model.statement import Statement
from tranche.script.binding import Bound, Values, bind
from tranche.script.ranges.ranged import Form, ranged

ReadScript = Callable[[str], Script]
HEAD = "-- pipeline\n-- partitioned daily\n-- materialize lake://main/out\n"


def text(statement: Statement) -> str:
    return bind(
        statement,
        Values("K", {}, {}),
        table=lambda hole: hole.table.table,
        files=lambda _: "<files>",
        implied=lambda hole: Bound(f"<{hole.use}>", {}),
    ).text


@pytest.fixture
def forms(script: ReadScript) -> Callable[[str], tuple[Form, ...]]:
    def _forms(query: str) -> tuple[Form, ...]:
        found = script(f"{HEAD}{query}")
        assert found.query is not None
        made = ranged(found.query)
        assert made.reason is None
        return made.forms

    return _forms


Forms = Callable[[str], tuple[Form, ...]]


@pytest.mark.parametrize(
    ("query", "expected", "probes"),
    [
        (
            "SELECT r, count(*) AS n FROM o WHERE at::date = '{partition}' GROUP BY r",
            "SELECT r, count(*) AS n, CAST((at::date) AS STRING) AS _tranche_partition FROM o"
            " WHERE <instead> GROUP BY (at::date), r",
            ["SELECT at::date AS v FROM o"],
        ),
        (
            "SELECT *, row_number() OVER (ORDER BY id) AS n FROM o JOIN c USING (id)"
            " WHERE x > 1 AND '{partition}' = day AND y BETWEEN 1 AND 2",
            "SELECT *, row_number() OVER (PARTITION BY (day) ORDER BY id) AS n,"
            " CAST((day) AS STRING) AS _tranche_partition FROM o JOIN c USING (id)"
            " WHERE x > 1 AND <instead> AND y BETWEEN 1 AND 2",
            ["SELECT day AS v FROM o JOIN c USING (id)"],
        ),
        (
            "WITH a AS (SELECT * FROM c), b AS (SELECT * FROM o JOIN a ON a.id = o.id"
            " WHERE o.day = DATE '{partition}') SELECT r, sum(x) AS x FROM b GROUP BY r",
            "WITH a AS (SELECT * FROM c), b AS (SELECT *, CAST((o.day) AS STRING) AS _tranche_k1"
            " FROM o JOIN a ON a.id = o.id WHERE <instead>) SELECT r, sum(x) AS x, `b`._tranche_k1"
            " AS _tranche_partition FROM b AS `b` GROUP BY `b`._tranche_k1, r",
            ["WITH `a` AS (SELECT * FROM c) SELECT o.day AS v FROM o JOIN a ON a.id = o.id"],
        ),
        (
            "SELECT a, '{partition}' AS k FROM o WHERE day = '{partition}'"
            " UNION ALL SELECT a, b FROM p WHERE day = '{partition}'",
            "SELECT a, CAST((day) AS STRING) AS k, CAST((day) AS STRING) AS _tranche_partition"
            " FROM o WHERE <instead> UNION ALL SELECT a, b, CAST((day) AS STRING)"
            " AS _tranche_partition FROM p WHERE <instead>",
            ["SELECT day AS v FROM o", "SELECT day AS v FROM p"],
        ),
    ],
)
def test_what_is_compared_with_the_key_stands_for_it(
    forms: Forms, query: str, expected: str, probes: list[str]
) -> None:
    first, *others = forms(query)
    assert text(first.statement) == expected
    assert [text(each.probe) for each in first.computed] == probes
    # If Spark finds that it does not tell the keys apart, they are joined in.
    assert others
    assert all("_tranche_keys" in text(form.statement) for form in others)
    assert not any(form.computed for form in others)


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("SELECT a FROM o WHERE day = '{partition}' OR id = 1", id="either"),
        pytest.param("SELECT a FROM o WHERE NOT day = '{partition}'", id="not"),
        pytest.param("SELECT a FROM o WHERE day >= '{partition}'", id="order"),
        pytest.param("SELECT a FROM o WHERE day = '{partition}' || x", id="other columns"),
        pytest.param("SELECT count(*) AS n FROM o WHERE day = '{partition}'", id="one for each"),
        pytest.param(
            "SELECT a, count(*) AS n FROM o WHERE day = '{partition}' GROUP BY ROLLUP (a)",
            id="totals",
        ),
        pytest.param(
            "SELECT a FROM o WHERE CASE WHEN x AND day = '{partition}' AND y THEN true END",
            id="case",
        ),
        pytest.param(
            "SELECT a FROM o WHERE day = '{partition}'"
            " AND id IN (SELECT id FROM p WHERE at > '{partition}')",
            id="subquery",
        ),
        pytest.param(
            "SELECT o.a FROM o LEFT JOIN p ON p.day = '{partition}' WHERE o.day = '{partition}'",
            id="join",
        ),
        pytest.param(
            "SELECT a, count(*) AS day FROM o WHERE day = '{partition}' GROUP BY a"
            " HAVING max(x) > '{partition}'",
            id="having",
        ),
    ],
)
def test_otherwise_the_keys_are_joined_in(forms: Forms, query: str) -> None:
    for form in forms(query):
        assert form.computed == ()
        assert "_tranche_keys" in text(form.statement)


def test_rows_that_have_their_key_are_not_joined_with_the_keys_again(forms: Forms) -> None:
    (form,) = forms(
        "WITH w AS (SELECT * FROM o WHERE at > '{partition}')"
        " SELECT w.*, c.name FROM w LEFT JOIN c ON c.id = w.id"
    )
    assert text(form.statement) == (
        "WITH w AS (SELECT * EXCEPT (_tranche_k2), _tranche_k2._tranche_k2 AS _tranche_k1"
        " FROM _tranche_keys AS _tranche_k2(_tranche_k2) CROSS JOIN o"
        " WHERE (at > _tranche_k2._tranche_k2 AND <beside>))"
        " SELECT w.* EXCEPT (_tranche_k1), c.name, `w`._tranche_k1 AS _tranche_partition"
        " FROM w AS `w` LEFT JOIN c ON c.id = w.id"
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT * FROM o WHERE at >= '{partition}' AND x AND at < date_add('{partition}', 1)",
            "SELECT * EXCEPT (_tranche_k1, _tranche_k2), _tranche_k1._tranche_k1"
            " AS _tranche_partition FROM _tranche_bands0 AS _tranche_k1(_tranche_k1, _tranche_k2)"
            " CROSS JOIN o WHERE (at >= _tranche_k1._tranche_k1 AND <beside> AND <band> ="
            " _tranche_k1._tranche_k2) AND x AND"
            " (at < date_add(_tranche_k1._tranche_k1, 1) AND <beside>)",
        ),
        (
            "SELECT r, count(*) AS n FROM o LEFT JOIN c ON c.id = o.id"
            " WHERE o.d BETWEEN date_sub('{partition}', 6) AND '{partition}' GROUP BY r",
            "SELECT r, count(*) AS n, _tranche_k1._tranche_k1 AS _tranche_partition FROM"
            " _tranche_bands0 AS _tranche_k1(_tranche_k1, _tranche_k2) CROSS JOIN o LEFT JOIN c ON"
            " c.id = o.id WHERE (o.d BETWEEN date_sub(_tranche_k1._tranche_k1, 6) AND"
            " _tranche_k1._tranche_k1 AND <beside> AND <band> = _tranche_k1._tranche_k2)"
            " GROUP BY _tranche_k1._tranche_k1, r",
        ),
    ],
)
def test_time_is_cut_into_bands(forms: Forms, query: str, expected: str) -> None:
    first, second = forms(query)
    assert text(first.statement) == expected
    (band,) = first.banded
    assert text(band.probe).startswith(
        "SELECT at AS v FROM o" if "at >=" in query else "SELECT o.d"
    )
    assert len(band.comparison.limits) == 2
    # If it is no column of time, each row is compared with each key.
    assert second.banded == ()
    assert "_tranche_bands" not in text(second.statement)


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("SELECT a FROM o WHERE at >= '{partition}'", id="one end"),
        pytest.param("SELECT a FROM o WHERE at > '{partition}' AND b < '{partition}'", id="two"),
        pytest.param(
            "SELECT a FROM o WHERE at > '{partition}' OR at < '{partition}'", id="either end"
        ),
        pytest.param(
            "SELECT o.a FROM p RIGHT JOIN o ON o.id = p.id"
            " WHERE o.at >= '{partition}' AND o.at < '{partition}' || 'T24'",
            id="right join",
        ),
    ],
)
def test_not_where_that_would_be_no_help_or_wrong(forms: Forms, query: str) -> None:
    assert all(form.banded == () for form in forms(query))
