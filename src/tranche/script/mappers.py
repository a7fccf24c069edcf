"""`map=…` of an `on` line: mappers by name, with arguments in brackets."""

from __future__ import annotations

import re

from tranche.errors import MapperRejected
from tranche.model.mapping import (
    MAPPERS,
    PLAIN_MAPPERS,
    AllowedKeys,
    FanOut,
    FixedKey,
    Mapper,
    Offset,
    Product,
    Trailing,
)
from tranche.script.words import Malformed, unknown

_NAME = re.compile(r"\s*([^\W\d]\w*)\s*")
_BARE = re.compile(r"\s*([^,()']+?)\s*(?=[,)]|$)")
_QUOTED = re.compile(r"\s*'((?:[^']|'')*)'\s*")
_INTEGER = re.compile(r"[+-]?\d{1,9}")
_ARITY: dict[str, tuple[int, int | None]] = {
    "product": (2, None),
    "allowed": (1, None),
    "fixed": (1, 1),
    "offset": (1, 1),
    "trailing": (1, 1),
    "fan_out": (0, 1),
}
"""The least and the greatest number of arguments, of mappers that take some."""


def parse_mapper(text: str) -> Mapper:
    """
    >>> parse_mapper("product(identity, allowed(a, 'b, c'))")
    Product(mappers=(Identity(), AllowedKeys(keys=('a', 'b, c'))))
    """
    reader = _Reader(text)
    mapper = reader.mapper()
    if reader.rest:
        raise Malformed(f"unexpected {reader.rest!r} in map={text}", "close it after the mapper")
    return mapper


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    @property
    def rest(self) -> str:
        return self.text[self.position :].strip()

    def mapper(self) -> Mapper:
        match = _NAME.match(self.text, self.position)
        if match is None:
            raise Malformed(
                f"map={self.text} does not parse", "write map=<mapper>, as in map=start_of_day"
            )
        name = match[1]
        if name not in MAPPERS:
            raise unknown("mapper", name, MAPPERS, "map")
        self.position = match.end()
        nested: list[Mapper] = []
        values: list[str] = []
        if self._take("("):
            while True:
                if name == "product":
                    nested.append(self.mapper())
                else:
                    values.append(self.value())
                if self._take(")"):
                    break
                if not self._take(","):
                    raise Malformed(f"map={self.text} is not closed", "add )")
        _check_count(name, len(nested) + len(values))
        try:
            return _made(name, nested, values)
        except MapperRejected as error:
            raise Malformed(error.what, error.remedy) from None

    def value(self) -> str:
        quoted = _QUOTED.match(self.text, self.position)
        match = quoted or _BARE.match(self.text, self.position)
        if match is None:
            raise Malformed(f"map={self.text} has an empty argument", "give a value")
        self.position = match.end()
        return match[1].replace("''", "'") if quoted else match[1]

    def _take(self, character: str) -> bool:
        if self.text[self.position : self.position + 1] != character:
            return False
        self.position += 1
        return True


def _check_count(name: str, count: int) -> None:
    least, most = _ARITY.get(name, (0, 0))
    if count >= least and (most is None or count <= most):
        return
    takes = f"{least}" if least == most else f"at least {least}" if most is None else "at most 1"
    raise Malformed(f"{name} has {count} arguments", f"it takes {takes}")


def _made(name: str, nested: list[Mapper], values: list[str]) -> Mapper:
    match name:
        case "product":
            return Product(*nested)
        case "allowed":
            return AllowedKeys(values)
        case "fixed":
            return FixedKey(values[0])
        case "offset":
            return Offset(_number(name, values[0]))
        case "trailing":
            return Trailing(_number(name, values[0]))
        case "fan_out" if values:
            return FanOut(_number(name, values[0]))
        case _:
            return PLAIN_MAPPERS[name]


def _number(name: str, text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise Malformed(f"{name}({text}) needs a number", f"write {name}(7)")
    return int(text)
