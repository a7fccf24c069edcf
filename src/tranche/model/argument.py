"""Arguments of scripts: their types, and which texts are values of a type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Final, Literal

_ALIASES: Final = {
    "text": "string",
    "varchar": "string",
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "byte": "tinyint",
    "real": "float",
    "bool": "boolean",
    "numeric": "decimal(10,0)",
    "dec": "decimal(10,0)",
    "decimal": "decimal(10,0)",
    "timestamptz": "timestamp",
    "timestamp_ltz": "timestamp",
    # The address of a file.
    "s3object": "string",
}
_OF_DUCKDB: Final = {
    "timestamp": "timestamp_ntz",
    "datetime": "timestamp_ntz",
    "numeric": "decimal(18,3)",
    "dec": "decimal(18,3)",
    "decimal": "decimal(18,3)",
}
_INTEGERS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_EXAMPLES: Final = {
    "string": "any text",
    "boolean": "true or false",
    "float": "a number, as 1.5",
    "double": "a number, as 1.5",
    "date": "a date, as 2026-05-16",
    "timestamp": "a time, as 2026-05-16T09:30:00",
    "timestamp_ntz": "a time, as 2026-05-16T09:30:00",
}
_DECIMAL = re.compile(r"(?:decimal|numeric|dec)\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_VARCHAR = re.compile(r"(?:varchar|char)\(\s*\d+\s*\)")

TYPES: Final = (
    "string",
    *_INTEGERS,
    "float",
    "double",
    "decimal(p,s)",
    *tuple(_EXAMPLES)[4:],
    "boolean",
)


@dataclass(frozen=True, slots=True)
class Argument:
    """A value that a run may give: `$name (type) [= default]`."""

    name: str
    type: str
    default: str | None = None
    required: bool = True
    line: int = 0


def argument_type(text: str, dialect: Literal["spark", "duckdb"] = "spark") -> str | None:
    """Spark's name of a type, or None if there is no such type. Some mean another one in DuckDB.

    >>> argument_type("TEXT"), argument_type("decimal(12, 2)"), argument_type("map")
    ('string', 'decimal(12,2)', None)
    """
    name = text.strip().lower()
    aliases = {**_ALIASES, **_OF_DUCKDB} if dialect == "duckdb" else _ALIASES
    name = aliases.get(name, name)
    if name in _INTEGERS or name in _EXAMPLES:
        return name
    if _VARCHAR.fullmatch(name):
        return "string"
    match = _DECIMAL.fullmatch(name)
    if match is None:
        return None
    precision, scale = int(match[1]), int(match[2] or 0)
    return f"decimal({precision},{scale})" if 0 < precision <= 38 and scale <= precision else None


def accepts(type_: str, text: str) -> bool:
    """Whether a text is a value of a type.

    >>> accepts("date", "2026-05-16"), accepts("date", "16 May"), accepts("tinyint", "300")
    (True, False, False)
    """
    if type_ == "string":
        return True
    if type_ == "boolean":
        return text.lower() in ("true", "false")
    try:
        if type_ in _INTEGERS:
            bits = _INTEGERS[type_] - 1
            return (
                re.fullmatch(r"[+-]?[0-9]+", text) is not None and -(2**bits) <= int(text) < 2**bits
            )
        if not text.isascii() or "_" in text:
            return False
        if type_ in ("float", "double"):
            float(text)
        elif type_ == "date":
            return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
        elif type_ in ("timestamp", "timestamp_ntz"):
            return _DATE.match(text) is not None and bool(datetime.fromisoformat(text))
        else:
            return _fits_decimal(type_, Decimal(text))
    except (ValueError, InvalidOperation):
        return False
    return True


def value_of(type_: str, text: str, zone: tzinfo) -> object:
    """A text as a value of Python; a time without an offset is one of the zone's clock.

    >>> from datetime import UTC
    >>> value_of("date", "2026-05-16", UTC), value_of("bigint", "7", UTC)
    (datetime.date(2026, 5, 16), 7)
    """
    if type_ == "string":
        return text
    if type_ == "boolean":
        return text.lower() == "true"
    if type_ in _INTEGERS:
        return int(text)
    if type_ in ("float", "double"):
        return float(text)
    if type_ == "date":
        return date.fromisoformat(text)
    if type_ == "timestamp_ntz":
        return datetime.fromisoformat(text)
    if type_ == "timestamp":
        found = datetime.fromisoformat(text)
        return found if found.tzinfo is not None else found.replace(tzinfo=zone)
    return Decimal(text)


def looks_like(type_: str) -> str:
    """What a value of a type looks like, in words."""
    if type_ in _INTEGERS:
        return f"a whole number of {_INTEGERS[type_]} bits"
    return _EXAMPLES.get(type_, f"a number that fits {type_}")


def _fits_decimal(type_: str, value: Decimal) -> bool:
    match = _DECIMAL.fullmatch(type_)
    if match is None or not value.is_finite():
        return False
    precision, scale = int(match[1]), int(match[2] or 0)
    _, digits, exponent = value.normalize().as_tuple()
    places = max(0, -int(exponent))
    return places <= scale and max(len(digits) + int(exponent), 0) <= precision - scale
