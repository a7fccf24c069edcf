"""Which partitions a table's metadata says a filter can mean."""

from __future__ import annotations

import pytest

from tranche.lakes.predicates import Predicate
from tranche.lakes.pruning import Held, TableParts, table_parts
from tranche.model.asset import LakeTable

from .conftest import Bench

NINE = 9 * 3_600_000_000
DAY = 86_400_000_000


def parts(bench: Bench, *predicates: Predicate, name: str = "t") -> TableParts:
    table = LakeTable("main", name, bench.schema)
    snapshot = bench.engine.snapshots(table, limit=1).snapshots[0].id
    return table_parts(bench.engine._spark.open(), table, snapshot, predicates)


def numbers(held: Held) -> tuple[int, int, int]:
    return held.partitions, held.files, held.largest


@pytest.mark.slow
def test_identity_bucket_and_time_over_several_layouts(bench: Bench) -> None:
    bench.sql(
        "CREATE TABLE @t (k STRING, ts TIMESTAMP, d DATE) PARTITIONED BY (k, bucket(2, d), day(ts))"
    )
    insert = (
        "INSERT INTO @t SELECT /*+ REPARTITION(1) */ 'k' || (id % 2),"
        " timestamp_seconds(32400) + make_interval(0, 0, 0, CAST(id % 3 AS INT)), DATE'1970-01-02'"
        " FROM range(12)"
    )
    bench.sql(insert)
    bench.sql(insert)
    everything = parts(bench)
    assert everything.partitioned
    assert numbers(everything.every) == (6, 12, 2) == numbers(everything.likely)
    assert everything.every.bytes == sum(
        row["n"] for row in bench.sql("SELECT file_size_in_bytes AS n FROM @t.files")
    )

    keyed = Predicate("k", "=", ("k1",))
    one = parts(bench, keyed, Predicate("other", "=", ("1",)))
    assert numbers(one.certain) == numbers(one.likely) == (3, 6, 2)
    by_time = parts(bench, keyed, Predicate("ts", "<", (str(NINE + DAY),)))
    assert numbers(by_time.certain) == (3, 6, 2)
    assert numbers(by_time.likely) == (2, 4, 2)
    aligned = parts(bench, Predicate("ts", "<", (str(DAY),)), Predicate("ts", ">=", ("0",)))
    assert numbers(aligned.likely) == (2, 4, 2)
    several = parts(bench, Predicate("k", "=", ("k1", "it's", "k0")))
    assert numbers(several.certain) == (6, 12, 2)
    hashed = parts(bench, Predicate("d", "=", ("1",)))
    assert numbers(hashed.likely) == (6, 12, 2)
    others = [parts(bench, Predicate("d", "=", (str(day),))).likely.partitions for day in range(20)]
    assert set(others) == {0, 6}

    # Files of the layout before have no value for what came later, so that they stay possible.
    bench.sql("ALTER TABLE @t ADD PARTITION FIELD bucket(64, k)")
    bench.sql(insert)
    evolved = parts(bench, Predicate("k", "=", ("nobody",)))
    assert numbers(evolved.every) == (12, 18, 2)
    assert numbers(evolved.certain) == (0, 0, 0)
    dropped = Predicate("ts", "=", (str(NINE),))
    bench.sql("ALTER TABLE @t DROP PARTITION FIELD ts_day")
    bench.sql(insert)
    assert numbers(parts(bench, dropped).likely) == numbers(parts(bench).every)


def test_a_table_without_partitions(bench: Bench) -> None:
    bench.sql("CREATE TABLE @t (a INT)")
    bench.sql("INSERT INTO @t VALUES (1)")
    bench.sql("INSERT INTO @t VALUES (2)")
    found = parts(bench, Predicate("a", "=", ("1",)))
    assert not found.partitioned
    assert numbers(found.every) == (1, 2, 2)
