"""DuckDB's SQL gives DuckDB's rows: the corpus, in both engines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tranche.lakes.engine import SparkEngine

from .duckdb_corpus import (
    Corpus,
    batches,
    differences,
    expressions,
    queries,
    read,
    refusals,
    same,
    together,
)

QUERIES = queries()
QUICK = QUERIES[::3]


@pytest.fixture(scope="module")
def corpus(engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    session = engine._spark.open()
    yield Corpus(session, tmp_path_factory.mktemp("corpus"))
    session.conf.set("spark.sql.session.timeZone", "UTC")
    engine._spark.give_back(session, handed_out=True)


def compared(corpus: Corpus, items: list[str]) -> list[str]:
    """What differs between the engines, of expressions over the table `v`."""
    found: list[str] = []
    for batch in batches(items, 60):
        duck, spark = corpus.by_duckdb(together(batch)), corpus.by_spark(together(batch))
        for number, item in enumerate(batch, 1):
            if duck.types[number] != spark.types[number]:
                found.append(f"{item}: {duck.types[number]} {spark.types[number]}")
            values = [[row[number] for row in answer.rows] for answer in (duck, spark)]
            if not same(*values):
                found.append(f"{item}\n  duckdb: {values[0]}\n  spark:  {values[1]}")
    return found


def test_the_corpus_is_large_enough() -> None:
    assert len(expressions()) + len(QUERIES) >= 750
    assert len({text for _, text in (*expressions(), *QUERIES)}) >= 750


def test_expressions_are_equal(corpus: Corpus) -> None:
    corpus.in_zone("UTC")
    assert compared(corpus, [text for _, text in expressions()]) == []


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["Europe/Paris", "America/New_York", "Asia/Kathmandu"])
def test_times_are_equal_in_zones_with_odd_days(corpus: Corpus, zone: str) -> None:
    corpus.in_zone(zone)
    families = ("times", "casts")
    assert compared(corpus, [text for family, text in expressions() if family in families]) == []


@pytest.mark.parametrize("query", [text for _, text in QUICK])
def test_some_queries_are_equal(corpus: Corpus, query: str) -> None:
    corpus.in_zone("UTC")
    found = differences(query, corpus.by_duckdb(query), corpus.by_spark(query))
    assert list(found) == []


@pytest.mark.slow
@pytest.mark.parametrize("query", [text for _, text in QUERIES if (_, text) not in QUICK])
def test_all_queries_are_equal(corpus: Corpus, query: str) -> None:
    test_some_queries_are_equal(corpus, query)


@pytest.mark.parametrize(("query", "sentence"), refusals())
def test_what_is_refused_says_so(query: str, sentence: str) -> None:
    assert [f"{fault.what}; {fault.remedy}" for fault in read(query).faults] == [sentence]


@pytest.mark.parametrize(("query", "sentence"), refusals("raises.sql"))
def test_what_breaks_off_breaks_off_in_both(corpus: Corpus, query: str, sentence: str) -> None:
    with pytest.raises(Exception, match=r"Error: "):
        corpus.by_duckdb(query)
    with pytest.raises(Exception) as caught:
        corpus.by_spark(query)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(("query", "sentence"), refusals("refused_by_type.sql"))
def test_types_that_mean_another_thing_break_off(corpus: Corpus, query: str, sentence: str) -> None:
    assert corpus.by_duckdb(query).rows
    with pytest.raises(Exception) as caught:
        corpus.by_spark(query)
    assert sentence in str(caught.value)


@pytest.mark.slow
def test_no_letter_changes_its_case_in_another_way(corpus: Corpus, tmp_path: Path) -> None:
    """Where the engines disagree about a letter, Spark breaks off."""
    points = [n for n in range(1, 0x110000) if not 0xD800 <= n < 0xE000]
    file = tmp_path / "letters.parquet"
    corpus.duck.execute(
        "COPY (SELECT n, chr(n::INTEGER) AS s FROM (SELECT unnest($1) AS n))"
        f" TO '{file}' (FORMAT parquet)",
        [points],
    )
    corpus.duck.execute(f"CREATE OR REPLACE VIEW letters AS FROM '{file}'")
    corpus.spark.read.parquet(str(file)).createOrReplaceTempView("letters")
    rare = "ŉƛǰɤΐΰև\u1c8aẖẗẘẙẚὐὒὔὖ\ua7cd\ua7db\u1c89\ua7cb\ua7cc\ua7da\ua7dc"
    greek = "n NOT BETWEEN 8064 AND 8188 AND n NOT BETWEEN 64256 AND 64279"
    unknown = "n NOT BETWEEN 68944 AND 68997"
    query = (
        "SELECT n, upper(s) AS u, lower(s) AS l FROM letters"
        f" WHERE {greek} AND {unknown} AND NOT contains('{rare}', s)"
    )
    duck, spark = corpus.by_duckdb(query), corpus.by_spark(query)
    assert sorted(duck.rows) == sorted(spark.rows)
    for letter in rare[:3]:
        with pytest.raises(Exception, match="in another case"):
            corpus.by_spark(f"SELECT upper('{letter}') AS u")
