"""`partitioned daily tz="Europe/Paris" start="2026-01-01"`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from tranche.errors import PartitioningError
from tranche.model.partitioning import (
    Composite,
    Daily,
    Dimension,
    Dynamic,
    Hourly,
    Monthly,
    Partitioning,
    Quarterly,
    Static,
    Weekly,
    Yearly,
)
from tranche.script.words import Malformed, Words, read_words, split_list, unknown

TimeKind: TypeAlias = Daily | Hourly | Weekly | Monthly | Quarterly | Yearly

TIME_KINDS: dict[str, type[TimeKind]] = {
    "daily": Daily,
    "hourly": Hourly,
    "weekly": Weekly,
    "monthly": Monthly,
    "quarterly": Quarterly,
    "yearly": Yearly,
}
KINDS = (*TIME_KINDS, "dynamic", "static")

_P = TypeVar("_P")


_TIME_OPTIONS = ("tz", "format", "start", "end", "lag", "lookback", "gaps")
_DIMENSION = re.compile(r"\s*([^\W\d]\w*)\s*:\s*(.*)", re.DOTALL)


def parse_partitioned(text: str) -> Partitioning:
    """
    >>> parse_partitioned('static keys="us,eu"').keys()
    ('us', 'eu')
    """
    segments = _segments(text)
    named = [_DIMENSION.fullmatch(segment) for segment in segments]
    if len(segments) == 1 and not named[0]:
        return _single(text)
    dimensions: list[tuple[str, Dimension]] = []
    for segment, match in zip(segments, named, strict=True):
        if match is None:
            raise Malformed(
                f"the dimension {segment.strip()!r} has no name",
                'write name: kind …, as in day: daily | region: static keys="us,eu"',
            )
        dimensions.append((match[1], _single(match[2])))
    return _built(lambda: Composite(tuple(dimensions)))


def _single(text: str) -> Dimension:
    words = read_words(text)
    if not words.plain:
        raise Malformed("'partitioned' has no kind", f"use {', '.join(KINDS)}")
    kind, *rest = words.plain
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS, "partitioned")
    if rest:
        raise Malformed(
            f"unexpected {rest[0]!r} after 'partitioned {kind}'", 'write options as name="value"'
        )
    where = f"partitioned {kind}"
    if kind == "dynamic":
        words.only(("key",), where)
        if "key" not in words.options:
            raise Malformed("'partitioned dynamic' has no key", 'write key="$.path.to.value"')
        return _built(lambda: Dynamic(words.options["key"]))
    if kind == "static":
        words.only(("keys",), where)
        if "keys" not in words.options:
            raise Malformed("'partitioned static' has no keys", 'write keys="a,b,c"')
        keys = split_list(words.options["keys"], "keys")
        return _built(lambda: Static(keys))
    words.only(_TIME_OPTIONS, where)
    return _time(TIME_KINDS[kind], words)


def _time(kind: type[TimeKind], words: Words) -> Dimension:
    options = words.options
    return _built(
        lambda: kind(
            tz=options.get("tz", "UTC"),
            format=options.get("format"),
            start=options.get("start"),
            end=options.get("end"),
            lag=_count(options.get("lag", "0"), "lag"),
            lookback=_count(options.get("lookback", "0"), "lookback"),
            gaps=options.get("gaps"),
        )
    )


def _count(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise Malformed(f"{name} is {text!r}", "give a whole number of periods, as in lag=1")
    return int(text)


def _built(build: Callable[[], _P]) -> _P:
    try:
        return build()
    except PartitioningError as error:
        raise Malformed(error.what, error.remedy) from None


def _segments(text: str) -> list[str]:
    """The parts between the bars that stand outside quotes."""
    parts = [""]
    quoted = escaped = False
    for character in text:
        if character == "|" and not quoted:
            parts.append("")
            continue
        if character == '"' and not escaped:
            quoted = not quoted
        escaped = character == "\\" and not escaped
        parts[-1] += character
    return parts
