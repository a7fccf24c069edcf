"""The rows of several keys from one query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from re import compile as compiled
from re import escape, sub
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from tranche.errors import RangeRefused, StatementRejected
from tranche.model.partitioning import Partitioning, TimePartitioning
from tranche.model.statement import (
    ArgumentHole,
    Comparison,
    FileHole,
    ImpliedHole,
    KeyHole,
    Limit,
    Part,
    Statement,
    Text,
)
from tranche.script.binding import Bound, text_literal
from tranche.script.ranges.ranged import ranged
from tranche.script.ranges.threaded import FILE_KEY, KEYS_VIEW

if TYPE_CHECKING:
    from tranche.lakes.execution import Execution

_COLUMN = "_tranche_key"
_MOST_LISTED = 1_000
"""How many values a list in a filter has at most."""
_ORDERED = (date, int, float, Decimal)
_GLOBS = {"*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", "[": "[", "]": "]", "^": "^"}
"""What characters of a path's pattern mean in a regular expression."""


def keys_view(session: SparkSession, keys: Sequence[str]) -> None:
    """The relation of all keys."""
    values = ", ".join(f"({text_literal(key)})" for key in keys)
    rows = session.sql(f"SELECT * FROM VALUES {values} AS t({_COLUMN})")  # noqa: S608
    rows.createOrReplaceTempView(KEYS_VIEW)


def range_rows(execution: Execution, query: Statement, keys: Sequence[str]) -> DataFrame:
    """The rows of all keys, each with its key; the first way that Spark knows is taken."""
    found = ranged(query, execution.key_type)
    reason = found.reason
    implied = Implied(execution, keys)
    for form in found.forms:
        try:
            return execution.sql(form, implied=implied.text)
        except StatementRejected as error:
            reason = reason or f"Spark cannot ask for several keys: {error.what}"
    if found.forms:
        # If it refuses one key too, the statement itself is wrong, and that is what one hears of.
        execution.check_for(query, keys[0])
    raise RangeRefused(reason or "it cannot be asked for several keys")


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A time, as Spark counts it."""

    micros: int


@dataclass(slots=True)
class Implied:
    """What comparisons with the key say of all keys together."""

    execution: Execution
    keys: Sequence[str]
    _number: int = 0

    def text(self, hole: ImpliedHole) -> Bound:
        conditions: list[str] = []
        parameters: dict[str, Any] = {}
        column = self.words(hole.comparison)
        for limit in hole.comparison.limits:
            values = self.values(limit)
            if values is None or column is None:
                continue
            for operator, wanted in self.conditions(limit, values):
                marks = []
                for value in wanted:
                    self._number += 1
                    name = f"_tranche_i{self._number}"
                    instant = isinstance(value, Instant)
                    parameters[name] = value.micros if instant else value
                    marks.append(f"timestamp_micros(:{name})" if instant else f":{name}")
                listed = ", ".join(marks)
                side = f"({listed})" if operator == "IN" else listed
                conditions.append(f"({column}) {operator} {side}")
        return Bound(" AND ".join(conditions) or "true", parameters)

    def conditions(
        self, limit: Limit, values: Sequence[Any]
    ) -> Iterable[tuple[str, Sequence[Any]]]:
        several = list(dict.fromkeys(values))
        if limit.operator == "=":
            ordered = self.in_order(several)
            # A list is slower than its bounds, and says no more if nothing is missing between them.
            if len(several) <= _MOST_LISTED and not (ordered and self.is_whole):
                yield "IN", several
            if ordered:
                yield ">=", [min(several)]
                yield "<=", [max(several)]
        elif self.in_order(several):
            least = limit.operator.startswith(">")
            yield limit.operator, [min(several) if least else max(several)]

    @property
    def is_whole(self) -> bool:
        """Whether the keys are all that there are between the first and the last."""
        rule = self.execution.step.script.partitioning
        if not isinstance(rule, TimePartitioning):
            return False
        first, last = (pick(self.keys, key=rule.ordinal) for pick in (min, max))
        return len(rule.keys(start=first, end=last)) == len(self.keys)

    def in_order(self, values: Sequence[Any]) -> bool:
        """Whether the least and the greatest are so for Spark too, whatever they are compared with.

        Texts may be compared as dates or as numbers. They sort alike if all are as long and they
        are periods from the largest unit to the smallest.
        """
        if all(isinstance(value, (Instant, *_ORDERED)) for value in values):
            return True
        if not all(isinstance(value, str) for value in values):
            return False
        rule = self.execution.step.script.partitioning
        return sorts_as_text(rule) and len({len(value) for value in values}) == 1

    def values(self, limit: Limit) -> Sequence[Any] | None:
        """What stands beside the column, for each key; None if that is not known for certain."""
        text = _key_text(limit.value)
        if text is None:
            return None
        if text == _COLUMN:
            return self.keys
        try:
            # A projection of literals, which Spark works out without a job.
            values = self.execution.session.sql(f"SELECT {text} AS v FROM {KEYS_VIEW}")  # noqa: S608
            if isinstance(values.schema["v"].dataType, TimestampType):
                micros = values.select(F.unix_micros("v").alias("v")).collect()
                return [Instant(row["v"]) for row in micros]
            found = [row["v"] for row in values.collect()]
        except Exception:
            # Whatever is wrong with it shows in the query itself.
            return None
        return found if all(isinstance(value, (str, *_ORDERED)) for value in found) else None

    def words(self, comparison: Comparison) -> str | None:
        """The column, if its text can be written once more."""
        pieces = [part.text for part in comparison.column if isinstance(part, Text)]
        return "".join(pieces) if len(pieces) == len(comparison.column) else None


def sorts_as_text(rule: Partitioning | None) -> bool:
    """Whether the keys of a partitioning sort by time as they sort by their letters.

    >>> from tranche.model.partitioning import Daily
    >>> sorts_as_text(Daily()), sorts_as_text(Daily(format="%d/%m/%Y"))
    (True, False)
    """
    if not isinstance(rule, TimePartitioning) or "%z" in rule.pattern:
        return False
    units = [letter for letter in rule.pattern.replace("%G", "%Y") if letter in "YmVdHq"]
    return units == sorted(units, key="YqmVdH".index)


def _key_text(parts: Sequence[Part]) -> str | None:
    pieces = []
    for part in parts:
        match part:
            case Text(text):
                pieces.append(text)
            case KeyHole(None):
                pieces.append(_COLUMN)
            case _:
                return None
    return "".join(pieces).strip()


def range_files(
    execution: Execution, hole: FileHole, paths: Sequence[tuple[str, str]]
) -> DataFrame:
    """The rows of the files of all keys, each with its key, from one scan.

    `paths` has each key with its path. The columns are those of all files together.
    """
    given = {name.lower() for name, _ in hole.options}
    if hole.format == "csv" and "schema" not in given:
        raise RangeRefused("files of CSV without a schema may have their columns in another order")
    frame = execution.load(hole, [path for _, path in paths], merge=hole.format == "parquet")
    pairs = list(owners(frame.inputFiles(), paths))
    marks = ", ".join(f"(:f{n}, :k{n})" for n in range(len(pairs)))
    values = {f"f{n}": file for n, (file, _) in enumerate(pairs)}
    values |= {f"k{n}": key for n, (_, key) in enumerate(pairs)}
    if not pairs:
        return frame.select("*", F.lit(None).cast("string").alias(FILE_KEY)).where(F.lit(False))
    known = execution.session.sql(
        f"SELECT * FROM VALUES {marks} AS t(_tranche_file, {FILE_KEY})",  # noqa: S608
        args=values,
    )
    # Spark writes the same place with one slash or with three.
    path = F.regexp_replace(F.col("_metadata.file_path"), "^file:/+", "/").alias("_tranche_path")
    joined = frame.select("*", path).join(
        F.broadcast(known), F.col("_tranche_path") == F.col("_tranche_file"), "left"
    )
    # Whatever belongs to no key would be lost without a word.
    lost = F.raise_error(F.concat(F.lit("no key has the file "), F.col("_tranche_path")))
    sound = F.when(F.col(FILE_KEY).isNull(), lost.cast("boolean")).otherwise(F.lit(True))
    return joined.where(sound).drop("_tranche_path", "_tranche_file")


def owners(files: Iterable[str], paths: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Each file with the keys to whose path it belongs.

    >>> paths = [("a", "/d/a"), ("b", "/d/b*")]
    >>> list(owners(["file:///d/a/x.json", "file:///d/b%20c/y.json"], paths))
    [('/d/a/x.json', 'a'), ('/d/b%20c/y.json', 'b')]
    """
    patterns = [(key, compiled(_pattern(path))) for key, path in paths]
    for file in files:
        place = _plain(file)
        for key, pattern in patterns:
            if pattern.fullmatch(unquote(place)):
                yield place, key


def _plain(path: str) -> str:
    """A path without the scheme of local files."""
    return sub("^file:/+", "/", path)


def _pattern(path: str) -> str:
    """What a path of Spark's readers matches: itself, and all that lies below it.

    >>> _pattern("/d/b*/[x]")
    '/d/b[^/]*/[x](?:/.*)?'
    """
    found, depth = "", 0
    characters = iter(_plain(path))
    for character in characters:
        depth += (character == "{") - (character == "}")
        if character == "\\":
            found += escape(next(characters, ""))
        elif character == "," and depth:
            found += "|"
        else:
            found += _GLOBS.get(character) or escape(character)
    return f"{found.rstrip('/')}(?:/.*)?"


def takes_key(hole: FileHole, key_type: str | None) -> bool:
    """Whether the path of files depends on the key."""
    return any(
        isinstance(part, KeyHole) or (key_type is not None and part == ArgumentHole("partition"))
        for part in hole.path
    )
