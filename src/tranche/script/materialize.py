"""`materialize <uri> [append] [key=…] [history …]`, `layout …` and `column …`."""

from __future__ import annotations

import re
from typing import cast, get_args

from tranche.model.asset import AssetUri, BadAddress, ColumnRef, parse_address, parse_column
from tranche.model.layout import Transform, TransformName
from tranche.model.script import Lineage
from tranche.model.strategy import (
    HISTORY_COLUMNS,
    PARTITION_COLUMN,
    Append,
    History,
    Manual,
    Materialize,
    Merge,
    Replace,
    SchemaPolicy,
    Strategy,
)
from tranche.script.words import Malformed, Words, read_words, split_list, unknown

_WORDS = ("append", "history", "manual", "scd2")
_OPTIONS = ("key", "track", "deletes", "at", "on_schema_change")
_POLICIES = ("fail", "warn", "sync", "ignore")
_MOST_BUCKETS = 2**31 - 1
_QUOTED = r"`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\""
_COLUMN = rf"{_QUOTED}|[^\W\d][\w$]*"
_TRANSFORM = re.compile(rf"(\w+)\s*\(((?:{_QUOTED}|[^()`\"])*)\)|({_COLUMN})")
_BUCKET = re.compile(rf"\s*(\d+)\s*,\s*({_COLUMN})\s*")


def address(text: str) -> AssetUri:
    try:
        return parse_address(text)
    except BadAddress as error:
        what, _, remedy = str(error).partition("; ")
        raise Malformed(what, remedy or None) from None


def column(text: str) -> ColumnRef:
    try:
        return parse_column(text)
    except BadAddress as error:
        what, _, remedy = str(error).partition("; ")
        raise Malformed(what, remedy or None) from None


def parse_materialize(text: str) -> tuple[Materialize, tuple[str, ...]]:
    """What a materialize line declares, and the warnings about it."""
    words = read_words(text)
    addresses = [word for word in words.plain if "://" in word]
    flags = [word for word in words.plain if "://" not in word]
    for flag in flags:
        if flag not in _WORDS:
            if flag in ("upsert", "merge", "replace"):
                raise Malformed(
                    f"unknown strategy {flag!r} in 'materialize'",
                    "use key=<col> for merge, append, or history; replace is the default",
                )
            raise unknown("word", flag, _WORDS, "materialize")
    if len(addresses) != 1:
        raise Malformed(
            "'materialize' needs one address", "write materialize lake://<lake>/<table>"
        )
    words.only(_OPTIONS, "materialize")
    strategy, warnings = _strategy(flags, words)
    policy = words.choice("on_schema_change", _POLICIES)
    return Materialize(
        address(addresses[0]), strategy, cast("SchemaPolicy | None", policy)
    ), warnings


def _strategy(flags: list[str], words: Words) -> tuple[Strategy, tuple[str, ...]]:
    key = split_list(words.options["key"], "key") if "key" in words.options else ()
    if len(set(key)) != len(key):
        raise Malformed(f"key names a column twice: {','.join(key)}", "name each column once")
    history = "history" in flags or "scd2" in flags
    if not history:
        for name in ("track", "deletes", "at"):
            if name in words.options:
                raise Malformed(f"{name}= goes with history only", "add history, or leave it out")
    if "manual" in flags:
        if len(flags) > 1 or key:
            raise Malformed(
                "'manual' goes with no strategy", "write materialize manual <uri> and nothing else"
            )
        return Manual(), ()
    if history:
        if "append" in flags:
            raise Malformed("append and history exclude each other", "keep one of them")
        return _history(key, words), ()
    if "append" in flags:
        warning = ("append wins over key=: rows are inserted, not merged",) if key else ()
        return Append(), warning
    return (Merge(key) if key else Replace()), ()


def _history(key: tuple[str, ...], words: Words) -> History:
    if not key:
        raise Malformed("history needs a key", "add key=<col> to name what identifies a row")
    words.choice("deletes", ("close",))
    track = split_list(words.options["track"], "track") if "track" in words.options else ()
    for name in track:
        if name in key:
            raise Malformed(f"track names the key column {name!r}", "track other columns")
    for name in (*key, *track):
        if name in HISTORY_COLUMNS:
            raise Malformed(f"{name!r} is a column of history itself", "use another column")
    return History(key, track, "deletes" in words.options, words.options.get("at"))


def parse_layout(text: str) -> tuple[Transform, ...]:
    """
    >>> [str(t) for t in parse_layout("bucket(8, user_id), month(ts), country")]
    ['bucket(8, user_id)', 'month(ts)', 'country']
    """
    transforms: list[Transform] = []
    rest = text.strip()
    while True:
        match = _TRANSFORM.match(rest)
        if match is None:
            raise Malformed(
                f"the layout does not parse at {rest!r}",
                "write it as bucket(8, user_id), month(ts)",
            )
        transforms.append(_transform(match))
        rest = rest[match.end() :].lstrip()
        if not rest:
            break
        if not rest.startswith(","):
            raise Malformed(f"unexpected {rest!r} in the layout", "separate transforms by commas")
        rest = rest[1:].lstrip()
    if len(set(transforms)) != len(transforms):
        raise Malformed("the layout names a transform twice", "name each once")
    return tuple(transforms)


def _transform(match: re.Match[str]) -> Transform:
    if match[3]:
        return Transform("identity", _unmanaged(match[3]))
    name, inside = match[1].lower(), match[2].strip()
    known = get_args(TransformName)
    if name not in known:
        raise unknown("transform", match[1], known, "layout")
    if name == "bucket":
        bucket = _BUCKET.fullmatch(inside)
        if bucket is None:
            raise Malformed(f"bucket({inside}) does not parse", "write bucket(<number>, <column>)")
        if not 0 < int(bucket[1]) <= _MOST_BUCKETS:
            many = "no" if int(bucket[1]) == 0 else "too many"
            remedy = "give at least one" if many == "no" else f"give at most {_MOST_BUCKETS}"
            raise Malformed(f"bucket({bucket[1]}, …) has {many} buckets", remedy)
        return Transform("bucket", _unmanaged(bucket[2]), int(bucket[1]))
    if not re.fullmatch(_COLUMN, inside):
        raise Malformed(f"{name}({inside}) does not parse", f"write {name}(<column>)")
    return Transform(cast(TransformName, name), _unmanaged(inside))


def _unmanaged(text: str) -> str:
    """The name of a column without its quotes; by slices a table is laid out anyway."""
    name = text
    if text[0] in '`"':
        name = text[1:-1].replace(text[0] * 2, text[0])
    if name.lower() == PARTITION_COLUMN:
        raise Malformed(
            f"the layout names {PARTITION_COLUMN}, which Tranche manages",
            "leave it out; a table with slices is always laid out by them",
        )
    return name


def parse_lineage(text: str) -> Lineage:
    out, arrow, sources = text.partition("<-")
    if not arrow or not out.strip() or not sources.strip() or " " in out.strip():
        raise Malformed(
            "'column' does not parse", "write column <out> <- <uri>.<col>[, <uri>.<col> …]"
        )
    return Lineage(out.strip(), tuple(column(item) for item in split_list(sources, "column")))
