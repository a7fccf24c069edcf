"""Times and intervals: what is added to a date or a time."""

from __future__ import annotations

from sqlglot import exp

from tranche.script.duckdb.pieces import Piece, refused
from tranche.script.duckdb.rules import guarded, say
from tranche.script.duckdb.types import is_whole
from tranche.script.duckdb.zones import later

MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1, "DECADE": 120, "CENTURY": 1200}
_DAYS = {"WEEK": 7, "DAY": 1}
_MICROSECONDS = {
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
_DAY = 86_400_000_000


def moment(node: exp.Expr, piece: Piece) -> Piece:
    """A date as the TIMESTAMP at its start; times stay what they are.

    Spark takes the wider of two types: of a date beside a TIMESTAMP_NTZ the latter, of a TIMESTAMP
    with a zone that one.
    """
    if piece.type == "string":
        raise refused(node, "a text is used as a time", "cast it, as in x::TIMESTAMP or x::DATE")
    if piece.type in ("timestamp", "timestamp_ntz"):
        return piece
    if piece.type == "date":
        return Piece(f"CAST({piece.text} AS TIMESTAMP_NTZ)", "timestamp_ntz")
    return Piece(f"coalesce({piece.text}, CAST(NULL AS TIMESTAMP_NTZ))")


def added(node: exp.Expr, time: exp.Expr, interval: exp.Interval, sign: str) -> Piece:
    """A time with an interval added to it, or taken from it."""
    if isinstance(time, exp.Interval):
        raise refused(node, "an interval as a value is not translated", "add each to a time")
    start = moment(node, say(time))
    text = f"{start.tight} {sign} {interval_text(interval)}"
    if start.type == "timestamp_ntz":
        return Piece(text, start.type, loose=True)
    if unit_of(interval) in MONTHS:
        return Piece(_by_months(start, interval, text), start.type, bare=text)
    if not _crosses_days(interval):
        return Piece(text, start.type, loose=True)
    what = "24 hours or more are added to a time with a zone, in which days have 23 or 25 hours"
    remedy = "add days, or cast the time to TIMESTAMP"
    said = guarded(node, text, [f"typeof({start.text}) = 'timestamp'"], what, remedy)
    return Piece(said, start.type)


def _by_months(start: Piece, interval: exp.Interval, text: str) -> str:
    """Days keep to summer or winter time where the clock leaves it open; months do not."""
    none = "" if _number(interval) is not None else f" AND {say(interval.this).text} <> 0"
    if start.type == "timestamp" and not none:
        return later(text)
    return f"if({start.kind} = 'timestamp'{none}, {later(text)}, {text})"


def unit_of(node: exp.Expr) -> str:
    unit = node.args.get("unit")
    word = unit.name.upper().removesuffix("S") if unit is not None else ""
    if word in (*MONTHS, *_DAYS, *_MICROSECONDS):
        return word
    raise refused(node, "an interval of several units is not translated", "add one after the other")


def _number(node: exp.Expr) -> int | None:
    value = node.this
    if isinstance(value, exp.Paren):
        value = value.this
    negative = isinstance(value, exp.Neg)
    if negative:
        value = value.this
    if not isinstance(value, exp.Literal):
        return None
    text = str(value.this).strip()
    if not text.lstrip("+-").isdigit():
        raise refused(node, f"the interval {text!r} is not translated", "write a whole number")
    return -int(text) if negative else int(text)


def interval_text(node: exp.Expr) -> str:
    """What is added, as Spark writes it."""
    unit, number = unit_of(node), _number(node)
    if number is None:
        if unit == "SECOND":
            return _of_seconds(say(node.this))
        value = f"CAST({say(node.this).text} AS INT)"
        if unit in MONTHS:
            return f"make_ym_interval(0, {value} * {MONTHS[unit]})"
        if unit in _DAYS:
            return f"make_dt_interval({value} * {_DAYS[unit]})"
        if unit not in ("HOUR", "MINUTE"):
            raise refused(node, f"an interval of computed {unit.lower()}s", "use seconds")
        place = ("HOUR", "MINUTE").index(unit) + 1
        return f"make_dt_interval({', '.join(['0'] * place)}, {value})"
    if unit in MONTHS:
        return f"INTERVAL '{number * MONTHS[unit]}' MONTH"
    if unit in _DAYS:
        return f"INTERVAL '{number * _DAYS[unit]}' DAY"
    seconds, rest = divmod(abs(number) * _MICROSECONDS[unit], 1_000_000)
    sign = "-" if number < 0 else ""
    return f"INTERVAL '{sign}{seconds}.{rest:06d}' SECOND"


def _of_seconds(value: Piece) -> str:
    """Seconds may have a fraction, which is rounded to microseconds as a DOUBLE."""
    if is_whole(value.type):
        return f"make_dt_interval(0, 0, 0, {value.text})"
    micros = f"CAST(rint(CAST({value.text} AS DOUBLE) * 1E6D) AS BIGINT)"
    return f"make_dt_interval(0, 0, 0, CAST({micros} * 0.000001BD AS DECIMAL(18,6)))"


def constant_size(node: exp.Expr) -> int | None:
    """How many of its units an interval has, if that stands in the text."""
    unit_of(node)
    return _number(node)


def is_clock(node: exp.Expr) -> bool:
    """Whether it is of hours or less, which are as long on any day."""
    return unit_of(node) in _MICROSECONDS


def _crosses_days(node: exp.Interval) -> bool:
    unit, number = unit_of(node), _number(node)
    if not is_clock(node):
        return False
    return number is None or abs(number) * _MICROSECONDS[unit] >= _DAY
