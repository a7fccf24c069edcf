"""`trigger <condition>`: assets and `schedule`, joined by & and |."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias

from tranche.model.asset import BadAddress, parse_address
from tranche.model.condition import (
    SCHEDULE,
    Asker,
    Asset,
    Condition,
    OwnSchedule,
    all_of,
    any_of,
    askers,
)
from tranche.model.trigger import Trigger, asker
from tranche.script.words import Malformed, read_quoted

EXAMPLE = "trigger (lake://main/a & lake://main/b) | lake://main/c"

_Kind: TypeAlias = Literal["(", ")", "&", "|", "name", "end"]
_KINDS: dict[str, _Kind] = {"(": "(", ")": ")", "&": "&", "|": "|", "and": "&", "or": "|"}
_TOKEN = re.compile(r"[()&|]|[^\s()&|\"]+")
_DEEPEST = 20
"""How many brackets may be open at once; whoever writes more has lost count."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: _Kind
    text: str
    start: int


def parse_condition(text: str) -> Condition:
    """The condition that a line says.

    >>> print(parse_condition("lake://main/a and (schedule or lake://main/b)"))
    lake://main/a & (schedule | lake://main/b)
    """
    if not text.strip():
        raise Malformed("'trigger' says nothing", f"write trigger all, or {EXAMPLE}")
    reader = _Reader(text)
    condition = reader.any()
    if reader.next.kind != "end":
        raise reader.unexpected(
            'write & or | between two assets; put an address with brackets in "…"'
        )
    return condition


class _Reader:
    """Reads from the left to the right; `&` binds stronger than `|`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.next = next(self.tokens)
        self.depth = 0

    def any(self) -> Condition:
        return any_of(self.several("|", self.all))

    def all(self) -> Condition:
        return all_of(self.several("&", self.one))

    def several(self, sign: _Kind, part: Callable[[], Condition]) -> list[Condition]:
        found = [part()]
        while self.next.kind == sign:
            self.step()
            found.append(part())
        return found

    def one(self) -> Condition:
        match self.next.kind:
            case "(":
                return self.group()
            case "name":
                return self.asker()
            case "end":
                raise Malformed(
                    f"'trigger {self.text}' ends where an asset should follow",
                    "name an asset of an 'on' line there, or schedule",
                )
            case _:
                raise self.unexpected("name an asset of an 'on' line there, or schedule")

    def group(self) -> Condition:
        opened = self.step()
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.unexpected(
                f"use fewer brackets, at most {_DEEPEST} within each other", opened
            )
        found = self.any()
        if self.next.kind == "end":
            raise Malformed(
                f"the ( at character {opened.start + 1} of {self.text!r} is not closed", "add )"
            )
        if self.next.kind != ")":
            raise self.unexpected("write & or | between two assets, and ) at the end of a group")
        self.step()
        self.depth -= 1
        return found

    def asker(self) -> Asker:
        token = self.step()
        if token.text == SCHEDULE:
            return OwnSchedule()
        try:
            return Asset(parse_address(token.text))
        except BadAddress as error:
            what, _, remedy = str(error).partition("; ")
            raise Malformed(
                f"{what}, at character {token.start + 1} of {self.text!r}",
                f"{remedy}; if this is prose, begin it with another word",
            ) from None

    def step(self) -> _Token:
        token = self.next
        if token.kind != "end":
            self.next = next(self.tokens)
        return token

    def unexpected(self, remedy: str, token: _Token | None = None) -> Malformed:
        found = token or self.next
        return Malformed(
            f"unexpected {found.text!r} at character {found.start + 1} of {self.text!r}", remedy
        )


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
        elif text[position] == '"':
            name, end = read_quoted(text, position)
            yield _Token("name", name, position)
            position = end
        else:
            word = _TOKEN.match(text, position)
            assert word is not None
            yield _Token(_KINDS.get(word[0].lower(), "name"), word[0], position)
            position = word.end()
    yield _Token("end", "", len(text))


def mismatches(
    condition: Condition, line: int, triggers: Sequence[Trigger]
) -> Iterator[tuple[int, str, str]]:
    """Where a condition and the `on` lines do not name the same: the line, what is wrong, the remedy."""
    named = askers(condition)
    left_out = {asker(on).name: on for on in triggers if asker(on) not in named}
    for each in named:
        if any(asker(on) == each for on in triggers):
            continue
        near = get_close_matches(each.name, left_out, n=1, cutoff=0.8)
        if near:
            # That line is not left out then, only misspelt.
            left_out.pop(near[0])
        if isinstance(each, OwnSchedule):
            yield line, "'trigger' names the schedule, and no 'on schedule' is there", "add one"
        else:
            hint = f"did you mean {near[0]}?" if near else f"add the line 'on {each.name}'"
            yield line, f"'trigger' names {each.name}, and no 'on' line does", hint
    for name, on in left_out.items():
        yield (
            on.line,
            f"'on {name}' could never matter: the 'trigger' line leaves it out",
            "name it there, or remove this line: what is only read needs none",
        )
