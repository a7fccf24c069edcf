"""Which texts are values of which types."""

from __future__ import annotations

import pytest

from tranche.model.argument import accepts, argument_type


@pytest.mark.parametrize(
    ("type_", "text", "fits"),
    [
        ("string", "", True),
        ("int", "-12", True),
        ("int", "2147483648", False),
        ("bigint", "9223372036854775807", True),
        ("bigint", "1.0", False),
        ("int", "1_0", False),
        ("int", "٣", False),
        ("double", "1e-3", True),
        ("double", "1_0", False),
        ("double", "one", False),
        ("date", "2026-05-16", True),
        ("date", "20260516", False),
        ("date", "2026-W20-1", False),
        ("date", "2026-02-30", False),
        ("timestamp", "2026-05-16T09:30:00+02:00", True),
        ("timestamp", "2026-05-16 09:30:00", True),
        ("timestamp", "09:30", False),
        ("boolean", "TRUE", True),
        ("boolean", "1", False),
        ("decimal(4,2)", "12.5", True),
        ("decimal(4,2)", "123.5", False),
        ("decimal(4,2)", "1.234", False),
        ("decimal(4,2)", "NaN", False),
    ],
)
def test_accepts(type_: str, text: str, fits: bool) -> None:
    assert accepts(type_, text) is fits


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("TEXT", "string"),
        ("varchar(20)", "string"),
        ("Integer", "int"),
        ("numeric( 12 , 2 )", "decimal(12,2)"),
        ("decimal(39,2)", None),
        ("decimal(2,3)", None),
        ("array<int>", None),
        ("int) OR (1", None),
    ],
)
def test_types(text: str, type_: str | None) -> None:
    assert argument_type(text) == type_
