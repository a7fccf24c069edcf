"""What comparisons with the key say of all keys together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from re import compile as compiled
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row

from tranche.errors import KeyRejected, StatementRejected
from tranche.lakes.bands import Bands
from tranche.model.partitioning import Composite, TimePartitioning, time_of
from tranche.model.statement import (
    ArgumentHole,
    Comparison,
    ImpliedHole,
    KeyHole,
    Limit,
    Part,
    Statement,
    Text,
)
from tranche.script.binding import Bound, bind, segment_text, text_literal
from tranche.script.ranges.marks import KEYS_VIEW
from tranche.script.ranges.ranged import Banded, Computed

if TYPE_CHECKING:
    from tranche.lakes.execution import Execution

KEY_COLUMN = "_tranche_key"
"""The column of the relation of all keys."""
_MOST_LISTED = 1_000
"""How many values a list in a filter has at most."""
_ORDERED = (date, int, float, Decimal)
_DAY = compiled(r"\d{4}-\d{2}-\d{2}")
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_WRITTEN_ONCE = {
    "string": ("string",),
    "date": ("date", "string"),
    **dict.fromkeys(_WHOLE, ("string", *_WHOLE)),
}
"""Types of which equal values are written alike, with the types that are compared as they are."""


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
    _viewed: bool = False
    _bands: dict[int, Bands] = field(default_factory=dict)
    """How time is cut, for the comparisons beside which a band is asked for."""
    _told: dict[int, Sequence[Any]] = field(default_factory=dict)
    """Comparisons whose column tells the key, with its values for the keys."""

    def tells_key(self, computed: Computed) -> bool:
        """Whether the column is the key, written as a text, in all rows that have one of the keys.

        The values must be of a type that is written in one way, and each written as its key is:
        then there is no other value for the key, nor another key for the value.
        """
        (limit,) = computed.comparison.limits
        value = self.key_text(limit.value)
        type_ = computed.type
        if type_ not in _WRITTEN_ONCE:
            type_ = self.type_of(computed.probe)
        if value is None or type_ not in _WRITTEN_ONCE:
            return False
        values = self.told(value, type_)
        if values is None or (len(values) > _MOST_LISTED and not unbroken(values)):
            return False
        self._told[computed.number] = values
        return True

    def told(self, value: str, type_: str) -> Sequence[Any] | None:
        """The values that stand for the keys; None if one is not written as its key is."""
        if value == KEY_COLUMN and type_ == "string":
            return self.keys
        if value == KEY_COLUMN and type_ == "date" and all(map(_DAY.fullmatch, self.keys)):
            try:
                return [date.fromisoformat(key) for key in self.keys]
            except ValueError:
                return None
        made = self.asked(
            f"SELECT typeof({value}) AS t, CAST({value} AS {type_}) AS v,"  # noqa: S608
            f" CAST(CAST({value} AS {type_}) AS STRING) <=> {KEY_COLUMN} AS same FROM {KEYS_VIEW}"
        )
        if made is None or any(not row["same"] for row in made):
            return None
        if any(row["t"] not in _WRITTEN_ONCE[type_] for row in made):
            return None
        return [row["v"] for row in made]

    def make_view(self) -> None:
        """The relation of all keys."""
        if self._viewed:
            return
        values = ", ".join(f"({text_literal(key)})" for key in self.keys)
        rows = self.execution.session.sql(f"SELECT * FROM VALUES {values} AS t({KEY_COLUMN})")  # noqa: S608
        rows.createOrReplaceTempView(KEYS_VIEW)
        self._viewed = True

    def cuts_time(self, banded: Banded) -> bool:
        """Makes the relation of keys with their bands; not if the column is none of time."""
        type_ = self.type_of(banded.probe)
        limits = [
            (limit.operator.startswith(">"), self.key_text(limit.value))
            for limit in banded.comparison.limits
        ]
        if type_ not in ("date", "timestamp") or any(text is None for _, text in limits):
            return False
        ends = ", ".join(
            f"if(typeof({text}) = 'string', unix_micros(CAST(CAST({text} AS {type_}) AS TIMESTAMP)),"
            f" unix_micros(CAST({text} AS TIMESTAMP))) AS e{n}, typeof({text}) AS t{n}"
            for n, (_, text) in enumerate(limits)
        )
        rows = self.asked(f"SELECT {ends} FROM {KEYS_VIEW}")  # noqa: S608
        if rows is None or any(
            row[f"t{n}"] not in ("string", "date", "timestamp") or row[f"e{n}"] is None
            for row in rows
            for n in range(len(limits))
        ):
            return False
        periods = [
            (
                max(row[f"e{n}"] for n, (lower, _) in enumerate(limits) if lower),
                min(row[f"e{n}"] for n, (lower, _) in enumerate(limits) if not lower),
            )
            for row in rows
        ]
        bands = Bands.of_periods(periods)
        if bands is None:
            return False
        bands.view(self.execution.session, banded.view, list(zip(self.keys, periods, strict=True)))
        self._bands[banded.number] = bands
        return True

    def type_of(self, probe: Statement) -> str | None:
        """The type of what a query shows; None if it cannot be asked."""
        try:
            frame = self.execution.sql(probe, noted=False)
        except StatementRejected:
            return None
        return str(frame.schema["v"].dataType.simpleString())

    def column(self, comparison: Comparison) -> Bound:
        return bind(
            Statement("other", comparison.column, 0),
            self.execution.values,
            table=self.execution.table,
            files=self.execution.files,
        )

    def text(self, hole: ImpliedHole) -> Bound:
        conditions: list[str] = []
        column = self.column(hole.comparison)
        parameters = dict(column.parameters)
        if hole.use == "band":
            return Bound(self._bands[hole.number].of(column.text), parameters)
        for limit in hole.comparison.limits:
            if hole.use == "instead":
                found = self.exactly(self._told[hole.number])
            else:
                values = self.values(limit)
                found = () if values is None else self.conditions(limit, values)
            for operator, wanted in found:
                marks = []
                for value in wanted:
                    self._number += 1
                    name = f"_tranche_i{self._number}"
                    instant = isinstance(value, Instant)
                    parameters[name] = value.micros if instant else value
                    marks.append(f"timestamp_micros(:{name})" if instant else f":{name}")
                listed = ", ".join(marks)
                side = f"({listed})" if operator == "IN" else listed
                conditions.append(f"({column.text}) {operator} {side}")
        return Bound(f"({' AND '.join(conditions)})" if conditions else "true", parameters)

    def exactly(self, values: Sequence[Any]) -> Iterable[tuple[str, Sequence[Any]]]:
        """What holds for these values and for no other."""
        several = list(dict.fromkeys(values))
        whole = unbroken(several)
        if not whole:
            yield "IN", several
        if whole or self.in_order(several):
            yield ">=", [min(several)]
            yield "<=", [max(several)]

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
        rule = time_of(self.execution.step.script.partitioning)
        if isinstance(self.execution.step.script.partitioning, Composite) and rule is not None:
            # Whatever else there may be beside a column does not sort by time.
            return sorts_as_text(rule) and all(map(is_key_of(rule), values))
        return sorts_as_text(rule) and len({len(value) for value in values}) == 1

    def values(self, limit: Limit) -> Sequence[Any] | None:
        """What stands beside the column, for each key; None if that is not known for certain."""
        text = self.key_text(limit.value)
        if text is None:
            return None
        if text == KEY_COLUMN:
            return self.keys
        rows = self.asked(
            f"SELECT v, CASE WHEN typeof(v) = 'timestamp' THEN unix_micros(CAST(v AS TIMESTAMP))"  # noqa: S608
            f" END AS micros FROM (SELECT {text} AS v FROM {KEYS_VIEW})"
        )
        if rows is None:
            return None
        found = [row["v"] if row["micros"] is None else Instant(row["micros"]) for row in rows]
        known = (str, Instant, *_ORDERED)
        return found if all(isinstance(value, known) for value in found) else None

    def asked(self, text: str) -> list[Row] | None:
        """The rows of a projection of literals, which Spark works out without a job."""
        self.make_view()
        try:
            return self.execution.session.sql(text).collect()
        except Exception:
            # Whatever is wrong with it shows in the query itself.
            return None

    def key_text(self, parts: Sequence[Part]) -> str | None:
        """What is made of the key, for the relation of all keys."""
        pieces = []
        typed = self.execution.key_type
        for part in parts:
            match part:
                case Text(text):
                    pieces.append(text)
                case KeyHole(None):
                    pieces.append(KEY_COLUMN)
                case KeyHole(position=position):
                    pieces.append(segment_text(KEY_COLUMN, position))
                case ArgumentHole("partition") if typed is not None:
                    pieces.append(f"CAST({KEY_COLUMN} AS {typed})")
                case _:
                    return None
        return "".join(pieces).strip()


def unbroken(values: Sequence[Any]) -> bool:
    """Whether there is nothing between the least and the greatest that is not one of them.

    >>> unbroken([3, 1, 2]), unbroken([1, 3]), unbroken(["1", "2"])
    (True, False, False)
    """
    several = set(values)
    if all(type(value) is date for value in several):
        several = {value.toordinal() for value in several}
    if not all(type(value) is int for value in several):
        return False
    distance: int = max(several) - min(several)
    return distance == len(several) - 1


def is_key_of(rule: TimePartitioning) -> Callable[[str], bool]:
    def is_key(text: str) -> bool:
        try:
            rule.validate(text)
        except KeyRejected:
            return False
        return True

    return is_key


def sorts_as_text(rule: TimePartitioning | None) -> bool:
    """Whether the keys of a partitioning sort by time as they sort by their letters.

    >>> from tranche.model.partitioning import Daily
    >>> sorts_as_text(Daily()), sorts_as_text(Daily(format="%d/%m/%Y"))
    (True, False)
    """
    if rule is None or "%z" in rule.pattern:
        return False
    units = [letter for letter in rule.pattern.replace("%G", "%Y") if letter in "YmVdHq"]
    return units == sorted(units, key="YqmVdH".index)
