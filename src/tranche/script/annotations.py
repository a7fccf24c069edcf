"""The comment block at the top of a script, line by line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from tranche.errors import Fault, Place
from tranche.model.argument import TYPES, Argument, accepts, argument_type, looks_like
from tranche.model.asset import AssetUri, FileSet
from tranche.model.partitioning import Partitioning
from tranche.model.script import Annotations, Dialect, Lineage, Retry
from tranche.model.strategy import History, Manual, Materialize
from tranche.model.trigger import OnSchedule, Trigger
from tranche.script.data_tests import parse_data_test
from tranche.script.materialize import address, parse_layout, parse_lineage, parse_materialize
from tranche.script.partitioned import parse_partitioned
from tranche.script.triggers import parse_on
from tranche.script.words import Malformed, read_words

WORDS = (
    "pipeline",
    "on",
    "trigger",
    "partitioned",
    "materialize",
    "layout",
    "data_test",
    "column",
    "retry",
    "dialect",
    "reads",
    "writes",
)
_UNMISTAKABLE = ("partitioned", "materialize", "data_test", "layout")
_ARGUMENT = re.compile(r"\$([^\W\d]\w*)\s*\(([^=]*)\)\s*(?:=\s*(.*))?", re.DOTALL)
_RETRY = re.compile(r"(\d+)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CommentLine:
    """One line of comment, without its mark."""

    number: int
    text: str


@dataclass(slots=True)
class Header:
    """What was found in a script's comments."""

    annotations: Annotations
    marked: bool
    """Whether the line `pipeline` is there."""
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Draft:
    """The annotations while they are collected."""

    path: str
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    marked: bool = False
    trigger_all: bool = False
    partitioning: Partitioning | None = None
    materialize: Materialize | None = None
    retry: Retry | None = None
    dialect: Dialect | None = None
    triggers: list[Trigger] = field(default_factory=list)
    layout: tuple[Any, ...] = ()
    data_tests: list[Any] = field(default_factory=list)
    lineage: list[Lineage] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    reads: list[AssetUri] = field(default_factory=list)
    writes: list[AssetUri] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)

    def fault(self, line: int, what: str, remedy: str | None = None) -> None:
        self.faults.append(Fault(Place(self.path, line), what, remedy))

    def once(self, word: str, line: int) -> bool:
        """Whether this is the first line with that word; a second one is a fault."""
        if word in self.lines:
            first = self.lines[word]
            self.fault(line, f"a second '{word}' line, the first is line {first}", "keep one")
            return False
        self.lines[word] = line
        return True


def read_header(path: str, top: Iterable[CommentLine], below: Iterable[CommentLine]) -> Header:
    """The annotations of the block at the top; lines `below` it must hold none."""
    draft = _Draft(path)
    found = 0
    for line in top:
        word, rest = _first_word(line.text)
        if word is None:
            continue
        found += 1
        try:
            _read(draft, word, rest, line.number)
        except Malformed as error:
            draft.fault(line.number, error.what, error.remedy)
    for line in below:
        _check_misplaced(draft, line)
    if found and not draft.marked:
        first = draft.faults[0].place.line if draft.faults else min(draft.lines.values(), default=1)
        draft.fault(
            first or 1,
            "the script has annotations and no 'pipeline' line",
            "begin the block with a comment that says pipeline",
        )
    _check_together(draft)
    return Header(
        Annotations(
            partitioning=draft.partitioning,
            materialize=draft.materialize,
            triggers=tuple(draft.triggers),
            trigger_all=draft.trigger_all,
            layout=draft.layout,
            data_tests=tuple(draft.data_tests),
            lineage=tuple(draft.lineage),
            arguments=tuple(draft.arguments),
            retry=draft.retry,
            dialect=draft.dialect or "spark",
            reads=tuple(draft.reads),
            writes=tuple(draft.writes),
            lines=tuple(draft.lines.items()),
        ),
        draft.marked,
        draft.faults,
        draft.warnings,
    )


def _first_word(text: str) -> tuple[str | None, str]:
    """The annotation word that a comment begins with, if any, and the rest."""
    body = text.strip()
    if body.startswith("$") and re.match(r"\$\w", body):
        return "$", body
    word, _, rest = body.partition(" ")
    return (word, rest.strip()) if word in WORDS else (None, body)


def _read(draft: _Draft, word: str, rest: str, line: int) -> None:
    match word:
        case "pipeline":
            draft.marked = True
            draft.lines.setdefault(word, line)
            _nothing_after(word, rest)
        case "on":
            draft.triggers.append(parse_on(rest, line))
        case "trigger":
            if rest != "all":
                raise Malformed(f"'trigger {rest}' does not parse", "write trigger all")
            draft.trigger_all = draft.once(word, line)
        case "partitioned":
            _partitioned(draft, rest, line)
        case "materialize":
            made, warnings = parse_materialize(rest)
            if draft.once(word, line):
                draft.materialize = made
                draft.warnings += [f"{draft.path}:{line}: {text}" for text in warnings]
        case "layout":
            layout = parse_layout(rest)
            if draft.once(word, line):
                draft.layout = layout
        case "data_test":
            draft.data_tests.append(parse_data_test(rest, line))
        case "column":
            draft.lineage.append(parse_lineage(rest))
        case "$":
            draft.arguments.append(parse_argument(rest, line))
        case "retry":
            retry = parse_retry(rest)
            if draft.once(word, line):
                draft.retry = retry
        case "dialect":
            if rest not in ("spark", "duckdb"):
                raise Malformed(f"unknown dialect {rest!r}", "use spark or duckdb")
            if draft.once(word, line):
                draft.dialect = cast(Dialect, rest)
        case "reads":
            draft.reads.append(address(rest))
        case "writes":
            draft.writes.append(address(rest))


def _partitioned(draft: _Draft, rest: str, line: int) -> None:
    partitioning = parse_partitioned(rest)
    if draft.partitioning is None:
        draft.partitioning = partitioning
        draft.lines["partitioned"] = line
    else:
        first = draft.lines["partitioned"]
        draft.warnings.append(
            f"{draft.path}:{line}: a second 'partitioned' line is ignored, line {first} wins"
        )


def _nothing_after(word: str, rest: str) -> None:
    if rest:
        raise Malformed(
            f"unexpected {rest!r} after '{word}'",
            "leave it alone on its line; if this is prose, begin it with another word",
        )


def _check_misplaced(draft: _Draft, line: CommentLine) -> None:
    """An annotation that stands below the first statement would be dropped in silence."""
    word, rest = _first_word(line.text)
    if word not in _UNMISTAKABLE:
        return
    parsers: dict[str, Callable[[str], object]] = {
        "partitioned": parse_partitioned,
        "materialize": parse_materialize,
        "layout": parse_layout,
        "data_test": lambda text: parse_data_test(text, line.number),
    }
    if not _parses(parsers[word], rest) or (word in ("layout", "data_test") and " " not in rest):
        return
    draft.fault(
        line.number,
        f"the annotation '{word}' stands below the first statement",
        "move it into the comment block at the top",
    )


def _parses(parse: Callable[[str], _T], text: str) -> bool:
    try:
        parse(text)
    except Malformed:
        return False
    return True


def _check_together(draft: _Draft) -> None:
    """Rules about annotations that depend on each other."""
    made = draft.materialize
    line = draft.lines.get("materialize", 1)
    if made is not None and isinstance(made.strategy, History):
        at_partition = made.strategy.at == "partition"
        if draft.partitioning is not None and not at_partition:
            draft.fault(
                line,
                "history keeps the versions of a whole table, and the script is partitioned",
                "add at=partition to take each version's time from its key",
            )
        if draft.partitioning is None and at_partition:
            draft.fault(
                line, "at=partition in a script without partitions", "add a partitioned line"
            )
    if (
        made is not None
        and isinstance(made.asset, FileSet)
        and not isinstance(made.strategy, Manual)
    ):
        draft.fault(
            line,
            f"{made.asset} is a file set, and Tranche writes tables of lakes",
            "use lake://<lake>/<table>, or write it yourself with materialize manual",
        )
    managed = made is not None and not isinstance(made.strategy, Manual)
    if draft.data_tests and not managed:
        draft.fault(
            draft.data_tests[0].line,
            "data tests need a table that Tranche writes",
            "add a materialize line that is not manual, or remove the tests",
        )
    if draft.layout and not managed:
        draft.fault(
            draft.lines["layout"],
            "a layout needs a table that Tranche writes",
            "add a materialize line that is not manual, or remove the layout",
        )
    for trigger in draft.triggers:
        if isinstance(trigger, OnSchedule) and trigger.cron is None and draft.partitioning is None:
            draft.fault(
                trigger.line,
                "'on schedule' without a cron fires at each period's start, and there is no period",
                'add a partitioned line, or a cron, as in on schedule "0 6 * * *"',
            )
    names = [argument.name for argument in draft.arguments]
    for argument in draft.arguments:
        if (
            names.count(argument.name) > 1
            and argument is not draft.arguments[names.index(argument.name)]
        ):
            draft.fault(argument.line, f"${argument.name} is declared twice", "declare it once")


def parse_argument(text: str, line: int) -> Argument:
    """
    >>> parse_argument("$cutoff (date) = 2026-01-01", 4).default
    '2026-01-01'
    """
    match = _ARGUMENT.fullmatch(text.strip())
    if match is None:
        raise Malformed(f"{text!r} does not parse", "write $name (type) or $name (type) = default")
    name, type_text, default = match[1], match[2], match[3]
    type_ = argument_type(type_text)
    if type_ is None:
        raise Malformed(f"unknown type {type_text.strip()!r} of ${name}", f"use {', '.join(TYPES)}")
    if default is None:
        return Argument(name, type_, None, required=True, line=line)
    value = _unquoted(default.strip())
    if value is not None and not accepts(type_, value):
        raise Malformed(
            f"the default {value!r} of ${name} is no {type_}", f"give {looks_like(type_)}"
        )
    return Argument(name, type_, value, required=False, line=line)


def _unquoted(text: str) -> str | None:
    if text.lower() == "null":
        return None
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def parse_retry(text: str) -> Retry:
    words = read_words(text)
    words.only(("delay",), "retry")
    if len(words.plain) != 1 or not words.plain[0].isdigit() or int(words.plain[0]) < 1:
        raise Malformed("'retry' needs a number of tries", "write it as retry 3 delay=10s")
    match = _RETRY.fullmatch(words.options.get("delay", "0s"))
    if match is None:
        raise Malformed(
            f"delay {words.options['delay']!r} is no time", "write it as delay=10s, 500ms, 2m or 1h"
        )
    return Retry(int(words.plain[0]), int(match[1]) * _SECONDS[match[2]])
