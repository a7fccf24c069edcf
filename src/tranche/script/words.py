"""The words of one annotation line: plain words and `name=value` options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches


class Malformed(Exception):
    """An annotation that does not parse: what is wrong with it, and what to write."""

    def __init__(self, what: str, remedy: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Words:
    """A line taken apart.

    >>> read_words('daily tz="Europe/Paris" start=2026-01-01')
    Words(plain=('daily',), options={'tz': 'Europe/Paris', 'start': '2026-01-01'})
    """

    plain: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)

    def only(self, known: Iterable[str], where: str) -> None:
        """Rejects options that are not among the known ones."""
        names = tuple(known)
        for name in self.options:
            if name not in names:
                raise unknown("option", name, names, where)

    def choice(self, name: str, choices: tuple[str, ...]) -> str | None:
        value = self.options.get(name)
        if value is not None and value not in choices:
            raise Malformed(f"unknown {name} {value!r}", f"use {' or '.join(choices)}")
        return value


def unknown(what: str, name: str, known: Iterable[str], where: str) -> Malformed:
    """The complaint about a name that does not exist, with the nearest that does."""
    names = tuple(known)
    if not names:
        return Malformed(f"unknown {what} {name!r} in {where!r}", f"it takes no {what}s")
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join(names)}"
    return Malformed(f"unknown {what} {name!r} in {where!r}", hint)


def read_words(text: str) -> Words:
    plain: list[str] = []
    options: dict[str, str] = {}
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        name, value, position = _word(text, position)
        if name is None:
            plain.append(value)
        elif name in options:
            raise Malformed(f"option {name!r} is given twice", "keep one of them")
        else:
            options[name] = value
    return Words(tuple(plain), options)


def split_list(text: str, what: str) -> tuple[str, ...]:
    """The items of a comma list, none of them empty.

    >>> split_list("name, tier", "track")
    ('name', 'tier')
    """
    items = tuple(item.strip() for item in text.split(","))
    if not all(items):
        raise Malformed(f"{what} has an empty item in {text!r}", "separate items by one comma")
    return items


def _word(text: str, position: int) -> tuple[str | None, str, int]:
    if text[position] == '"':
        value, position = read_quoted(text, position)
        return None, value, position
    start = position
    depth = 0
    while position < len(text):
        character = text[position]
        if character == "=" and depth == 0 and text[start:position].isidentifier():
            name = text[start:position]
            value, end = _value(text, position + 1, name)
            return name, value, end
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif character.isspace() and depth <= 0:
            break
        position += 1
    return None, text[start:position], position


def _value(text: str, position: int, name: str) -> tuple[str, int]:
    if position < len(text) and text[position] == '"':
        return read_quoted(text, position)
    start = position
    depth = 0
    while position < len(text) and not (text[position].isspace() and depth <= 0):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1
    if position == start:
        raise Malformed(f"option {name!r} has no value", f'write {name}="…", or leave it out')
    return text[start:position], position


def read_quoted(text: str, position: int) -> tuple[str, int]:
    """The text in the quotes that open at a position, and where it goes on after them."""
    value: list[str] = []
    at = position + 1
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text) and text[at + 1] in '\\"':
            value.append(text[at + 1])
            at += 2
        elif text[at] == '"':
            return "".join(value), at + 1
        else:
            value.append(text[at])
            at += 1
    raise Malformed(f"a quote is not closed in {text[position:]!r}", 'end it with "')
