"""`describe()` of any partitioning is an annotation that means it again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tranche.errors import PartitioningError
from tranche.model.partitioning import Composite, Dynamic, Partitioning, Static
from tranche.script.lakes import Lakes
from tranche.script.partitioned import TIME_KINDS, parse_partitioned
from tranche.script.sql import read_sql_script

LAKES = Lakes(frozenset({"main"}), "main")
texts = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=12)


@st.composite
def time_kinds(draw: st.DrawFn) -> Partitioning:
    kind = draw(st.sampled_from(sorted(TIME_KINDS)))
    return TIME_KINDS[kind](
        tz=draw(st.sampled_from(["UTC", "Europe/Paris", "Asia/Kolkata", "America/New_York"])),
        format=draw(st.sampled_from([None, "%Y%m%dT%H", 'a"%Y\\%m|%d %H%V%G%q%u'])),
        start=draw(st.sampled_from([None, "2026-01-01"])),
        end=draw(st.sampled_from([None, "2026-12-31"])),
        lag=draw(st.integers(0, 3)),
        lookback=draw(st.integers(0, 3)),
        gaps=draw(st.sampled_from([None, "collect"])),
    )


def static(keys: list[str]) -> Static | None:
    try:
        return Static(keys)
    except PartitioningError:
        return None


statics = st.lists(texts, min_size=1, max_size=4, unique=True).map(static).filter(bool)
dynamics = st.lists(st.from_regex(r"[A-Za-z_-]{1,8}", fullmatch=True), min_size=1, max_size=3).map(
    lambda path: Dynamic(f"$.{'.'.join(path)}")
)
single = st.one_of(time_kinds(), statics, dynamics)
composites = st.lists(single, min_size=2, max_size=3).map(
    lambda rules: Composite([(f"d{n}", rule) for n, rule in enumerate(rules)])
)


@given(st.one_of(single, composites))
def test_a_description_parses_back(rule: Partitioning) -> None:
    assert parse_partitioned(rule.describe()) == rule


@given(st.one_of(single, composites))
def test_a_description_survives_a_whole_script(rule: Partitioning) -> None:
    read = read_sql_script(
        "s", "s.sql", f"-- pipeline\n-- partitioned {rule.describe()}\nSELECT 1", LAKES
    )
    assert read.faults == ()
    assert read.script is not None and read.script.partitioning == rule


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    read = read_sql_script("s", "s.sql", f"-- pipeline\n{text}", LAKES)
    assert read.script is not None or read.faults


words = st.sampled_from(
    ["SELECT", "FROM", "a", "main.b", "'{partition}'", "'x{partition}'", "$p", "(", ")", ";", ",", "--", "/*", "*/",
     "'", '"', "`", "\n", "read_json", "||", "=>", "CREATE", "TEMP", "VIEW", "AS", "WITH", "INSERT INTO", "1", "{", "}",
     "partition", "ATTACH", "DATE", "::", "ALTER TABLE", "MERGE", "SET", "/*+", "WHERE", "VALUES", "CACHE TABLE"]
)  # fmt: skip


@given(st.lists(words, max_size=14), st.sampled_from(["", "manual "]))
def test_no_statement_breaks_the_reader(parts: list[str], manual: str) -> None:
    head = f"-- pipeline\n-- partitioned daily\n-- materialize {manual}lake://main/out\n"
    read = read_sql_script("s", "s.sql", head + " ".join(parts), LAKES)
    assert read.script is not None or read.faults
