"""The types of what parameters of Python functions get, as annotations name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

from tranche.model.code import Injection
from tranche.script.python_names import FRAMES

INJECTED: Final[tuple[Injection, ...]] = get_args(Injection)
_LISTS = frozenset(
    {
        *("list", "typing.List", "typing.Sequence", "typing.Iterable", "typing.Collection"),
        *(f"collections.abc.{name}" for name in ("Sequence", "Iterable", "Collection")),
    }
)
TYPES: Final[Mapping[Injection, frozenset[str]]] = {
    "spark": frozenset(
        f"pyspark.sql.{name}"
        for name in ("SparkSession", "session.SparkSession", "connect.session.SparkSession")
    ),
    "partition": frozenset({"str"}),
    "partitions": _LISTS,
    "window": frozenset({"tranche.Window"}),
    "logical_date": frozenset({"datetime.datetime", "datetime.date"}),
    "run": frozenset({"tranche.CurrentRun"}),
}
"""What the value of each name is."""
WRITTEN: Final[Mapping[Injection, str]] = {
    "spark": "SparkSession",
    "partition": "str",
    "partitions": "list[str]",
    "window": "tranche.Window",
    "logical_date": "datetime",
    "run": "tranche.CurrentRun",
}
"""How an annotation says so."""
_OF_ARGUMENTS: Final = {
    "string": ("str",),
    "boolean": ("bool",),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), ("int", "float")),
    **dict.fromkeys(("float", "double"), ("float",)),
    "date": ("datetime.date",),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), ("datetime.datetime", "datetime.date")),
}
KNOWN: Final = frozenset(
    {
        *("str", "int", "float", "bool", "bytes", "dict", "list", "tuple", "set", "frozenset"),
        *("datetime.date", "datetime.datetime", "datetime.time", "datetime.timedelta"),
        *("decimal.Decimal", "pathlib.Path"),
        *FRAMES,
        *(name for names in TYPES.values() for name in names),
    }
)
"""Types of which it is known what they are not."""


def argument_types(type_: str) -> tuple[str, ...]:
    """The types of Python that the values of an argument have, the first as one would write it.

    >>> argument_types("bigint"), argument_types("decimal(10,2)")
    (('int', 'float'), ('decimal.Decimal',))
    """
    return _OF_ARGUMENTS.get(type_, ("decimal.Decimal",))
