"""A statement for one slice, as statements that give the rows of many keys at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token
from sqlglot.tokenizer_core import TokenType as T

from tranche.model.script import Script
from tranche.model.statement import (
    ArgumentHole,
    Comparison,
    FileHole,
    ImpliedHole,
    KeyHole,
    Limit,
    Part,
    Statement,
    TableHole,
    Text,
    Use,
)
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.binding import segment_text
from tranche.script.ranges.banded import Band
from tranche.script.ranges.edits import Edits
from tranche.script.ranges.implied import Compared, comparisons
from tranche.script.ranges.marks import (
    BAND,
    BANDS_VIEW,
    EXACT,
    HOLE,
    IMPLIED,
    KEYS_VIEW,
    Holes,
)
from tranche.script.ranges.shape import Shapeless, Span, read_query
from tranche.script.ranges.threaded import Threader
from tranche.script.repeatable import RANDOM
from tranche.script.tokens import SPARK

_USES: dict[str, Use] = {IMPLIED: "beside", EXACT: "instead", BAND: "band"}
_WAYS = ((True, True, True), (False, True, True), (False, False, True), (False, False, False))
"""Whether columns may stand for the key, whether time is cut into bands, and whether subqueries may
look at the key of the query around them."""
_MARK = re.compile(rf"(?P<kind>{HOLE}|{IMPLIED}|{EXACT}|{BAND})(?P<number>\d+)_")

_NAME = r"(?:\w+|`[^`]+`)(?:\s*\.\s*(?:\w+|`[^`]+`))*"
_CAST = re.compile(
    rf"\s*(?:{_NAME}\s*::\s*(?P<short>\w+)|CAST\s*\(\s*{_NAME}\s+AS\s+(?P<long>\w+)\s*\))\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Computed:
    """Something made of columns that stands for the key of a row."""

    number: int
    """Which of the statement's comparisons says so."""
    comparison: Comparison
    probe: Statement
    """A query whose one column is it, to see of which type it is."""

    @property
    def type(self) -> str | None:
        """Its type, where the text says it."""
        column = self.comparison.column
        if not all(isinstance(part, Text) for part in column):
            return None
        return cast_type("".join(part.text for part in column if isinstance(part, Text)))


@dataclass(frozen=True, slots=True)
class Banded:
    """A column that is compared with both ends of a period, and the relation of keys for it."""

    number: int
    """The comparison beside which the band is asked for."""
    comparison: Comparison
    probe: Statement
    """A query whose one column is it, to see of which type it is."""
    view: str


@dataclass(frozen=True, slots=True)
class Form:
    """A statement that gives the rows of all keys, with the key in the managed column."""

    statement: Statement
    computed: tuple[Computed, ...] = ()
    """What has to tell keys apart for it."""
    banded: tuple[Banded, ...] = ()
    """What has to be of time for it."""

    @property
    def joins(self) -> bool:
        """Whether it reads the relation of all keys."""
        return any(
            isinstance(part, Text) and KEYS_VIEW in part.text for part in self.statement.parts
        )


@dataclass(frozen=True, slots=True)
class Ranged:
    """The ways to ask for many keys at once, the quickest first; not all of them may do."""

    forms: tuple[Form, ...]
    reason: str | None = None
    """Why there are none."""


def key_type(script: Script) -> str | None:
    """The type of the argument `$partition`, where a script declares it and has keys."""
    if script.partitioning is None:
        return None
    arguments = script.annotations.arguments
    return next((a.type.upper() for a in arguments if a.name == "partition"), None)


def only_key_by_key(script: Script) -> str | None:
    """Why the keys of a script are run one by one, as far as its text tells; None if they are not."""
    made = script.annotations.materialize
    if script.code is not None and not script.code.takes_ranges:
        return f"{script.code.function} takes one key; let it take partitions: list[str] instead"
    if script.code is not None and script.code.takes_payload:
        return "a payload is of one key"
    if script.code is None and (script.query is None or made is None or not script.managed):
        return "it writes by itself"
    if any(asset in script.writes for asset in script.reads):
        return "it reads its own table, so that each key builds on the one before"
    if script.violation_queries:
        return "a data test by script looks at one slice"
    if script.query is None:
        return None
    typed = key_type(script)
    for statement in script.setup:
        if any(_is_key(part, typed) for part in _all_parts(statement)):
            return "a setup statement takes the key"
    return ranged(script.query, typed).reason


def _all_parts(statement: Statement) -> Iterator[Part]:
    for part in statement.parts:
        yield part
        if isinstance(part, FileHole):
            yield from part.path


@lru_cache(maxsize=64)
def ranged(statement: Statement, key_type: str | None = None) -> Ranged:
    """The ways to run a query for many keys at once.

    `key_type` is the type of the argument `$partition`, where a script declares it.
    """
    marked = _marked(statement)
    try:
        tokens = SPARK.tokenize(marked)
        _check(tokens)
        query = read_query(tokens)
        holes = _holes(tokens, statement, key_type)
        compared = tuple(comparisons(tokens, holes))
    except Shapeless as error:
        return Ranged((), f"it has {error}")
    except TokenError:
        return Ranged((), "its text cannot be read")
    forms: list[Form] = []
    reason = None
    words = Edits(marked, tokens).words
    implied = [_comparison(each, words, statement.parts) for each in compared]
    for computing, banding, correlated in _WAYS:
        threader = Threader(
            marked,
            tokens,
            holes,
            correlated=correlated,
            compared=compared,
            computing=computing,
            banding=banding,
        )
        try:
            threader.query(query, PARTITION_COLUMN, {})
        except Shapeless as error:
            reason = reason or f"it has {error}"
            continue
        form = _form(threader, statement, implied)
        if all(other.statement != form.statement for other in forms):
            forms.append(form)
    return Ranged(tuple(forms), None if forms else reason)


def _form(threader: Threader, statement: Statement, implied: Sequence[Comparison]) -> Form:
    compared = threader.compared
    places = {band.number: band.place for band in threader.bands}
    for number, each in enumerate(compared):
        if each not in threader.probes:
            band = f" AND {BAND}{number}_ = {places[number]}" if number in places else ""
            threader.edits.around(each.whole, "(", f" AND {IMPLIED}{number}_{band})")

    def made(text: str) -> Statement:
        return replace(statement, parts=tuple(_parts(text, statement.parts, implied)))

    return Form(
        made(threader.edits.made()),
        tuple(
            Computed(number, implied[number], made(probe))
            for each, probe in threader.probes.items()
            for number in [compared.index(each)]
        ),
        tuple(
            Banded(
                band.number,
                _together(implied, band),
                made(band.probe),
                f"{BANDS_VIEW}{band.number}",
            )
            for band in threader.bands
        ),
    )


def _together(implied: Sequence[Comparison], band: Band) -> Comparison:
    """All that is said of the column of a band."""
    limits = tuple(limit for number in band.numbers for limit in implied[number].limits)
    return replace(implied[band.number], limits=limits)


def _comparison(
    each: Compared, words: Callable[[Span], str], known: tuple[Part, ...]
) -> Comparison:
    return Comparison(
        tuple(_parts(words(each.column), known)),
        tuple(
            Limit(operator, tuple(_parts(words(value), known))) for operator, value in each.limits
        ),
    )


def _marked(statement: Statement) -> str:
    """The text, with a name in place of each hole."""
    return "".join(
        part.text if isinstance(part, Text) else f"{HOLE}{number}_"
        for number, part in enumerate(statement.parts)
    )


def _parts(text: str, known: Sequence[Part], implied: Sequence[Comparison] = ()) -> Iterator[Part]:
    """The text cut at its holes again."""
    end = 0
    for mark in _MARK.finditer(text):
        if mark.start() > end:
            yield Text(text[end : mark.start()])
        number = int(mark["number"])
        if mark["kind"] == HOLE:
            yield known[number]
        else:
            yield ImpliedHole(implied[number], _USES[mark["kind"]], number)
        end = mark.end()
    if end < len(text):
        yield Text(text[end:])


def _holes(tokens: list[Token], statement: Statement, key_type: str | None) -> Holes:
    keys: dict[int, Callable[[str], str]] = {}
    files: set[int] = set()
    names: dict[int, str] = {}
    others: set[int] = set()
    for at, token in enumerate(tokens):
        mark = _MARK.fullmatch(token.text)
        if mark is None or token.token_type is not T.VAR:
            continue
        others.add(at)
        match statement.parts[int(mark["number"])]:
            case KeyHole(None):
                keys[at] = str
            case KeyHole(position=position):
                keys[at] = partial(segment_text, position=position)
            case ArgumentHole("partition") if key_type is not None:
                keys[at] = f"CAST({{}} AS {key_type})".format
            case FileHole(path=path):
                if any(_is_key(part, key_type) for part in path):
                    files.add(at)
            case TableHole(alias=str() as alias):
                names[at] = alias
            case _:
                pass
    return Holes(keys, frozenset(files), names, frozenset(others))


def _is_key(part: Part, key_type: str | None) -> bool:
    return isinstance(part, KeyHole) or (key_type is not None and part == ArgumentHole("partition"))


def _check(tokens: list[Token]) -> None:
    for token, following in pairwise(tokens):
        if token.text.lower() in RANDOM and following.token_type is T.L_PAREN:
            raise Shapeless(f"{token.text.lower()}(), which gives other values each time")


def cast_type(text: str) -> str | None:
    """The type of a column that is cast, as it is written.

    >>> cast_type("o.at::date"), cast_type("CAST(`at` AS DATE)")
    ('date', 'date')
    >>> cast_type("at"), cast_type("a + b::date"), cast_type("a::decimal(9, 2)")
    (None, None, None)
    """
    found = _CAST.fullmatch(text)
    return None if found is None else (found["short"] or found["long"]).lower()
