"""The comment block at the top of a script, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import cast

from tranche.errors import Fault, PartitioningError, Place
from tranche.model.argument import TYPES, Argument, accepts, argument_type, looks_like
from tranche.model.asset import AssetUri, FileSet
from tranche.model.condition import Condition, all_of
from tranche.model.data_test import DataTest, Relationship
from tranche.model.duration import parse_duration
from tranche.model.layout import Transform
from tranche.model.mapping_inferred import implied
from tranche.model.partitioning import Composite, Partitioning, TimePartitioning
from tranche.model.script import Annotations, Dialect, Lineage, Retry
from tranche.model.strategy import History, Manual, Materialize
from tranche.model.trigger import OnAsset, OnSchedule, Trigger, asker
from tranche.script.conditions import EXAMPLE, mismatches, parse_condition
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
_LONG_WORDS = ("pipeline", "partitioned", "materialize", "data_test")
_UNMISTAKABLE = ("pipeline", "partitioned", "materialize", "data_test", "layout")
"""Words that mean an annotation even in a file that is not marked as a script."""
_ARGUMENT = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)\s*\(([^=]*)\)\s*(?:=\s*(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CommentLine:
    """One line of comment, without its mark."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Header:
    """What was found in a script's comments."""

    annotations: Annotations
    marked: bool
    """Whether the line `pipeline` is there."""
    addresses: tuple[tuple[AssetUri, int], ...]
    """Every asset that is named, with its line."""
    faults: list[Fault]
    warnings: list[str]


@dataclass(slots=True)
class _Draft:
    """The annotations while they are collected."""

    path: str
    otherwise: Dialect = "spark"
    """The dialect if no line says one."""
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    marked: bool = False
    condition: Condition | None = None
    trigger_all: bool = False
    partitioning: Partitioning | None = None
    materialize: Materialize | None = None
    retry: Retry | None = None
    dialect: Dialect | None = None
    triggers: list[Trigger] = field(default_factory=list)
    layout: tuple[Transform, ...] = ()
    data_tests: list[DataTest] = field(default_factory=list)
    lineage: list[Lineage] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    reads: list[AssetUri] = field(default_factory=list)
    writes: list[AssetUri] = field(default_factory=list)
    addresses: list[tuple[AssetUri, int]] = field(default_factory=list)
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

    def header(self) -> Header:
        annotations = Annotations(
            partitioning=self.partitioning,
            materialize=self.materialize,
            triggers=tuple(self.triggers),
            condition=self.condition,
            layout=self.layout,
            data_tests=tuple(self.data_tests),
            lineage=tuple(self.lineage),
            arguments=tuple(self.arguments),
            retry=self.retry,
            dialect=self.dialect or self.otherwise,
            reads=tuple(self.reads),
            writes=tuple(self.writes),
            lines=tuple(self.lines.items()),
        )
        return Header(annotations, self.marked, tuple(self.addresses), self.faults, self.warnings)


def read_header(
    path: str,
    top: Iterable[CommentLine],
    below: Iterable[CommentLine],
    dialect: Dialect = "spark",
) -> Header:
    """The annotations of the block at the top; lines `below` it must hold none. `dialect` is meant
    if no line says another."""
    draft = _Draft(path, otherwise=dialect)
    found: list[int] = []
    for line in top:
        word, rest = _first_word(line.text)
        if word is None:
            _warn_of_near_word(draft, line)
            continue
        found.append(line.number)
        try:
            _read(draft, word, rest, line.number)
        except Malformed as error:
            draft.fault(line.number, error.what, error.remedy)
            # The line is there, only not right: nothing else should ask for one.
            draft.lines.setdefault(word, line.number)
    for line in below:
        _check_misplaced(draft, line)
    if found and not draft.marked:
        draft.fault(
            found[0],
            "the script has annotations and no 'pipeline' line",
            "begin the block with a comment that says pipeline",
        )
    _check_together(draft)
    return draft.header()


def said_dialect(top: Iterable[CommentLine], otherwise: Dialect) -> Dialect:
    """The dialect of a script, which has to be known before its text is read."""
    for line in top:
        word, rest = _first_word(line.text)
        if word == "dialect" and rest in ("spark", "duckdb"):
            return cast(Dialect, rest)
    return otherwise


def _first_word(text: str) -> tuple[str | None, str]:
    """The annotation word that a comment begins with, if any, and the rest."""
    body = text.strip()
    if re.match(r"\$\w", body):
        return "$", body
    word, *rest = body.split(maxsplit=1)[:2] or [""]
    return (word, rest[0] if rest else "") if word in WORDS else (None, body)


def _warn_of_near_word(draft: _Draft, line: CommentLine) -> None:
    """Prose may begin with any word, so one that only looks like an annotation is no fault."""
    word = line.text.strip().partition(" ")[0]
    near = get_close_matches(word.lower().rstrip(":"), _LONG_WORDS, n=1, cutoff=0.85)
    if near:
        place = Place(draft.path, line.number)
        draft.warnings.append(f"{place}: {word!r} is no annotation; did you mean {near[0]!r}?")


def _read(draft: _Draft, word: str, rest: str, line: int) -> None:
    match word:
        case "pipeline":
            draft.marked = True
            draft.lines.setdefault(word, line)
            _nothing_after(word, rest)
        case "on":
            trigger = parse_on(rest, line)
            draft.triggers.append(trigger)
            if isinstance(trigger, OnAsset):
                draft.addresses.append((trigger.asset, line))
        case "trigger":
            condition = parse_trigger(rest)
            if draft.once(word, line):
                draft.condition, draft.trigger_all = condition, condition is None
        case "partitioned":
            _partitioned(draft, rest, line)
        case "materialize":
            _materialize(draft, rest, line)
        case "layout":
            layout = parse_layout(rest)
            if draft.once(word, line):
                draft.layout = layout
        case "data_test":
            test = parse_data_test(rest, line)
            draft.data_tests.append(test)
            if isinstance(test.rule, Relationship):
                draft.addresses.append((test.rule.target.asset, line))
        case "column":
            lineage = parse_lineage(rest)
            draft.lineage.append(lineage)
            draft.addresses += [(source.asset, line) for source in lineage.sources]
        case "$":
            draft.arguments.append(parse_argument(rest, line, draft.otherwise))
        case "retry":
            retry = parse_retry(rest)
            if draft.once(word, line):
                draft.retry = retry
        case "dialect":
            dialect = parse_dialect(rest)
            if draft.once(word, line):
                draft.dialect = dialect
        case "reads" | "writes":
            asset = address(rest)
            (draft.reads if word == "reads" else draft.writes).append(asset)
            draft.addresses.append((asset, line))


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


def _materialize(draft: _Draft, rest: str, line: int) -> None:
    made, warnings = parse_materialize(rest)
    if draft.once("materialize", line):
        draft.materialize = made
        draft.addresses.append((made.asset, line))
        draft.warnings += [f"{draft.path}:{line}: {text}" for text in warnings]


def _nothing_after(word: str, rest: str) -> None:
    if rest:
        raise Malformed(
            f"unexpected {rest!r} after '{word}'",
            "leave it alone on its line; if this is prose, begin it with another word",
        )


def _check_misplaced(draft: _Draft, line: CommentLine) -> None:
    """An annotation that stands below the first statement would be dropped in silence."""
    word, rest = _first_word(line.text)
    if word is None or not (draft.marked or word in _UNMISTAKABLE):
        return
    if word in ("layout", "data_test") and " " not in rest and "(" not in rest:
        return
    try:
        _read(_Draft(draft.path), word, rest, line.number)
    except Malformed:
        return
    name = rest.partition(" ")[0] if word == "$" else word
    draft.fault(
        line.number,
        f"the annotation '{name}' stands below the first statement",
        "move it into the comment block at the top; if this is prose, begin it with another word",
    )


def _check_together(draft: _Draft) -> None:
    """Rules about annotations that depend on each other."""
    if "partitioned" not in draft.lines:
        _imply(draft)
    _check_condition(draft)
    made = draft.materialize
    if made is not None:
        _check_made(draft, made)
    if made is None or isinstance(made.strategy, Manual):
        _check_unmanaged(draft)
    for trigger in draft.triggers:
        if (
            isinstance(trigger, OnSchedule)
            and trigger.cron is None
            and not _has_periods(draft.partitioning)
        ):
            draft.fault(
                trigger.line,
                "'on schedule' without a cron fires at each period's start, and there is no period",
                'add a partitioned line of a time kind, or a cron, as in on schedule "0 6 * * *"',
            )
    seen: set[str] = set()
    for argument in draft.arguments:
        if argument.name in seen:
            draft.fault(argument.line, f"${argument.name} is declared twice", "declare it once")
        seen.add(argument.name)


def _imply(draft: _Draft) -> None:
    """A script that declares no partitioning has the one whose keys its mappers make."""
    first: tuple[OnAsset, Partitioning] | None = None
    for trigger in draft.triggers:
        if not isinstance(trigger, OnAsset):
            continue
        try:
            found = implied(trigger.mapper)
        except PartitioningError as error:
            draft.fault(trigger.line, f"map={trigger.mapper}: {error.what}", error.remedy)
            continue
        if found is None:
            continue
        if first is not None and first[1] != found:
            draft.fault(
                trigger.line,
                f"map={trigger.mapper} makes other keys than map={first[0].mapper} of line"
                f" {first[0].line}, so that they never meet",
                "use the same mapper, or add a partitioned line that says what the keys are",
            )
            continue
        first = (trigger, found)
    if first is not None:
        draft.partitioning = first[1]


def _check_condition(draft: _Draft) -> None:
    """The `trigger` line and the `on` lines must speak of the same things."""
    if draft.trigger_all and draft.triggers:
        draft.condition = all_of(map(asker, draft.triggers))
    # Of an `on` line that does not parse, nobody knows what it names.
    if draft.condition is None or "on" in draft.lines:
        return
    for line, what, remedy in mismatches(draft.condition, draft.lines["trigger"], draft.triggers):
        draft.fault(line, what, remedy)


def _check_made(draft: _Draft, made: Materialize) -> None:
    line = draft.lines["materialize"]
    if isinstance(made.strategy, History):
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
        if at_partition and not isinstance(draft.partitioning, TimePartitioning | None):
            draft.fault(
                line,
                f"at=partition takes a time from each key, and {draft.partitioning.kind} keys"
                " have none",
                "name a column that has it, as in at=updated_at, and leave the partitioned line"
                " out; or use a time kind",
            )
    if isinstance(made.asset, FileSet) and not isinstance(made.strategy, Manual):
        draft.fault(
            line,
            f"{made.asset} is a file set, and Tranche writes tables of lakes",
            "use lake://<lake>/<table>, or write it yourself with materialize manual",
        )


def _check_unmanaged(draft: _Draft) -> None:
    if draft.data_tests:
        draft.fault(
            draft.data_tests[0].line,
            "data tests need a table that Tranche writes",
            "add a materialize line that is not manual, or remove the tests",
        )
    if draft.layout:
        draft.fault(
            draft.lines["layout"],
            "a layout needs a table that Tranche writes",
            "add a materialize line that is not manual, or remove the layout",
        )


def _has_periods(partitioning: Partitioning | None) -> bool:
    if isinstance(partitioning, Composite):
        return any(isinstance(rule, TimePartitioning) for _, rule in partitioning.dimensions)
    return isinstance(partitioning, TimePartitioning)


def parse_trigger(text: str) -> Condition | None:
    """The condition of a `trigger` line; None if it says that all `on` lines are meant."""
    if text == "all":
        return None
    if text == "any":
        raise Malformed(
            "'trigger any' is what holds without the line",
            f"leave it out, or write trigger all, or {EXAMPLE}",
        )
    return parse_condition(text)


def parse_dialect(text: str) -> Dialect:
    if text not in ("spark", "duckdb"):
        raise Malformed(f"unknown dialect {text!r}", "use spark or duckdb")
    return cast(Dialect, text)


def parse_argument(text: str, line: int, dialect: Dialect = "spark") -> Argument:
    """
    >>> parse_argument("$cutoff (date) = 2026-01-01", 4).default
    '2026-01-01'
    """
    match = _ARGUMENT.fullmatch(text.strip())
    if match is None:
        raise Malformed(f"{text!r} does not parse", "write $name (type) or $name (type) = default")
    name, type_text, default = match[1], match[2], match[3]
    type_ = argument_type(type_text, dialect)
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
        return text[1:-1].replace(text[0] * 2, text[0])
    return text


def parse_retry(text: str) -> Retry:
    words = read_words(text)
    words.only(("delay",), "retry")
    if len(words.plain) != 1 or not words.plain[0].isdigit() or int(words.plain[0]) < 1:
        raise Malformed("'retry' needs a number of tries", "write it as retry 3 delay=10s")
    delay = parse_duration(words.options.get("delay", "0s"))
    if delay is None:
        raise Malformed(
            f"delay {words.options['delay']!r} is no time", "write it as delay=10s, 500ms, 2m or 1h"
        )
    return Retry(int(words.plain[0]), delay.total_seconds())
