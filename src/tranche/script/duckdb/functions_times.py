"""Functions of dates and times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tranche.script.duckdb.calls import constant_text, declined, function, said, templates
from tranche.script.duckdb.formats import formatted, has_year, parsing_pattern
from tranche.script.duckdb.intervals import added, moment
from tranche.script.duckdb.pieces import Piece, literal, refused
from tranche.script.duckdb.rules import guarded, rule, say
from tranche.script.duckdb.zones import BOUND, bound, later, later_elsewhere

_PARTS = {
    "year": "year({0})",
    "month": "month({0})",
    "day": "day({0})",
    "quarter": "quarter({0})",
    "week": "weekofyear({0})",
    "isoyear": "extract(YEAROFWEEK FROM {0})",
    "dow": "dayofweek({0}) - 1",
    "isodow": "weekday({0}) + 1",
    "doy": "dayofyear({0})",
    "hour": "hour({0})",
    "minute": "minute({0})",
    "second": "second({0})",
    "decade": "year({0}) DIV 10",
}
"""Parts of a date or time; all are BIGINTs."""
_ALIASES = {
    "years": "year",
    "yr": "year",
    "y": "year",
    "months": "month",
    "mon": "month",
    "days": "day",
    "d": "day",
    "dayofmonth": "day",
    "weeks": "week",
    "w": "week",
    "weekofyear": "week",
    "quarters": "quarter",
    "dayofweek": "dow",
    "weekday": "dow",
    "dayofyear": "doy",
    "hours": "hour",
    "h": "hour",
    "minutes": "minute",
    "min": "minute",
    "m": "minute",
    "seconds": "second",
    "sec": "second",
    "s": "second",
    "decades": "decade",
}
_WALL_CLOCK = ("hour", "minute", "second")
_SECONDS = {"hour": 3600, "minute": 60, "second": 1}
_BEFORE = 250_000_000 * 3_600_000_000
"""Microseconds in hours enough that no time is less than 0 with them: DIV cuts towards 0."""
_EPOCH = "CAST('1970-01-01 00:00:00' AS TIMESTAMP_NTZ)"
declined(
    "it gives an INTERVAL, which Spark has in two kinds; use date_diff",
    "age to_days to_hours to_minutes to_seconds to_months to_years",
)
declined("Spark takes other texts; use strptime", "try_strptime")
declined("it counts whole units; use date_diff", "date_sub datesub")
declined("it is not translated yet; use date_trunc", "time_bucket")
templates("string", ("dayname", "date_format(CAST({0} AS DATE), 'EEEE')"))
templates("string", ("monthname", "date_format(CAST({0} AS DATE), 'MMMM')"))
templates("date", ("last_day", "last_day(CAST({0} AS DATE))"))
templates("date", ("make_date", "make_date(CAST({0} AS INT), CAST({1} AS INT), CAST({2} AS INT))"))
templates("timestamp", ("now get_current_timestamp", "current_timestamp()"))
templates("date", ("today", "current_date()"))
templates(
    "timestamp",
    ("to_timestamp", "timestamp_micros(CAST(rint(CAST({0} AS DOUBLE) * 1E6D) AS BIGINT))"),
)
templates(
    "timestamp_ntz",
    (
        "make_timestamp",
        "make_timestamp_ntz(CAST({0} AS INT), CAST({1} AS INT), CAST({2} AS INT),"
        " CAST({3} AS INT), CAST({4} AS INT), CAST({5} AS DECIMAL(8,6)))",
    ),
)


@rule(exp.CurrentDate)
def current_date(_node: exp.Expr) -> Piece:
    return Piece("current_date()", "date")


@rule(exp.CurrentTimestamp)
def current_timestamp(_node: exp.Expr) -> Piece:
    return Piece("current_timestamp()", "timestamp")


def part_named(node: exp.Expr, word: str) -> str:
    name = word.lower()
    return _ALIASES.get(name, name)


@function(2, 2, "date_part", "datepart")
def date_part(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return _part(node, constant_text(node, arguments[0], "the part"), arguments[1])


@rule(exp.Extract)
def extract(node: exp.Expr) -> Piece:
    return _part(node, node.this.name, node.expression)


def _part(node: exp.Expr, word: str, value: exp.Expr) -> Piece:
    part = part_named(node, word)
    if part == "epoch":
        return epoch(node, [value])
    template = _PARTS.get(part)
    if template is None:
        known = ", ".join(sorted(_PARTS))
        raise refused(node, f"the part {word!r} of a time is not translated", f"use {known}")
    said_ = _timed(node, say(value))
    if part in _WALL_CLOCK:
        # A date has no hours in Spark.
        said_ = moment(node, said_)
    return Piece(f"CAST({template.format(said_.text)} AS BIGINT)", "bigint")


def _timed(node: exp.Expr, piece: Piece) -> Piece:
    if piece.type == "string":
        raise refused(node, "a text is used as a time", "cast it, as in x::TIMESTAMP or x::DATE")
    return piece


def _named_part(part: str) -> Callable[[exp.Expr, Sequence[exp.Expr]], Piece]:
    return lambda node, arguments: _part(node, part, arguments[0])


for _word in (*_PARTS, "dayofweek", "weekday", "dayofmonth", "dayofyear", "weekofyear"):
    if _word not in ("dow", "doy"):
        function(1, 1, _word)(_named_part(_word))


def _microseconds(node: exp.Expr, piece: Piece) -> str:
    """Microseconds since 1970, of the wall clock if the time has no zone."""
    start = moment(node, piece)
    zoned = f"unix_micros(CAST({start.text} AS TIMESTAMP))"
    if start.type == "timestamp":
        return zoned
    since = f"(CAST({start.text} AS TIMESTAMP_NTZ) - {_EPOCH})"
    local = (
        f"(extract(DAY FROM {since}) * 86400000000L + extract(HOUR FROM {since}) * 3600000000L"
        f" + extract(MINUTE FROM {since}) * 60000000L"
        f" + CAST(extract(SECOND FROM {since}) * 1000000 AS BIGINT))"
    )
    if start.type == "timestamp_ntz":
        return local
    return f"CASE WHEN typeof({start.text}) = 'timestamp' THEN {zoned} ELSE {local} END"


@function(1, 1, "epoch")
def epoch(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    [value] = said(arguments)
    return Piece(f"(CAST({_microseconds(node, value)} AS DOUBLE) / 1E6D)", "double")


@function(1, 1, "epoch_ms", "epoch_us")
def epoch_count(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    [value] = said(arguments)
    word = str(node.this).lower()
    if value.type not in ("date", "timestamp", "timestamp_ntz"):
        raise refused(node, f"{word} of a value of unknown type", "cast it, as in x::TIMESTAMP")
    micros = _microseconds(node, value)
    if word == "epoch_us":
        return Piece(micros, "bigint")
    return Piece(f"({micros} DIV 1000)", "bigint")


@function(2, 2, "date_trunc", "datetrunc")
def date_trunc(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    """A date becomes the TIMESTAMP at the start; a time with a zone keeps it."""
    part = part_named(node, constant_text(node, arguments[0], "the part"))
    if part not in ("year", "quarter", "month", "week", "day", *_WALL_CLOCK):
        raise refused(node, f"date_trunc to {part!r} is not translated", "use year to second")
    value = _timed(node, say(arguments[1]))
    start = moment(node, value)
    if part in _WALL_CLOCK:
        if start.type == "timestamp":
            raise refused(node, f"date_trunc to {part} of a time with a zone", "cast to TIMESTAMP")
        local = _cut(part, f"CAST({start.text} AS TIMESTAMP_NTZ)")
        bad = [f"typeof({start.text}) = 'timestamp'"] if start.type is None else []
        what = f"date_trunc to {part} of a time with a zone"
        return Piece(guarded(node, local, bad, what, "cast to TIMESTAMP"), "timestamp_ntz")
    day = f"CAST({value.text} AS DATE)"
    first = day if part == "day" else f"trunc({day}, '{part.upper()}')"
    local = f"CAST({first} AS TIMESTAMP_NTZ)"
    if start.type == "timestamp":
        return Piece(later(f"CAST({first} AS TIMESTAMP)"), "timestamp")
    if start.type == "timestamp_ntz":
        return Piece(local, "timestamp_ntz")
    # The first is never taken; it makes the type that of the value.
    text = f"coalesce(if(false, {start.text}, NULL), {local})"
    return Piece(f"if({start.kind} = 'timestamp', {later(text)}, {text})", bare=text)


def _cut(part: str, value: str) -> str:
    keep = {"hour": "hour({0}), 0, 0", "minute": "hour({0}), minute({0}), 0"}
    keep["second"] = "hour({0}), minute({0}), second({0})"
    rest = keep[part].format(value)
    return f"make_timestamp_ntz(year({value}), month({value}), day({value}), {rest})"


@function(3, 3, "date_diff", "datediff")
def date_diff(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    """How many borders of a unit lie between."""
    part = part_named(node, constant_text(node, arguments[0], "the part"))
    first, last = (_timed(node, piece) for piece in said(arguments[1:]))
    a, b = (f"CAST({piece.text} AS DATE)" for piece in (first, last))
    if part == "day":
        return Piece(f"CAST(datediff({b}, {a}) AS BIGINT)", "bigint")
    if part == "week":
        # Full weeks between, wherever they begin.
        weeks = f"datediff({b}, {a}) DIV 7"
        return Piece(f"({weeks})", "bigint")
    if part in ("year", "quarter", "month"):
        count = {
            "year": "year({0})",
            "quarter": "(year({0}) * 4 + quarter({0}))",
            "month": "(year({0}) * 12 + month({0}))",
        }[part]
        return Piece(f"CAST({count.format(b)} - {count.format(a)} AS BIGINT)", "bigint")
    if part in _SECONDS:
        size = _SECONDS[part] * 1_000_000
        counts = [f"({_microseconds(node, p)} + {_BEFORE}L) DIV {size}" for p in (last, first)]
        if "timestamp" in (first.type, last.type):
            raise refused(node, f"date_diff in {part}s of times with a zone", "cast to TIMESTAMP")
        unsure = [p for p in (first, last) if p.type is None]
        bad = [f"typeof({p.text}) = 'timestamp'" for p in unsure]
        what = f"date_diff in {part}s of times with a zone"
        text = f"({counts[0]} - {counts[1]})"
        return Piece(guarded(node, text, bad, what, "cast to TIMESTAMP"), "bigint")
    raise refused(node, f"date_diff in {part!r} is not translated", "use year to second")


@function(2, 2, "date_add")
def date_add(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    value, interval = arguments
    if not isinstance(interval, exp.Interval):
        raise refused(node, "date_add of something else than an INTERVAL", "use +")
    return added(node, value, interval, "+")


@function(2, 2, "strftime")
def strftime(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    value, form = arguments
    if isinstance(value, exp.Literal):
        value, form = form, value
    piece = _timed(node, say(value))
    return Piece(
        formatted(node, moment(node, piece), constant_text(node, form, "the format")), "string"
    )


@function(2, 2, "strptime")
def strptime(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    """A time of 1900, if the format has no year: Spark would take 1970."""
    form = constant_text(node, arguments[1], "the format")
    pattern = parsing_pattern(node, form)
    [value] = said(arguments[:1])
    text = value.text
    if not has_year(node, form):
        text, pattern = f"concat('1900 ', {text})", f"yyyy {pattern}"
    return Piece(f"to_timestamp_ntz({text}, {literal(pattern)})", "timestamp_ntz")


@rule(exp.AtTimeZone)
def at_time_zone(node: exp.Expr) -> Piece:
    """Gives a wall clock its zone, or takes it away: which of the two, the type says."""
    value = say(node.this)
    zone = constant_text(node, node.args["zone"], "the time zone")
    text = literal(zone)
    if value.type == "timestamp_ntz":
        there = later_elsewhere(f"convert_timezone({text}, 'UTC', {value.text})", text)
        micros = _microseconds(node, Piece(BOUND, "timestamp_ntz"))
        return Piece(bound(there, f"timestamp_micros({micros})"), "timestamp")
    if value.type == "timestamp":
        # The difference of two times would be one of wall clocks.
        seconds = f"CAST(unix_micros({value.text}) * 0.000001BD AS DECIMAL(18,6))"
        wall = f"{_EPOCH} + make_dt_interval(0, 0, 0, {seconds})"
        return Piece(f"convert_timezone('UTC', {text}, {wall})", "timestamp_ntz")
    raise refused(
        node, "AT TIME ZONE of a value of unknown type", "cast it to TIMESTAMP or TIMESTAMPTZ first"
    )
