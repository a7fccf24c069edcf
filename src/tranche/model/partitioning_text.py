"""Text of keys and options: what can be stored, how it is shown, how an annotation quotes it."""

from __future__ import annotations

from collections.abc import Iterable

from tranche.errors import KeyRejected

#: Characters of the longest key.
LONGEST = 1000


def unstorable(text: str) -> str | None:
    """Why a store or a file cannot hold `text`, or None.

    >>> unstorable("a\\0b")
    'it holds a NUL character'
    """
    if "\0" in text:
        return "it holds a NUL character"
    if any("\ud800" <= char <= "\udfff" for char in text):
        return "it holds half a character (a lone surrogate)"
    if len(text) > LONGEST:
        return f"it has {len(text)} characters, and {LONGEST} are the most"
    return None


def shown(value: object) -> str:
    """The value as a message quotes it, cut when nobody would read on.

    >>> shown("2026-5-1"), shown("x" * 100)[-4:]
    ("'2026-5-1'", "xx…'")
    """
    if isinstance(value, str) and len(value) > 80:
        value = value[:79] + "…"
    return repr(value)


def option(name: str, value: object) -> str:
    r"""One option of an annotation.

    >>> print(option("format", 'a"b'))
    format="a\"b"
    """
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'{name}="{text}"'


def join_segments(segments: Iterable[str]) -> str:
    r"""The key of several segments; a ``|`` or a backslash within one gets a backslash.

    >>> print(join_segments(["a|b", "c"]))
    a\|b|c
    """
    return "|".join(each.replace("\\", "\\\\").replace("|", "\\|") for each in segments)


def split_segments(key: str) -> list[str]:
    r"""The segments of a key, the reverse of `join_segments`, or KeyRejected.

    >>> split_segments(r"a\|b|c")
    ['a|b', 'c']
    """
    segments = [""]
    chars = iter(key)
    for char in chars:
        if char == "|":
            segments.append("")
            continue
        if char == "\\":
            char = next(chars, "")
            if char not in ("|", "\\"):
                raise KeyRejected(
                    f"{shown(key)} is no key of several segments: a backslash stands before a | or"
                    " a backslash only",
                    r"write \\ for a backslash",
                )
        segments[-1] += char
    return segments
