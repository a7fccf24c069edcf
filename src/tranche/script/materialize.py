"""`materialize <uri> [append] [key=…] [history …]`, `layout …` and `column …`."""

from __future__ import annotations

import re
from typing import cast, get_args

from tranche.model.asset import AssetUri, BadAddress, ColumnRef, parse_address, parse_column
from tranche.model.layout import Transform, TransformName
from tranche.model.script import Lineage
from tranche.model.strategy import (
    HISTORY_COLUMNS,
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
_TRANSFORM = re.compile(r"(\w+)\s*\(\s*([^()]*?)\s*\)|([^\W\d][\w$]*)")


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
        return Transform("identity", match[3])
    name, inside = match[1], match[2]
    known = get_args(TransformName)
    if name not in known:
        raise unknown("transform", name, known, "layout")
    arguments = [part.strip() for part in inside.split(",")]
    if name == "bucket":
        if len(arguments) != 2 or not arguments[0].isdigit() or not arguments[1]:
            raise Malformed(f"bucket({inside}) does not parse", "write bucket(<number>, <column>)")
        if int(arguments[0]) == 0:
            raise Malformed("bucket(0, …) has no buckets", "give at least one")
        return Transform("bucket", arguments[1], int(arguments[0]))
    if len(arguments) != 1 or not arguments[0]:
        raise Malformed(f"{name}({inside}) does not parse", f"write {name}(<column>)")
    return Transform(cast(TransformName, name), arguments[0])


def parse_lineage(text: str) -> Lineage:
    out, arrow, sources = text.partition("<-")
    if not arrow or not out.strip() or not sources.strip() or " " in out.strip():
        raise Malformed(
            "'column' does not parse", "write column <out> <- <uri>.<col>[, <uri>.<col> …]"
        )
    return Lineage(out.strip(), tuple(column(item) for item in split_list(sources, "column")))
