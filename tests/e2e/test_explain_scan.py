"""What a SELECT reads, as `explain --scan` tells it from a real run that writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Shell

pytestmark = pytest.mark.spark

DAY = "2026-05-03"
TABLES = """\
-- pipeline
-- materialize manual lake://main/days
CREATE TABLE days (id INT, _tranche_partition STRING) PARTITIONED BY (_tranche_partition);
INSERT INTO days SELECT /*+ REPARTITION(1) */ 1, '2026-05-0' || id FROM range(1, 6);
CREATE TABLE many (id INT, _tranche_partition STRING) PARTITIONED BY (_tranche_partition);
INSERT INTO many SELECT /*+ REPARTITION(1) */ 1, '2026-05-0' || id FROM range(1, 6);
INSERT INTO many SELECT /*+ REPARTITION(1) */ 100, '2026-05-0' || id FROM range(1, 6);
CREATE TABLE plain (id INT);
INSERT INTO plain SELECT /*+ REPARTITION(1) */ CAST(id AS INT) FROM range(10);
INSERT INTO plain VALUES (3);
CREATE TABLE counted (id INT);
INSERT INTO counted VALUES (1);
"""
LAID = """\
-- pipeline
-- materialize lake://main/laid
-- layout bucket(4, name), day(ts)
SELECT 'n' || n.id AS name,
       TIMESTAMP '2026-05-01 12:00:00' + make_interval(0, 0, 0, CAST(d.id AS INT)) AS ts
FROM range(40) AS n, range(5) AS d
"""
READS = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/never
SET spark.sql.shuffle.partitions = 1;
CREATE TEMPORARY VIEW one_day AS SELECT * FROM days WHERE _tranche_partition = '{partition}';
SELECT id FROM one_day
UNION ALL SELECT id FROM many WHERE _tranche_partition = '{partition}'
UNION ALL SELECT id FROM many WHERE _tranche_partition = '{partition}' AND id >= 100
UNION ALL SELECT 1 FROM laid WHERE CAST(ts AS DATE) = '{partition}'
UNION ALL SELECT 1 FROM laid WHERE name = 'n1'
UNION ALL SELECT 1 FROM laid WHERE name = 'n1' AND ts >= '2026-05-03' AND ts < '2026-05-04'
UNION ALL SELECT id FROM plain
UNION ALL SELECT id FROM read_json('data/' || '*.json', schema => 'id INT')
UNION ALL SELECT CAST(count(*) AS INT) FROM counted
UNION ALL SELECT id FROM days
          WHERE _tranche_partition IN (SELECT '2026-05-0' || id FROM plain WHERE id = 3)
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("scan") / "shop"
    folder.mkdir()
    shell = Shell(folder, {"TMPDIR": str(tmp_path_factory.mktemp("tmp"))})
    shell.quick()
    shell.write("pipelines/make/tables.sql", TABLES)
    shell.write("pipelines/make/laid.sql", LAID)
    shell.write("pipelines/reads.sql", READS)
    shell.write("pipelines/first.sql", "-- pipeline\nSELECT id FROM many LIMIT 1")
    for number in range(3):
        shell.write(f"data/{number}.json", '{"id": 1}\n')
    shell.json("run", "make")
    yield shell
    assert not list(Path(shell.env["TMPDIR"]).glob("tranche-events-*"))


def portion(read: int | None, of: int | None, at_most: int | None = None) -> dict[str, Any]:
    return {"read": read, "at_most": read if at_most is None else at_most, "of": of}


@pytest.mark.slow
def test_files_and_partitions_that_are_read(shop: Shell) -> None:
    found = shop.json("explain", "reads", "-p", DAY, "--scan")
    assert [s["kind"] for s in found["statements"]] == ["setup", "setup", "select"]
    assert "VERSION AS OF" in found["statements"][1]["text"]
    scans = [(s["source"], s["files"], s["partitions"], s["rows"]) for s in found["scans"]]

    def scanned(source: str) -> list[Any]:
        return [rest for name, *rest in scans if name == source]

    assert scanned("lake://main/days") == [
        [portion(1, 5), portion(1, 5), 1],
        # What a subquery finds leaves files out only while the query runs.
        [portion(1, 5), portion(1, 5), 1],
    ]
    assert scanned("lake://main/many") == [
        [portion(2, 10), portion(1, 5), 2],
        [portion(1, 10), portion(1, 5), 1],
    ]
    by_time, by_name, by_both = scanned("lake://main/laid")
    assert by_time == [portion(4, 20), portion(4, 20), 40]
    assert by_name[:2] == [portion(5, 20), portion(5, 20)]
    assert by_both[:2] == [portion(1, 20), portion(1, 20)]
    assert scanned("lake://main/plain") == [
        [portion(2, 2), None, 11],
        [portion(2, 2), None, 11],
    ]
    assert scanned("lake://main/counted") == [[portion(0, 1), None, 0]]
    assert scanned("json data/0.json, data/1.json, data/2.json") == [[portion(3, 3), None, 3]]
    assert len(scans) == 11

    first = found["scans"][0]
    assert f"_tranche_partition = '{DAY}'" in first["filters"]
    assert first["bytes"] > 0 and first["file_bytes"] > 0
    tables = shop.json("status", "never")["partitions"]
    assert tables == []


@pytest.mark.slow
def test_what_is_not_certain_is_not_claimed(shop: Shell) -> None:
    (scan,) = shop.json("explain", "first", "--scan")["scans"]
    assert (scan["files"], scan["file_bytes"]) == (portion(None, 10, at_most=10), None)
    assert scan["partitions"] == portion(None, 5, at_most=5)
