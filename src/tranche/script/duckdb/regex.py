"""Patterns of RE2, as DuckDB has them, in Java's regular expressions.

The two agree on most; what they mean differently is rewritten, and what is not known is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from tranche.script.duckdb.pieces import refused

_SPACE = r"\t\n\f\r "
_WORD = "0-9A-Za-z_"
_BOUNDARY = rf"(?-i:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))"
_START, _END = r"\A", r"\z"
_ESCAPES = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": f"[{_WORD}]",
    "W": f"[^{_WORD}]",
    "s": f"[{_SPACE}]",
    "S": f"[^{_SPACE}]",
    "b": _BOUNDARY,
    "n": r"\n",
    "t": r"\t",
    "r": r"\r",
    "f": r"\f",
}
_IN_CLASS = {"d": "0-9", "w": _WORD, "s": _SPACE, "n": r"\n", "t": r"\t", "r": r"\r", "f": r"\f"}
_REPEATED = re.compile(r"\{\d{1,3}(,\d{0,3})?\}")
_TURKISH = r"(?-i:[\x{130}\x{131}])"
"""Letters that are an i in another case for Java, and not for RE2."""
_SHARP = r"[\x{df}\x{1e9e}]"
_ANCHORS = (_START, _END, _BOUNDARY)


@dataclass(frozen=True, slots=True)
class Group:
    """What stands in brackets: its pieces, and what is said of them."""

    pieces: tuple[str, ...]
    is_captured: bool
    may_be_missing: bool
    """Whether a match may go without it."""
    is_repeated: bool


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern in Java's words, piece by piece."""

    flags: str
    pieces: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join([self.flags, *self.pieces])

    @property
    def groups(self) -> list[Group]:
        """The groups that are counted, in their order."""
        return [group for group in _groups(self.pieces) if group.is_captured]

    @property
    def may_be_empty(self) -> bool:
        """Whether it may match nothing, between two characters."""
        return _may_be_empty(self.pieces)

    @property
    def is_empty(self) -> bool:
        """Whether it matches nothing else."""
        return set(self.pieces) <= set(_ANCHORS)

    @property
    def is_anchored(self) -> bool:
        return not set(self.pieces).isdisjoint(_ANCHORS)

    @property
    def looks_back(self) -> bool:
        """Whether what stands before a match matters."""
        return _START in self.pieces or _BOUNDARY in self.pieces


def java_pattern(node: exp.Expr, pattern: str, options: str) -> Pattern:
    """A pattern that matches the same, with lines that end at `\\n` alone."""
    if set(options) - set("ic"):
        raise refused(node, f"the option {options!r} of a pattern is not translated", "use i or g")
    folded = "i" in options
    found: list[str] = []
    at = 0
    while at < len(pattern):
        piece, at = _next(node, pattern, at)
        if found and piece == _START == found[-1]:
            raise refused(node, "^^ in a pattern, which RE2 never finds", "write ^ once")
        found.append(piece)
    try:
        _parsed(tuple(found))
    except re.error as error:
        raise refused(
            node, f"the pattern {pattern!r} does not parse: {error}", "correct it"
        ) from None
    if folded:
        found = [_folded(node, piece) for piece in found]
    said = Pattern("(?iud)" if folded else "(?d)", tuple(found))
    if any(group.is_repeated and _may_be_empty(group.pieces) for group in _groups(said.pieces)):
        raise refused(
            node, f"{pattern!r} repeats what may be empty", "use + inside or outside, not both"
        )
    return said


def _parsed(pieces: tuple[str, ...]) -> re.Pattern[str]:
    """What Python's parser can say about it: whether brackets are right, and what may be empty."""
    plain = "".join("(?:)" if piece in _ANCHORS else piece for piece in pieces)
    return re.compile(_python(plain))


def _python(text: str) -> str:
    """Characters that Java is told by their number, as Python is told."""
    return re.sub(r"\\x\{([0-9a-f]+)\}", lambda match: f"\\U{int(match[1], 16):08x}", text)


def _may_be_empty(pieces: tuple[str, ...]) -> bool:
    return _parsed(pieces).fullmatch("") is not None


def _groups(pieces: tuple[str, ...], missing: bool = False) -> Iterator[Group]:
    """All groups, in the order in which they open."""
    depth = start = 0
    parts = [place for place, piece in enumerate(pieces) if piece in ("(", "(?:", ")", "|")]
    chosen = missing or _has_choice(pieces)
    for place in parts:
        if pieces[place] in ("(", "(?:"):
            start = place if depth == 0 else start
            depth += 1
        elif pieces[place] == ")":
            depth -= 1
            if depth == 0:
                after = pieces[place + 1] if place + 1 < len(pieces) else ""
                inner = pieces[start + 1 : place]
                gone = chosen or after[:1] in ("*", "?") or after.startswith(("{0", "{,"))
                repeated = after[:1] in ("*", "+", "{")
                yield Group(inner, pieces[start] == "(", gone, repeated)
                yield from _groups(inner, gone)


def _has_choice(pieces: tuple[str, ...]) -> bool:
    """Whether there is a | that is in no brackets."""
    depth = 0
    for piece in pieces:
        depth += (piece in ("(", "(?:")) - (piece == ")")
        if piece == "|" and depth == 0:
            return True
    return False


def _folded(node: exp.Expr, piece: str) -> str:
    """A piece of a pattern that does not mind the case of letters."""
    if piece in ("i", "I"):
        return "(?-i:[iI])"
    if piece in (r"\x{130}", r"\x{131}"):
        return f"(?-i:{piece})"
    if piece == r"\x{df}":
        return _SHARP
    if not piece.startswith("["):
        return piece
    if _holds(piece, "ß") != piece.startswith("[^"):
        # Java knows that ẞ is ß in another case, and not the other way round.
        piece = re.sub(r"^\[\^?", lambda match: rf"{match[0]}\x{{1e9e}}", piece)
    if _holds(piece, "\u0130") != _holds(piece, "\u0131") or (
        _holds(piece, "\u0130") != piece.startswith("[^")
    ):
        raise refused(node, "İ or ı in a class with the option i", "write it beside the class")
    if not any(_holds(piece, letter) != piece.startswith("[^") for letter in "iI"):
        return piece
    if piece.startswith("[^"):
        return f"(?:{_TURKISH}|{piece})"
    return f"(?:(?!{_TURKISH}){piece})"


def _holds(class_: str, character: str) -> bool:
    return re.fullmatch(_python(class_), character) is not None


def _next(node: exp.Expr, pattern: str, at: int) -> tuple[str, int]:
    character = pattern[at]
    if character == "\\":
        return _escaped(node, pattern, at)
    if character == "[":
        return _class(node, pattern, at)
    if character == "$":
        return _END, at + 1
    if character == "^":
        return _START, at + 1
    if pattern.startswith("(?:", at):
        return "(?:", at + 3
    if pattern.startswith("(?", at):
        raise refused(node, f"{pattern[at : at + 4]!r} in a pattern is not translated", "use (…)")
    if character == "{":
        repeated = _REPEATED.match(pattern, at)
        return (repeated[0], repeated.end()) if repeated else (r"\{", at + 1)
    if character in "*+?" and pattern[at + 1 : at + 2] == "+":
        raise refused(node, "a possessive repetition in a pattern", "leave the + out")
    if character in "}":
        return r"\}", at + 1
    if ord(character) > 127 or character in "#&~":
        return rf"\x{{{ord(character):x}}}" if ord(character) > 127 else f"\\{character}", at + 1
    return character, at + 1


def _escaped(node: exp.Expr, pattern: str, at: int) -> tuple[str, int]:
    following = pattern[at + 1 : at + 2]
    if following in _ESCAPES:
        return _ESCAPES[following], at + 2
    if following and not following.isalnum() and ord(following) < 128:
        return f"\\{following}", at + 2
    raise refused(node, f"\\{following} in a pattern is not translated", "write the characters")


def _class(node: exp.Expr, pattern: str, at: int) -> tuple[str, int]:
    """A class of characters; Java gives `[` and `&&` in it a meaning that RE2 does not."""
    end = at + 1
    found = "["
    if pattern[end : end + 1] == "^":
        found += "^"
        end += 1
    first = end
    while end < len(pattern) and (pattern[end] != "]" or end == first):
        character = pattern[end]
        if character == "\\":
            following = pattern[end + 1 : end + 2]
            if following in _IN_CLASS:
                found += _IN_CLASS[following]
            elif following and not following.isalnum() and ord(following) < 128:
                found += f"\\{following}"
            else:
                raise refused(node, f"\\{following} in a class of a pattern", "write it out")
            end += 2
            continue
        if pattern.startswith("[:", end):
            raise refused(node, "a class like [:alpha:] in a pattern", "write it out, as in [a-z]")
        if ord(character) > 127:
            found += rf"\x{{{ord(character):x}}}"
        else:
            found += f"\\{character}" if character in "[]&^~#" else character
        end += 1
    if end >= len(pattern):
        raise refused(node, f"the pattern {pattern!r} has an open class", "close it with ]")
    return f"{found}]", end + 1


def java_replacement(node: exp.Expr, text: str, pattern: Pattern, shift: int) -> str:
    """What goes in for a match: groups are counted from `shift` on."""
    count = len(pattern.groups)
    found = ""
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            following = text[at + 1 : at + 2]
            if following.isdigit() and int(following) > count:
                raise refused(
                    node,
                    f"\\{following} in a replacement, of a pattern with {count} groups",
                    "put what is to be kept into brackets",
                )
            if following.isdigit():
                found += f"${int(following) + shift}"
                # A digit behind would count as part of the number.
                if text[at + 2 : at + 3].isdigit():
                    raise refused(node, "a group with a digit behind it", "put the digit elsewhere")
            elif following == "\\":
                found += "\\\\"
            else:
                raise refused(node, f"\\{following} in a replacement", "write \\\\ for a backslash")
            at += 2
            continue
        found += f"\\{character}" if character == "$" else character
        at += 1
    return found
