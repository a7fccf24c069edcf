"""Patterns of RE2, as DuckDB has them, in Java's regular expressions.

The two agree on most; what they mean differently is rewritten, and what is not known is refused.
"""

from __future__ import annotations

import re

from sqlglot import exp

from tranche.script.duckdb.pieces import refused

_SPACE = r"\t\n\f\r "
_WORD = "0-9A-Za-z_"
_BOUNDARY = rf"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))"
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


def java_pattern(node: exp.Expr, pattern: str, options: str) -> str:
    """A pattern that matches the same, with lines that end at `\\n` alone."""
    if set(options) - set("ic"):
        raise refused(node, f"the option {options!r} of a pattern is not translated", "use i or g")
    found = ["(?iud)" if "i" in options else "(?d)"]
    at = 0
    while at < len(pattern):
        piece, at = _next(node, pattern, at)
        found.append(piece)
    text = "".join(found)
    try:
        re.compile(_checked(text))
    except re.error as error:
        raise refused(
            node, f"the pattern {pattern!r} does not parse: {error}", "correct it"
        ) from None
    return text


def _checked(text: str) -> str:
    """What Python's parser can say about it, to tell wrong brackets early."""
    plain = re.sub(r"\\x\{[0-9a-f]+\}", "x", text)
    return plain.replace("(?iud)", "").replace("(?d)", "").replace(r"\z", "$")


def _next(node: exp.Expr, pattern: str, at: int) -> tuple[str, int]:
    character = pattern[at]
    if character == "\\":
        return _escaped(node, pattern, at)
    if character == "[":
        return _class(node, pattern, at)
    if character == "$":
        return r"\z", at + 1
    if character == "^":
        return r"\A", at + 1
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


def java_replacement(node: exp.Expr, text: str, shift: int) -> str:
    """What goes in for a match: groups are counted from `shift` on."""
    found = ""
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            following = text[at + 1 : at + 2]
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
