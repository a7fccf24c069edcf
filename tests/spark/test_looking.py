"""Rows that somebody looks at: sorted and filtered over all of a table, long values cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tranche.errors import FilterRejected
from tranche.model.asset import LakeTable
from tranche.model.rows import Cut, Rows
from tranche.model.wanted import Wanted, read_filter, read_order
from tranche.views.rows import rows_view

if TYPE_CHECKING:
    from .conftest import Bench

SCRIPT = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@t
SELECT CAST(id AS INT) AS id,
       id * 1.5BD AS amount,
       CAST(id / 10 AS FLOAT) AS share,
       IF(id % 2 = 0, concat("it's <", id, '>'), NULL) AS `the name`,
       timestamp'2026-05-01 10:00:00' + make_interval(0, 0, 0, 0, CAST(id AS INT)) AS at,
       date_add(date'2026-05-01', CAST(id AS INT)) AS day,
       id > 3 AS late,
       CAST(concat('b', id) AS BINARY) AS blob,
       named_struct('a', array(id), 'b', map('k', repeat('x', CAST(id AS INT) * 10))) AS nested,
       repeat('y', CAST(id AS INT) * 20) AS long
FROM range(6)
"""
KEY = "2026-05-01"
LAKES = ("main", "parquet")


def look(bench: Bench, *where: str, order: str = "id", longest: int | None = None) -> Rows:
    wanted = Wanted(tuple(map(read_filter, where)), (read_order(order),), longest)
    table = LakeTable(bench.lake, "t", bench.schema)
    return bench.engine.preview(table, KEY, limit=3, wanted=wanted).rows


@pytest.mark.parametrize("lake", ["main", pytest.param("parquet", marks=pytest.mark.slow)])
def test_filters_and_an_order_over_all_rows(bench: Bench, lake: str) -> None:
    bench.lake = lake
    bench.run(SCRIPT, partition=KEY)

    def ids(*where: str, order: str = "id") -> list[int]:
        return [row["id"] for row in look(bench, *where, order=order).records()]

    assert ids(order="id desc") == [5, 4, 3]
    assert ids("id >= 2", "ID < 4") == [2, 3]
    assert ids("id > 3.5") == [4, 5]
    assert ids("id = 99999999999") == []
    assert ids("amount = 4.50") == [3]
    assert ids("share = 0.3") == [3]
    assert ids("`the name` = 'it''s <2>'") == [2]
    assert ids("`the name` contains IT'S <") == [0, 2, 4]
    assert ids("`the name` is null", order="amount desc") == [5, 3, 1]
    assert ids("`the name` is not null", order="`the name` desc") == [4, 2, 0]
    assert ids(order="`the name`") == [0, 2, 4]
    assert ids("at > 2026-05-01T16:00:00+02:00") == [5]
    assert ids("day <= 2026-05-02") == [0, 1]
    assert ids("late = true", order="at desc") == [5, 4]
    assert ids("blob = 0x6233") == [3]
    assert ids("blob contains 0x6234") == [4]
    assert ids("nested contains [5]") == [5]
    for wanted in ("nested = 1", "nobody = 1", "id > '; DROP TABLE t'"):
        with pytest.raises(FilterRejected):
            look(bench, wanted)
    with pytest.raises(FilterRejected, match="has no order"):
        look(bench, order="nested")


def test_values_that_are_too_long_come_cut(bench: Bench) -> None:
    bench.run(SCRIPT, partition=KEY)
    rows = look(bench, order="id desc", longest=60)
    assert rows.more
    five, four, three = (dict(zip(dict(rows.columns), row, strict=True)) for row in rows.values)
    assert five["long"] == Cut("y" * 60, 100)
    assert five["nested"] == Cut(
        ('{"a":[5],"b":{"k":"' + "x" * 50)[:60], len('{"a":[5],"b":{"k":""}}') + 50
    )
    assert three["nested"]["b"] == {"k": "x" * 30}
    assert four["long"] == Cut("y" * 60, 80)
    assert three["long"] == "y" * 60
    view = rows_view(rows)
    shown = dict(zip((column["name"] for column in view["columns"]), view["rows"][0], strict=True))
    assert (shown["blob"], shown["the name"]) == ("0x6235", None)
    assert shown["long"] == {"text": "y" * 60, "length": 100}
