"""Which upstream keys a key needs, as scripts write it: `map=product(identity, start_of_day)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

MAPPER_ARITY: dict[str, tuple[int, int | None]] = {
    "identity": (0, 0),
    "start_of_hour": (0, 0),
    "start_of_day": (0, 0),
    "start_of_week": (0, 0),
    "start_of_month": (0, 0),
    "start_of_quarter": (0, 0),
    "start_of_year": (0, 0),
    "product": (2, None),
    "allowed": (1, None),
    "fixed": (1, 1),
    "offset": (1, 1),
    "trailing": (1, 1),
    "fan_out": (0, 1),
    "rollup": (0, 0),
    "last": (0, 0),
    "all": (0, 0),
    "all_before": (0, 0),
}
"""The mappers by name, with the least and the greatest number of arguments."""


@dataclass(frozen=True, slots=True)
class Mapper:
    """A mapping by name.

    >>> str(Mapper("product", (Mapper("identity"), Mapper("start_of_day"))))
    'product(identity, start_of_day)'
    """

    name: str
    arguments: tuple[MapperArgument, ...] = ()

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        return f"{self.name}({', '.join(str(argument) for argument in self.arguments)})"


MapperArgument: TypeAlias = Mapper | str
