"""The demo's project: a shop with 60 days of orders, the same on every machine.

The data has what real data has: rows that arrive days late, orders that are sent twice, orders
whose status changes, customers that change tier, and an empty day.
"""

from __future__ import annotations

import json
import random
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from tranche.errors import UsageError
from tranche.projects.config import CONFIG, PIPELINES
from tranche.projects.scaffold import write_files

FIRST_DAY = date(2026, 4, 1)
DAYS = 60
EMPTY_DAY = date(2026, 5, 3)
RUN_DAYS = ("2026-05-14", "2026-05-15", "2026-05-16")

_CUSTOMERS = 40
_MARK = "# tranche demo"
_TIERS = ("bronze", "silver", "gold")

_SCRIPTS = {
    "ingest_orders": """\
-- pipeline
-- on schedule
-- partitioned daily tz="Europe/Paris" start="2026-04-01"
-- materialize lake://main/raw_orders
-- The orders that the shop sent on one day, as they came: some days late, some twice.
SELECT order_id, customer_id, status, amount, created_at::timestamp AS created_at
FROM read_json(
    'data/orders/' || '{partition}' || '.json',
    schema => 'order_id long, customer_id long, status string, amount decimal(10,2), created_at string'
);
""",
    "ingest_customers": """\
-- pipeline
-- on schedule
-- partitioned daily tz="Europe/Paris" start="2026-04-01"
-- materialize lake://main/raw_customers
-- All customers as they were at the end of one day.
SELECT customer_id, name, tier, country
FROM read_csv(
    'data/customers/' || '{partition}' || '.csv',
    header => true,
    schema => 'customer_id long, name string, tier string, country string'
);
""",
    "orders_daily": """\
-- pipeline
-- on lake://main/raw_orders
-- partitioned daily tz="Europe/Paris" start="2026-04-01"
-- materialize lake://main/orders_daily
-- data_test unique order_id
-- data_test not_null customer_id
-- data_test accepted_values status = paid,open,refunded
-- The orders that were sent on one day, each once, with its latest status.
WITH sent AS (
    SELECT *, row_number() OVER (PARTITION BY order_id ORDER BY created_at DESC, status) AS latest
    FROM raw_orders
    WHERE _tranche_partition = '{partition}'
)
SELECT order_id, customer_id, status, amount, created_at
FROM sent
WHERE latest = 1;
""",
    "customers": """\
-- pipeline
-- on lake://main/raw_customers
-- partitioned daily tz="Europe/Paris" start="2026-04-01"
-- materialize lake://main/customers key=customer_id history track=tier,country deletes=close at=partition
-- Every version of every customer; the days may come in any order.
SELECT customer_id, name, tier, country
FROM raw_customers
WHERE _tranche_partition = '{partition}';
""",
    "reports/revenue_by_tier": """\
-- pipeline
-- on lake://main/orders_daily
-- on lake://main/raw_customers
-- trigger all
-- partitioned daily tz="Europe/Paris" start="2026-04-01"
-- materialize lake://main/revenue_by_tier
-- Runs once both the orders and the customers of a day are there.
ATTACH 'lake://main' AS dl;

SELECT c.tier, count(*) AS orders, sum(o.amount) AS revenue
FROM dl.orders_daily AS o
JOIN dl.raw_customers AS c
    ON c.customer_id = o.customer_id AND c._tranche_partition = '{partition}'
WHERE o._tranche_partition = '{partition}' AND o.status <> 'refunded'
GROUP BY c.tier;
""",
    "reports/top_customers": """\
-- pipeline
-- on lake://main/orders_daily map=all
-- materialize lake://main/top_customers
-- $top (int) = 5
-- A whole table, rebuilt from all days.
SELECT customer_id, count(*) AS orders, sum(amount) AS spent
FROM orders_daily
WHERE status = 'paid'
GROUP BY customer_id
ORDER BY spent DESC
LIMIT $top;
""",
}


def make_demo(folder: Path) -> None:
    """Writes the project; an earlier demo in the same folder is brought up to date."""
    config = folder / CONFIG
    ours = config.is_file() and config.read_text(encoding="utf-8").startswith(_MARK)
    if not ours and folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty and holds no demo", "choose another folder")
    files = {CONFIG: f'{_MARK}\n[project]\nname = "shop"\n', ".gitignore": ".tranche/\n"}
    files |= {f"{PIPELINES}/{name}.sql": text for name, text in _SCRIPTS.items()}
    write_files(folder, files | orders() | customers())


def days() -> list[date]:
    return [FIRST_DAY + timedelta(days=number) for number in range(DAYS)]


def orders() -> dict[str, str]:
    """One file per day, a line per order that was sent on it."""
    dice = random.Random(20260401)
    sent: dict[date, list[dict[str, Any]]] = {day: [] for day in days()}
    number = 0
    for day in days():
        if day == EMPTY_DAY:
            continue
        for _ in range(dice.randint(20, 40)):
            number += 1
            order = {
                "order_id": number,
                "customer_id": dice.randint(1, _CUSTOMERS),
                "status": dice.choices(("paid", "open", "refunded"), (8, 2, 1))[0],
                "amount": dice.randint(200, 20_000) / 100,
                "created_at": f"{day} {dice.randint(0, 23):02}:{dice.randint(0, 59):02}:00",
            }
            late = dice.choices((0, 1, 3), (90, 7, 3))[0]
            arrives = min(day + timedelta(days=late), days()[-1])
            if arrives == EMPTY_DAY:
                arrives += timedelta(days=1)
            sent[arrives].append(order)
            if dice.random() < 0.05:
                sent[arrives].append(order)
            if order["status"] == "open" and dice.random() < 0.5:
                sent[arrives].append({**order, "status": "paid"})
    return {
        f"data/orders/{day}.json": "".join(f"{json.dumps(order)}\n" for order in found)
        for day, found in sent.items()
    }


def customers() -> dict[str, str]:
    """One file per day, a line per customer; some change tier, some leave, some come later."""
    dice = random.Random(20260402)
    countries = [dice.choice(("FR", "DE", "JP", "US")) for _ in range(_CUSTOMERS)]
    tiers = [dice.choices((0, 1, 2), (6, 3, 1))[0] for _ in range(_CUSTOMERS)]
    files = {}
    for number, day in enumerate(days()):
        lines = ["customer_id,name,tier,country"]
        for customer in range(_CUSTOMERS):
            if dice.random() < 0.01:
                tiers[customer] = min(2, max(0, tiers[customer] + dice.choice((-1, 1))))
            joins, leaves = customer % 10, 50 if customer % 13 == 12 else DAYS
            if joins <= number < leaves:
                name = f"customer {customer + 1}"
                lines.append(
                    f"{customer + 1},{name},{_TIERS[tiers[customer]]},{countries[customer]}"
                )
        files[f"data/customers/{day}.csv"] = "\n".join(lines) + "\n"
    return files
