"""Python scripts through the real command line: files, what reads them, and what code raises."""

from __future__ import annotations

import json

import pytest

from .conftest import Shell

pytestmark = pytest.mark.spark

FETCH = """\
# pipeline
# on schedule
# partitioned daily format="%Y/%m/%d" start="2026-05-01"
import shop_api
from tranche import write_file

ORDERS = "s3:///raw/orders/{partition}/orders.json"


def main(partition: str):
    print("fetching", partition)
    write_file(ORDERS, shop_api.orders(partition))
"""
API = """\
from concurrent.futures import ThreadPoolExecutor

from tranche import current_partition


def page(number):
    return {"order_id": number, "day": current_partition(), "amount": number * 1.5}


def orders(day):
    if day == "2026/05/13":
        raise ConnectionError("the shop is closed")
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(page, range(5)))
"""
LOAD = """\
-- pipeline
-- on s3:///raw/orders/{partition}/orders.json
-- partitioned daily format="%Y/%m/%d" start="2026-05-01"
-- materialize lake://main/raw_orders key=order_id
-- data_test not_null order_id
SELECT order_id, day, amount FROM read_json('s3:///raw/orders/' || '{partition}' || '/orders.json');
"""
SCORES = """\
# pipeline
# on lake://main/raw_orders
# partitioned daily format="%Y/%m/%d" start="2026-05-01"
# materialize lake://main/scores
# $least (int) = 2
import pandas as pd


def main(raw_orders: pd.DataFrame, least: int):
    return raw_orders[raw_orders.amount > least][["order_id", "amount"]]
"""
FILES = "s3:///raw/orders/{partition}/orders.json"


def statuses(run: dict[str, object]) -> list[tuple[object, object, object]]:
    steps = run["steps"]
    assert isinstance(steps, list)
    return [(step["asset"], step["partition"], step["status"]) for step in steps]


def test_a_daily_script_that_writes_files(shell: Shell) -> None:
    shell.quick()
    for path, text in {
        "fetch_orders.py": FETCH,
        "shop_api.py": API,
        "load_orders.sql": LOAD,
        "scores.py": SCORES,
    }.items():
        shell.write(f"pipelines/{path}", text)
    # Nothing is imported to be checked: no Spark, no pandas, no code of the user.
    checked = shell.json("check")
    assert checked["faults"] == [] and checked["warnings"] == []
    graph = shell.tranche("graph").stdout
    assert f"→ {FILES}" in graph and f"⚡ {FILES}" in graph
    shell.warm()
    run = shell.json("run", "fetch_orders", "--partition", "2026/05/12")
    assert statuses(run) == [
        (FILES, "2026/05/12", "succeeded"),
        ("lake://main/raw_orders", "2026/05/12", "succeeded"),
        ("lake://main/scores", "2026/05/12", "succeeded"),
    ]
    file = shell.folder / ".tranche/storage/raw/orders/2026/05/12/orders.json"
    assert [row["day"] for row in json.loads(file.read_text())] == ["2026/05/12"] * 5
    shown = shell.json("show", "scores", "-p", "2026/05/12")
    assert [row["order_id"] for row in shown["rows"]] == [2, 3, 4]
    (state,) = shell.json("status", FILES)["partitions"]
    assert (state["partition"], state["status"]) == ("2026/05/12", "succeeded")

    # A day that fails is told with the line of the script, and stops what depends on it only.
    failed = shell.json("run", "fetch_orders", "--partition", "2026/05/13", code=1)
    assert [status for *_, status in statuses(failed)] == ["failed", "skipped", "skipped"]
    assert failed["steps"][0]["error"] == (
        "pipelines/fetch_orders.py:12: main raised ConnectionError: the shop is closed; correct the"
        " code; --debug shows where it comes from"
    )
    shown = shell.tranche("run", "fetch_orders", "--partition", "2026/05/13", "--only")
    assert "Traceback" not in shown.stdout + shown.stderr

    # A range of days, with all that follows; the bad one does not spoil the rest.
    filled = shell.json("backfill", FILES, "--start", "2026-05-12", "--end", "2026-05-15", code=1)
    assert [(p["partition"], p["status"]) for p in filled["partitions"]] == [
        ("2026/05/13", "failed"),
        ("2026/05/14", "succeeded"),
        ("2026/05/15", "succeeded"),
    ]
    [count] = shell.json("sql", "SELECT count(DISTINCT _tranche_partition) AS n FROM raw_orders")
    assert count == {"n": 3}

    # A module beside the script is mended; the next run has it.
    shell.write("pipelines/shop_api.py", API.replace('"2026/05/13"', '"never"'))
    assert shell.json("run", "fetch_orders", "--partition", "2026/05/13")["status"] == "succeeded"
