"""Which rows somebody wants: how it is written, and what columns can be compared with."""

from __future__ import annotations

import pytest

from tranche.errors import FilterRejected
from tranche.model.wanted import (
    Kind,
    RowFilter,
    RowOrder,
    find_column,
    read_filter,
    read_order,
    value_of,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=1", RowFilter("a", "=", "1")),
        ("a == 1", RowFilter("a", "=", "1")),
        ("a<>1", RowFilter("a", "!=", "1")),
        ("a >= -1", RowFilter("a", ">=", "-1")),
        ("a = ", RowFilter("a", "=", "")),
        ("a = 'it''s'", RowFilter("a", "=", "it's")),
        ("a = '", RowFilter("a", "=", "'")),
        ("a CONTAINS x = y", RowFilter("a", "contains", "x = y")),
        ("a contains", RowFilter("a", "contains", "")),
        ("contains contains contains", RowFilter("contains", "contains", "contains")),
        ("a is  NULL", RowFilter("a", "is null")),
        ("a is not null", RowFilter("a", "is not null")),
        ("`a b``c` < 3", RowFilter("a b`c", "<", "3")),
        ("`<img>` = '<b>\n'", RowFilter("<img>", "=", "<b>\n")),
    ],
)
def test_filters_as_they_are_written(text: str, found: RowFilter) -> None:
    assert read_filter(text) == found


@pytest.mark.parametrize("text", ["", "a", "a ~ 1", "= 1", "a containsx", "``=1", "a is null 1"])
def test_what_is_no_filter(text: str) -> None:
    with pytest.raises(FilterRejected):
        read_filter(text)


def test_orders() -> None:
    assert read_order("a DESC") == RowOrder("a", descending=True)
    assert read_order(" `a desc` asc ") == RowOrder("a desc")
    for text in ("", "a b", "a; drop table x"):
        with pytest.raises(FilterRejected):
            read_order(text)


def test_columns_by_their_names() -> None:
    assert find_column("ID", ("id", "x")) == "id"
    assert find_column("Id", ("ID", "Id")) == "Id"
    for name in ("id", "nobody"):
        with pytest.raises(FilterRejected, match="the columns are ID, Id"):
            find_column(name, ("ID", "Id"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("number", "ten"),
        ("number", ""),
        ("boolean", "yes"),
        ("date", "16.5.2026"),
        ("time", "soon"),
        ("bytes", "0xzz"),
        ("nested", "1"),
    ],
)
def test_values_that_a_column_cannot_be_compared_with(kind: Kind, text: str) -> None:
    with pytest.raises(FilterRejected, match="the_column"):
        value_of(RowFilter("the_column", "=", text), kind)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("number", "sNaN"),
        ("number", "1e999999999"),
        ("number", "-1e-999999999"),
        ("number", "9" * 5_000),
        ("time", "0001-01-01T00:00:00+14:00"),
        ("time", "9999-12-31T23:59:59-14:00"),
    ],
)
def test_values_that_nothing_could_compute_with(kind: Kind, value: str) -> None:
    with pytest.raises(FilterRejected, match="cannot be compared with a"):
        value_of(RowFilter("a", "<", value), kind)
