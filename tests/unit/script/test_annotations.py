"""The comment block at the top: every annotation, every option, and what is wrong with bad ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tranche.model.argument import Argument
from tranche.model.asset import ColumnRef, FileSet, LakeTable
from tranche.model.condition import AllOf, AnyOf, Asset, OwnSchedule
from tranche.model.data_test import (
    AcceptedValues,
    DataTest,
    NotNull,
    Relationship,
    ScriptTest,
    Unique,
)
from tranche.model.layout import Transform
from tranche.model.mapping import All, Identity, Product, StartOfDay, Trailing
from tranche.model.partitioning import (
    Composite,
    Daily,
    Dynamic,
    Hourly,
    Monthly,
    Quarterly,
    Static,
    Weekly,
    Yearly,
)
from tranche.model.script import Annotations, Lineage, Retry, Script
from tranche.model.strategy import Append, History, Manual, Materialize, Merge, Replace
from tranche.model.trigger import OnAsset, OnSchedule
from tranche.script.annotations import CommentLine, Header, read_header
from tranche.script.read import ScriptRead

ORDERS = LakeTable("main", "orders")
UNIQUE = DataTest(Unique("id"), "error", 3)


def header(*lines: str, below: tuple[str, ...] = ()) -> Header:
    """The header of a script whose first line is `pipeline`."""
    top = ["pipeline", *lines]
    return read_header(
        "s.sql",
        [CommentLine(number, f" {text}") for number, text in enumerate(top, 1)],
        [CommentLine(number, f" {text}") for number, text in enumerate(below, 20)],
    )


def annotations(*lines: str) -> Annotations:
    found = header(*lines)
    assert [str(fault) for fault in found.faults] == []
    return found.annotations


def messages(*lines: str, below: tuple[str, ...] = ()) -> list[str]:
    return [str(fault) for fault in header(*lines, below=below).faults]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("daily", Daily()),
        ("hourly", Hourly()),
        ("weekly", Weekly()),
        ("monthly", Monthly()),
        ("quarterly", Quarterly()),
        ("yearly", Yearly()),
        ('daily tz="Europe/Paris"', Daily(tz="Europe/Paris")),
        ("daily tz=Europe/Paris", Daily(tz="Europe/Paris")),
        ('daily format="%Y/%m/%d"', Daily(format="%Y/%m/%d")),
        (
            'daily start="2026-01-01" end="2026-12-31"',
            Daily(start="2026-01-01", end="2026-12-31"),
        ),
        ("weekly start=2026-W01", Weekly(start="2026-W01")),
        ("daily lag=1 lookback=3 gaps=collect", Daily(lag=1, lookback=3, gaps="collect")),
        ('dynamic key="$.a.b"', Dynamic("$.a.b")),
        ('static keys="us,eu, jp"', Static(["us", "eu", "jp"])),
        (r'static keys="a\"b,c\\d,x|y"', Static(['a"b', "c\\d", "x|y"])),
        (
            'day: daily lag=1 | region: static keys="us,e|u"',
            Composite([("day", Daily(lag=1)), ("region", Static(["us", "e|u"]))]),
        ),
    ],
)
def test_partitioned(line: str, expected: object) -> None:
    assert annotations(f"partitioned {line}").partitioning == expected


KINDS = "daily, hourly, weekly, monthly, quarterly, yearly, dynamic, static"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", f"'partitioned' has no kind; use {KINDS}"),
        ("dayly", "unknown kind 'dayly' in 'partitioned'; did you mean 'daily'?"),
        ("sometimes", f"unknown kind 'sometimes' in 'partitioned'; use {KINDS}"),
        ("daily UTC", "unexpected 'UTC' after 'partitioned daily'; write options as name=\"value\""),
        ("daily zone=UTC", "unknown option 'zone' in 'partitioned daily'; use tz, format, start, end, lag, lookback, gaps"),
        ("daily formt=%Y", "unknown option 'formt' in 'partitioned daily'; did you mean 'format'?"),
        ("daily tz=UTC tz=UTC", "option 'tz' is given twice; keep one of them"),
        ("daily tz=", "option 'tz' has no value; write tz=\"…\", or leave it out"),
        ('daily tz="UTC', "a quote is not closed in '\"UTC'; end it with \""),
        ("daily lag=-1", "lag is '-1'; give a whole number of periods, as in lag=1"),
        ("daily lookback=two", "lookback is 'two'; give a whole number of periods, as in lag=1"),
        ("daily gaps=fill", "unknown gaps 'fill'; use gaps=collect, or leave it out"),
        ("daily end=2026-01-01 start=2026-02-01", "end '2026-01-01' lies before start '2026-02-01'; swap them, or leave one out"),
        ("dynamic", "'partitioned dynamic' has no key; write key=\"$.path.to.value\""),
        ('dynamic key="a.b"', "dynamic key 'a.b' is no path: it does not begin with '$.'; use names with dots between them, such as '$.order.tenant'"),
        ('dynamic key="$.a[0]"', "dynamic key '$.a[0]' is no path: array indexes and brackets are not supported; use names with dots between them, such as '$.order.tenant'"),
        ('dynamic key="$.*"', "dynamic key '$.*' is no path: wildcards are not supported; use names with dots between them, such as '$.order.tenant'"),
        ('dynamic key="$.a?(@.b)"', "dynamic key '$.a?(@.b)' is no path: filters are not supported; use names with dots between them, such as '$.order.tenant'"),
        ("dynamic tz=UTC", "unknown option 'tz' in 'partitioned dynamic'; use key"),
        ("static", "'partitioned static' has no keys; write keys=\"a,b,c\""),
        ('static keys="a,,b"', "keys has an empty item in 'a,,b'; separate items by one comma"),
        ('static keys="a,a"', "static keys hold 'a' more than once; give each key once"),
        ("day: daily | weekly", "the dimension 'weekly' has no name; write name: kind …, as in day: daily | region: static keys=\"us,eu\""),
        ("day: daily", "a composite partitioning needs two dimensions, and this has 1; use the one as it is, or add another"),
        ("d: daily | d: weekly", "two dimensions are named 'd'; give each its own name"),
    ],
)  # fmt: skip
def test_bad_partitioned(line: str, message: str) -> None:
    assert messages(f"partitioned {line}") == [f"s.sql:2: {message}"]


@pytest.mark.parametrize(
    ("line", "start"),
    [
        ("daily tz=Mars/Base", "s.sql:2: unknown time zone 'Mars/Base'; "),
        ("daily start=soon", "s.sql:2: start 'soon' is no "),
        ('daily format="%d"', "s.sql:2: format '%d' does not identify a day"),
    ],
)
def test_faults_of_the_partitioning_itself_are_located(line: str, start: str) -> None:
    [message] = messages(f"partitioned {line}")
    assert message.startswith(start)


def test_the_first_partitioned_line_wins_with_a_warning() -> None:
    found = header("partitioned daily", "partitioned hourly")
    assert found.annotations.partitioning == Daily()
    assert found.warnings == ["s.sql:3: a second 'partitioned' line is ignored, line 2 wins"]
    assert found.faults == []


def test_a_second_partitioned_line_that_does_not_parse_is_a_fault_all_the_same() -> None:
    assert len(messages("partitioned daily", "partitioned dayly")) == 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("lake://main/orders", OnAsset(ORDERS, line=2)),
        ("ducklake://main/orders", OnAsset(ORDERS, line=2)),
        ("lake://main/raw.orders", OnAsset(LakeTable("main", "orders", "raw"), line=2)),
        ("s3:///raw/{partition}/o.json", OnAsset(FileSet("s3", "/raw/{partition}/o.json"), line=2)),
        ("lake://main/orders map=all", OnAsset(ORDERS, All(), line=2)),
        ("lake://main/orders map=trailing(7)", OnAsset(ORDERS, Trailing(7), line=2)),
        (
            "lake://main/orders map=product(identity, start_of_day)",
            OnAsset(ORDERS, Product(Identity(), StartOfDay()), line=2),
        ),
        ("lake://main/orders wait=any", OnAsset(ORDERS, wait="any", line=2)),
        ("lake://main/orders wait=all", OnAsset(ORDERS, wait="all", line=2)),
        ("lake://main/orders wait=3", OnAsset(ORDERS, wait=3, line=2)),
        ('lake://main/orders deadline="06:00"', OnAsset(ORDERS, deadline="06:00", line=2)),
        ("lake://main/orders on_rerun=stale", OnAsset(ORDERS, on_rerun="stale", line=2)),
        ('schedule "0 6 * * 1-5"', OnSchedule("0 6 * * 1-5", line=2)),
        ('schedule "@daily"', OnSchedule("@daily", line=2)),
        (
            'schedule "0 6 * * *" tz="Asia/Tokyo" offset=-12 catchup=latest',
            OnSchedule("0 6 * * *", "Asia/Tokyo", -12, "latest", 2),
        ),
    ],
)
def test_on(line: str, expected: object) -> None:
    assert annotations(f"on {line}").triggers == (expected,)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "'on' names nothing; write on <uri> or on schedule"),
        ("Mondays", "'Mondays' is no address; write lake://<lake>/<table>, file:///… or s3:///…"),
        ("lake://main/a lake://main/b", "unexpected 'lake://main/b' after 'on lake://main/a'; write one address a line; if this is prose, begin it with another word"),
        ("http://x/y", "unknown scheme 'http://' in 'http://x/y'; use one of lake://, ducklake://, file://, s3://, job://"),
        ("lake://main", "'lake://main' names no table; write lake://<lake>/<table>"),
        ("s3://bucket/x", "'s3://bucket/x' names no file; write s3:///<path>, with three slashes"),
        ("lake://main/a mapp=all", "unknown option 'mapp' in 'on'; did you mean 'map'?"),
        ("lake://main/a map=everything", "unknown mapper 'everything' in 'map'; use identity, start_of_hour, start_of_day, start_of_week, start_of_month, start_of_quarter, start_of_year, product, allowed, fixed, offset, trailing, fan_out, rollup, last, all, all_before"),
        ("lake://main/a map=trailing", "trailing has 0 arguments; it takes 1"),
        ("lake://main/a map=trailing(x)", "trailing(x) needs a number; write trailing(7)"),
        ("lake://main/a map=trailing(7", "map=trailing(7 is not closed; add )"),
        ("lake://main/a map=fixed()", "map=fixed() has an empty argument; give a value"),
        ("lake://main/a map=all)x", "unexpected ')x' in map=all)x; close it after the mapper"),
        ("lake://main/a map=product(all)", "product has 1 arguments; it takes at least 2"),
        ("lake://main/a map=(", "map=( does not parse; write map=<mapper>, as in map=start_of_day"),
        ("lake://main/a wait=0", "wait=0 does not parse; use any, all, or a number that is not 0"),
        ("lake://main/a wait=some", "wait=some does not parse; use any, all, or a number that is not 0"),
        ("lake://main/a deadline=6pm", "deadline '6pm' is no time of day; write it as deadline=\"06:00\""),
        ("lake://main/a deadline=24:00", "deadline '24:00' is no time of day; write it as deadline=\"06:00\""),
        ("lake://main/a on_rerun=maybe", "unknown on_rerun 'maybe'; use refresh or stale or ignore"),
        ("schedule 0 6 * * *", "unexpected '6' in 'on schedule'; put the whole cron in quotes, as in on schedule \"0 6 * * *\""),
        ('schedule "61 * * * *"', "'61 * * * *' is no cron; write five fields, as in \"0 6 * * 1-5\" for 06:00 on weekdays"),
        ('schedule "* * * * * *"', "'* * * * * *' is no cron; write five fields, as in \"0 6 * * 1-5\" for 06:00 on weekdays"),
        ('schedule "0 6 * * *" offset=x', "offset 'x' is no number; count cron steps, as in offset=-12"),
        ("schedule tz=UTC", "tz= and offset= belong to a cron; write on schedule \"<cron>\" tz=… or leave them out"),
        ('schedule "0 6 * * *" catchup=some', "unknown catchup 'some'; use all or latest or none"),
        ("schedule", "'on schedule' without a cron fires at each period's start, and there is no period; add a partitioned line of a time kind, or a cron, as in on schedule \"0 6 * * *\""),
    ],
)  # fmt: skip
def test_bad_on(line: str, message: str) -> None:
    assert messages(f"on {line}") == [f"s.sql:2: {message}"]


def test_a_schedule_without_cron_needs_a_time_kind() -> None:
    assert annotations("on schedule", "partitioned daily").triggers == (OnSchedule(line=2),)
    assert annotations("on schedule", 'partitioned d: daily | r: static keys="a"').triggers
    for other in ('static keys="a"', 'dynamic key="$.a"'):
        assert len(messages("on schedule", f"partitioned {other}")) == 1


def test_trigger_all() -> None:
    on = "on lake://main/a", "on schedule", "on lake://main/b", "partitioned daily"
    a, schedule, b = Asset("lake://main/a"), OwnSchedule(), Asset("lake://main/b")
    assert annotations(*on, "trigger all").condition == AllOf((a, schedule, b))
    assert annotations(*on).condition == AnyOf((a, schedule, b))
    assert annotations("on lake://main/a", "trigger all").condition == a
    assert annotations("trigger all").condition is None
    assert messages("trigger any") == [
        "s.sql:2: 'trigger any' is what holds without the line; leave it out, or write trigger all,"
        " or trigger (lake://main/a & lake://main/b) | lake://main/c"
    ]
    twice = header(*on, "trigger all", "trigger lake://main/a")
    assert twice.annotations.condition == AllOf((a, schedule, b))
    assert [str(f) for f in twice.faults] == [
        "s.sql:7: a second 'trigger' line, the first is line 6; keep one"
    ]


@pytest.mark.parametrize(
    ("line", "strategy"),
    [
        ("lake://main/orders", Replace()),
        ("lake://main/orders append", Append()),
        ("append lake://main/orders", Append()),
        ("lake://main/orders key=id", Merge(("id",))),
        ('lake://main/orders key="id, day"', Merge(("id", "day"))),
        ("lake://main/orders key=id history", History(("id",))),
        ("scd2 lake://main/orders key=id", History(("id",))),
        (
            "lake://main/orders key=id history track=a,b deletes=close at=ts",
            History(("id",), ("a", "b"), True, "ts"),
        ),
        ("manual lake://main/orders", Manual()),
    ],
)
def test_materialize(line: str, strategy: object) -> None:
    made = annotations(f"materialize {line}").materialize
    assert made == Materialize(ORDERS, strategy)  # type: ignore[arg-type]


def test_materialize_takes_a_schema_policy_and_manual_takes_files() -> None:
    made = annotations("materialize lake://main/orders on_schema_change=sync").materialize
    assert made is not None and made.on_schema_change == "sync"
    assert annotations("materialize manual s3:///a/{partition}").materialize == Materialize(
        FileSet("s3", "/a/{partition}"), Manual()
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "'materialize' needs one address; write materialize lake://<lake>/<table>"),
        ("lake://main/a lake://main/b", "'materialize' needs one address; write materialize lake://<lake>/<table>"),
        ("lake://main/a upsert", "unknown strategy 'upsert' in 'materialize'; use key=<col> for merge, append, or history; replace is the default"),
        ("lake://main/a appendd", "unknown word 'appendd' in 'materialize'; did you mean 'append'?"),
        ("lake://main/a keys=id", "unknown option 'keys' in 'materialize'; did you mean 'key'?"),
        ("lake://main/a key=id,", "key has an empty item in 'id,'; separate items by one comma"),
        ("lake://main/a key=id,id", "key names a column twice: id,id; name each column once"),
        ("lake://main/a history", "history needs a key; add key=<col> to name what identifies a row"),
        ("lake://main/a key=id track=b", "track= goes with history only; add history, or leave it out"),
        ("lake://main/a key=id history append", "append and history exclude each other; keep one of them"),
        ("lake://main/a key=id history track=id", "track names the key column 'id'; track other columns"),
        ("lake://main/a key=valid_to history", "'valid_to' is a column of history itself; use another column"),
        ("lake://main/a key=id history deletes=keep", "unknown deletes 'keep'; use close"),
        ("manual lake://main/a key=id", "'manual' goes with no strategy; write materialize manual <uri> and nothing else"),
        ("lake://main/a on_schema_change=cry", "unknown on_schema_change 'cry'; use fail or warn or sync or ignore"),
        ("lake://main/a.b.c", "'lake://main/a.b.c' is no table address; write lake://<lake>/<table> or lake://<lake>/<schema>.<table>, with letters, digits and underscores"),
        ("s3:///a/b", "s3:///a/b is a file set, and Tranche writes tables of lakes; use lake://<lake>/<table>, or write it yourself with materialize manual"),
        ("lake://main/a key=id history at=partition", "at=partition in a script without partitions; add a partitioned line"),
    ],
)  # fmt: skip
def test_bad_materialize(line: str, message: str) -> None:
    assert messages(f"materialize {line}") == [f"s.sql:2: {message}"]


def test_append_wins_over_a_key_with_a_warning() -> None:
    found = header("materialize lake://main/orders append key=id")
    assert found.annotations.materialize == Materialize(ORDERS, Append())
    assert found.warnings == ["s.sql:2: append wins over key=: rows are inserted, not merged"]


def test_history_of_a_partitioned_script_takes_its_time_from_the_key() -> None:
    made = "materialize lake://main/orders key=id history"
    assert annotations(f"{made} at=partition", "partitioned daily").materialize
    assert messages(made, "partitioned daily") == [
        "s.sql:2: history keeps the versions of a whole table, and the script is partitioned;"
        " add at=partition to take each version's time from its key"
    ]


MADE = "materialize lake://main/orders"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("bucket(8, user_id)", (Transform("bucket", "user_id", 8),)),
        ("month(ts), country", (Transform("month", "ts"), Transform("identity", "country"))),
        ("identity(a), BUCKET( 2 ,`an (odd), one`)", (Transform("identity", "a"), Transform("bucket", "an (odd), one", 2))),
        ('month("my day"), `a``b`', (Transform("month", "my day"), Transform("identity", "a`b"))),
        ("year(a),day(b) , hour(c)", tuple(Transform(n, c) for n, c in (("year", "a"), ("day", "b"), ("hour", "c")))),
    ],
)  # fmt: skip
def test_layout(line: str, expected: object) -> None:
    assert annotations(MADE, f"layout {line}").layout == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "the layout does not parse at ''; write it as bucket(8, user_id), month(ts)"),
        ("buckets(8, a)", "unknown transform 'buckets' in 'layout'; did you mean 'bucket'?"),
        ("bucket(a)", "bucket(a) does not parse; write bucket(<number>, <column>)"),
        ("bucket(0, a)", "bucket(0, …) has no buckets; give at least one"),
        (
            "bucket(4294967296, a)",
            "bucket(4294967296, …) has too many buckets; give at most 2147483647",
        ),
        ("bucket(8, a.b)", "bucket(8, a.b) does not parse; write bucket(<number>, <column>)"),
        ("month(a, b)", "month(a, b) does not parse; write month(<column>)"),
        (
            "a, day(_Tranche_Partition)",
            "the layout names _tranche_partition, which Tranche manages; leave it out; a table with slices is always laid out by them",
        ),
        ("month()", "month() does not parse; write month(<column>)"),
        ("month(a) day(b)", "unexpected 'day(b)' in the layout; separate transforms by commas"),
        ("a, a", "the layout names a transform twice; name each once"),
        ("month(a", "unexpected '(a' in the layout; separate transforms by commas"),
    ],
)
def test_bad_layout(line: str, message: str) -> None:
    assert messages(MADE, f"layout {line}") == [f"s.sql:3: {message}"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("unique id", UNIQUE),
        ("not_null id", DataTest(NotNull("id"), "error", 3)),
        ("accepted_values status = paid, open", DataTest(AcceptedValues("status", ("paid", "open")), "error", 3)),
        ("accepted_values status=paid", DataTest(AcceptedValues("status", ("paid",)), "error", 3)),
        ("relationships id -> lake://main/raw.orders.id", DataTest(Relationship("id", ColumnRef(LakeTable("main", "orders", "raw"), "id")), "error", 3)),
        ("unique id severity=warn", DataTest(Unique("id"), "warn", 3)),
        ("unique id severity=error", UNIQUE),
        ("accepted_values s = a,b severity=warn", DataTest(AcceptedValues("s", ("a", "b")), "warn", 3)),
        ("tests/no_refunds severity=warn", DataTest(ScriptTest("tests/no_refunds"), "warn", 3)),
    ],
)  # fmt: skip
def test_data_test(line: str, expected: object) -> None:
    assert annotations(MADE, f"data_test {line}").data_tests == (expected,)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "'data_test' names no test; use unique, not_null, accepted_values, relationships, or a script"),
        ("unique", "'data_test unique' does not parse; write data_test unique <column>"),
        ("unique a, b", "'data_test unique' does not parse; write data_test unique <column>"),
        ("not_null", "'data_test not_null' does not parse; write data_test not_null <column>"),
        ("accepted_values s", "'data_test accepted_values' does not parse; write data_test accepted_values <column> = a,b,c"),
        ("accepted_values s =", "accepted_values has an empty item in ''; separate items by one comma"),
        ("relationships c", "'data_test relationships' does not parse; write data_test relationships <column> -> <uri>.<column>"),
        ("relationships c -> orders.id", "'orders.id' names no column; write <uri>.<column>"),
        ("uniqe id", "unknown test 'uniqe' in 'data_test'; did you mean 'unique'?"),
        ("unique id severity=mild", "unknown severity 'mild'; use warn or error"),
        ("unique id severity=warn x", "unexpected 'x' after severity; put severity last"),
    ],
)  # fmt: skip
def test_bad_data_test(line: str, message: str) -> None:
    assert messages(MADE, f"data_test {line}") == [f"s.sql:3: {message}"]


@pytest.mark.parametrize("made", ["materialize manual lake://main/orders", "retry 1"])
def test_data_tests_and_layouts_need_a_managed_table(made: str) -> None:
    remedy = "add a materialize line that is not manual, or remove the"
    assert messages(made, "layout a", "data_test unique id") == [
        f"s.sql:4: data tests need a table that Tranche writes; {remedy} tests",
        f"s.sql:3: a layout needs a table that Tranche writes; {remedy} layout",
    ]


def test_column_lineage_takes_the_last_segment_as_the_column() -> None:
    raw = LakeTable("main", "orders", "raw")
    assert annotations(
        "column total <- lake://main/raw.orders.amount, lake://main/orders.tax"
    ).lineage == (Lineage("total", (ColumnRef(raw, "amount"), ColumnRef(ORDERS, "tax"))),)


@pytest.mark.parametrize(
    "line", ["", "total", "total <-", "<- lake://main/a.b", "a b <- lake://main/a.b"]
)
def test_bad_column(line: str) -> None:
    assert messages(f"column {line}") == [
        "s.sql:2: 'column' does not parse; write column <out> <- <uri>.<col>[, <uri>.<col> …]"
    ]


def test_a_column_source_needs_an_address() -> None:
    assert messages("column a <- orders.b") == [
        "s.sql:2: 'orders.b' names no column; write <uri>.<column>"
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("$a (string)", Argument("a", "string", None, True, 2)),
        ("$a (text) = x y", Argument("a", "string", "x y", False, 2)),
        ("$a(INT)=5", Argument("a", "int", "5", False, 2)),
        ("$a (decimal(10, 2)) = 1.50", Argument("a", "decimal(10,2)", "1.50", False, 2)),
        ("$a (date) = '2026-01-01'", Argument("a", "date", "2026-01-01", False, 2)),
        ('$a (string) = "a = (b)"', Argument("a", "string", "a = (b)", False, 2)),
        ("$a (string) = 'it''s'", Argument("a", "string", "it's", False, 2)),
        ("$a (date) = NULL", Argument("a", "date", None, False, 2)),
        ("$partition (date)", Argument("partition", "date", None, True, 2)),
    ],
)
def test_arguments(line: str, expected: object) -> None:
    assert annotations(line).arguments == (expected,)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("$a", "'$a' does not parse; write $name (type) or $name (type) = default"),
        ("$a int", "'$a int' does not parse; write $name (type) or $name (type) = default"),
        ("$é (int)", "'$é (int)' does not parse; write $name (type) or $name (type) = default"),
        ("$a (map)", "unknown type 'map' of $a; use string, tinyint, smallint, int, bigint, float, double, decimal(p,s), date, timestamp, timestamp_ntz, boolean"),
        ("$a (int) = five", "the default 'five' of $a is no int; give a whole number of 32 bits"),
        ("$a (date) = 16 May", "the default '16 May' of $a is no date; give a date, as 2026-05-16"),
        ("$a (boolean) = yes", "the default 'yes' of $a is no boolean; give true or false"),
    ],
)  # fmt: skip
def test_bad_arguments(line: str, message: str) -> None:
    assert messages(line) == [f"s.sql:2: {message}"]


def test_an_argument_is_declared_once() -> None:
    assert messages("$a (int)", "$b (int)", "$a (int)") == [
        "s.sql:4: $a is declared twice; declare it once"
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("3", Retry(3)),
        ("3 delay=10s", Retry(3, 10.0)),
        ("1 delay=500ms", Retry(1, 0.5)),
        ("1 delay=2m", Retry(1, 120.0)),
        ("1 delay=1h", Retry(1, 3600.0)),
    ],
)
def test_retry(line: str, expected: Retry) -> None:
    assert annotations(f"retry {line}").retry == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "'retry' needs a number of tries; write it as retry 3 delay=10s"),
        ("0", "'retry' needs a number of tries; write it as retry 3 delay=10s"),
        ("often", "'retry' needs a number of tries; write it as retry 3 delay=10s"),
        ("3 delay=soon", "delay 'soon' is no time; write it as delay=10s, 500ms, 2m or 1h"),
        ("3 wait=10s", "unknown option 'wait' in 'retry'; use delay"),
    ],
)
def test_bad_retry(line: str, message: str) -> None:
    assert messages(f"retry {line}") == [f"s.sql:2: {message}"]


def test_dialect_reads_and_writes() -> None:
    found = annotations(
        "dialect duckdb", "reads lake://main/a", "reads s3:///b", "writes lake://main/c"
    )
    assert found.dialect == "duckdb"
    assert annotations("dialect spark").dialect == "spark"
    assert found.reads == (LakeTable("main", "a"), FileSet("s3", "/b"))
    assert found.writes == (LakeTable("main", "c"),)
    assert messages("dialect oracle", "reads a", "writes") == [
        "s.sql:2: unknown dialect 'oracle'; use spark or duckdb",
        "s.sql:3: 'a' is no address; write lake://<lake>/<table>, file:///… or s3:///…",
        "s.sql:4: '' is no address; write lake://<lake>/<table>, file:///… or s3:///…",
    ]


@pytest.mark.parametrize(
    "word", ["materialize lake://main/a", "layout a", "retry 1", "dialect spark"]
)
def test_other_annotations_stand_once(word: str) -> None:
    lines = (word, word) if word.startswith("mat") else (MADE, word, word)
    name, last = word.split()[0], len(lines) + 1
    assert messages(*lines) == [
        f"s.sql:{last}: a second '{name}' line, the first is line {last - 1}; keep one"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Pull one day of orders. `'{partition}'` is the day.",
        "On Mondays the file is late.",
        "partitioned, materialize and so on are annotations",
        "pipelines are great",
        "the column total",
        "",
        "=====",
        "costs $1 a day",
    ],
)
def test_prose_is_ignored(line: str) -> None:
    assert annotations(line) == annotations()


def test_pipeline_stands_alone() -> None:
    assert messages("pipeline for orders") == [
        "s.sql:2: unexpected 'for orders' after 'pipeline'; leave it alone on its line;"
        " if this is prose, begin it with another word"
    ]


def test_a_tab_separates_words_too(script: Callable[[str], Script]) -> None:
    found = script("--\tpipeline\n--\tpartitioned\tdaily\ttz=UTC\nSELECT 1")
    assert found.partitioning == Daily()


def test_no_pipeline_line(faults: Callable[[str], list[str]]) -> None:
    message = (
        "the script has annotations and no 'pipeline' line;"
        " begin the block with a comment that says pipeline"
    )
    assert faults("-- a script\n-- on lake://main/a\n-- partitioned daily\nSELECT 1") == [
        f"s.sql:2: {message}"
    ]
    assert faults("-- partitioned daily\n-- retry x\nSELECT 1")[0] == f"s.sql:1: {message}"


@pytest.mark.parametrize("text", ["", "SELECT 1", "-- some prose\nSELECT 1", "SELECT 'unclosed"])
def test_a_file_without_annotations_is_no_script(
    text: str, read: Callable[[str], ScriptRead]
) -> None:
    assert read(text) == ScriptRead(None)


@pytest.mark.parametrize(
    "line",
    [
        "pipeline", "partitioned daily", "materialize lake://main/a", "data_test unique id",
        "layout month(ts)", "on lake://main/a", "on schedule", "trigger all", "retry 3",
        "column a <- lake://main/a.b", "reads lake://main/a", "writes lake://main/a",
        "dialect duckdb", "$a (int)",
    ],
)  # fmt: skip
def test_an_annotation_below_the_first_statement_is_a_fault(line: str) -> None:
    assert messages(below=(line,)) == [
        f"s.sql:20: the annotation '{line.split()[0]}' stands below the first statement; move it"
        " into the comment block at the top; if this is prose, begin it with another word"
    ]


@pytest.mark.parametrize(
    "line",
    ["partitioned by day", "layout", "layout ok", "data_test me", "on purpose", "retry later"],
)
def test_prose_below_the_first_statement_is_ignored(line: str) -> None:
    assert messages(below=(line,)) == []


def test_a_file_whose_annotations_all_stand_below_is_not_dropped_in_silence(
    faults: Callable[[str], list[str]],
) -> None:
    text = "SET x = 1;\n-- pipeline\n-- partitioned daily\nSELECT 1"
    assert [message.partition(" stands")[0] for message in faults(text)] == [
        "s.sql:2: the annotation 'pipeline'",
        "s.sql:3: the annotation 'partitioned'",
    ]


def test_all_faults_come_together_in_order(faults: Callable[[str], list[str]]) -> None:
    text = (
        "-- pipeline\n-- on nowhere\n-- partitioned dayly\n-- materialize lake://mian/a\n"
        "-- column a <- lake://nope/t.c\n-- reads lake://nope/a\n"
        "SELECT '{partition}x', $y FROM zzz.t\n-- partitioned daily\n"
    )
    found = faults(text)
    assert [int(message.split(":")[1]) for message in found] == [2, 3, 4, 5, 6, 7, 7, 7, 8]
    assert found[2] == "s.sql:4: unknown lake 'mian'; did you mean 'main'?"
    assert found[4] == "s.sql:6: unknown lake 'nope'; the lakes are main, other"


def test_a_header_remembers_lines(script: Callable[[str], Script]) -> None:
    found: Any = script(
        "-- pipeline\n--\n-- partitioned daily\n-- materialize lake://main/a\nSELECT 1"
    )
    assert found.annotations.line("materialize") == 4
    assert found.annotations.line("partitioned") == 3


def test_a_word_that_looks_like_an_annotation_gets_a_warning() -> None:
    lines = [CommentLine(1, " pipeline"), CommentLine(2, " materialise lake://main/a")]
    header = read_header("pipelines/a.sql", lines, [])
    assert header.warnings == [
        "pipelines/a.sql:2: 'materialise' is no annotation; did you mean 'materialize'?"
    ]


@pytest.mark.parametrize(
    "trigger", ["trigger all", "trigger lake://main/a & lake://main/b", "retry 1"]
)
def test_mappers_that_make_different_keys_never_meet(trigger: str) -> None:
    quarter, week = "on lake://main/a map=start_of_quarter", "on lake://main/b map=start_of_week"
    assert messages(quarter, week, trigger) == [
        "s.sql:3: map=start_of_week makes other keys than map=start_of_quarter of line 2, so that"
        " they never meet; use the same mapper, or add a partitioned line that says what the keys are"
    ]


def test_keys_that_no_list_can_hold() -> None:
    assert messages("on lake://main/a map=allowed('x, y')") == [
        "s.sql:2: map=allowed('x, y'): 'x, y' cannot be a static key: commas separate the keys;"
        " give it another name"
    ]
