"""Time cut into bands, so that rows are compared with few keys."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tranche.script.binding import text_literal

_MOST = 200_000
"""More bands than that are no help."""


@dataclass(frozen=True, slots=True)
class Bands:
    """Bands of a width, in microseconds, counted from the beginning of 1970."""

    width: int

    @classmethod
    def of_periods(cls, periods: Sequence[tuple[int, int]]) -> Bands | None:
        """As wide as periods mostly are; None if that would make too many.

        >>> Bands.of_periods([(0, 10), (10, 20), (0, 100)])
        Bands(width=10)
        """
        widths = [end - start for start, end in periods if end >= start]
        if not widths:
            return None
        bands = cls(max(1, int(statistics.median(widths))))
        number = sum(width // bands.width + 2 for width in widths)
        return bands if number <= _MOST else None

    def touched(self, start: int, end: int) -> range:
        """The bands that a period touches, its end included.

        >>> list(Bands(10).touched(-5, 20))
        [0, 1, 2]
        """
        return range(self.at(start), self.at(end) + 1)

    def at(self, instant: int) -> int:
        """As DIV of Spark does it, towards zero."""
        return -(-instant // self.width) if instant < 0 else instant // self.width

    def of(self, column: str) -> str:
        """The band of a column of time, for Spark."""
        return f"(unix_micros(CAST(({column}) AS TIMESTAMP)) DIV {self.width})"

    def view(
        self, session: SparkSession, name: str, periods: Sequence[tuple[str, tuple[int, int]]]
    ) -> None:
        """The relation of all keys with their bands."""
        rows = ", ".join(self._rows(periods))
        frame = session.sql(f"SELECT * FROM VALUES {rows} AS t(k, b)")  # noqa: S608
        frame.createOrReplaceTempView(name)

    def _rows(self, periods: Sequence[tuple[str, tuple[int, int]]]) -> Iterator[str]:
        for key, (start, end) in periods:
            for band in self.touched(start, end):
                yield f"({text_literal(key)}, {band}L)"
