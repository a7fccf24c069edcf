"""`tranche demo`: makes a project, runs it, shows what came out."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tranche import service
from tranche.cli.output import Output
from tranche.cli.progress import RunProgress
from tranche.cli.running import starting
from tranche.model.plan import Request
from tranche.projects.demo import DAYS, RUN_DAYS, make_demo
from tranche.run.runner import RunResult
from tranche.views.runs import run_view

_TABLES = ("orders_daily", "revenue_by_tier", "customers", "top_customers")
_TOPS = ("ingest_customers", "ingest_orders")


def run_demo(folder: Path, output: Output) -> bool:
    """Says whether every run went well."""
    make_demo(folder)
    project = service.open_project(folder)
    _say(output, f"A shop in {folder}: {DAYS} days of orders and customers, six scripts.\n")
    if not output.json:
        for script in project.scripts:
            made = script.asset or "nothing"
            kind = script.partitioning.kind if script.partitioning else "whole table"
            output.line(f"  {script.path:40} → {made} ({kind})")
    results: list[RunResult] = []
    shown = {}
    with (
        service.open_state(project, create=True) as store,
        starting(project, output, archiving=True) as engine,
    ):
        for day in RUN_DAYS:
            for top in _TOPS:
                _say(output, f"\n$ tranche run {top} --partition {day}", "bold")
                request = Request(target=top, fire_time=service.now(), partition=day)
                plan = service.plan(project, request, store)
                results.append(service.run(plan, engine, store, tell=RunProgress(output)))
        for table in _TABLES:
            _, preview = service.show(project, engine, table, None, limit=5)
            shown[table] = preview.rows
            _say(output, f"\n$ tranche show {table} --limit 5", "bold")
            if not output.json:
                output.rows(preview.rows)
    succeeded = all(result.status == "succeeded" for result in results)
    if output.json:
        output.value(
            {
                "project": str(folder),
                "status": "succeeded" if succeeded else "failed",
                "runs": [run_view(result) for result in results],
                "tables": {table: rows.records() for table, rows in shown.items()},
            }
        )
        return succeeded
    _say(output, f"\nTry next, after cd {folder}:", "bold")
    tranche = _command(folder)
    for arguments, what in (
        ("graph", "what is made from what"),
        ("status lake://main/orders_daily", "the ledger, as a picture"),
        ("run ingest_orders --partition 2026-05-16", "again: the same rows, one slice"),
        ("run ingest_orders --partition 2026-05-03", "a day without orders"),
        ("run ingest_orders --partition 2026-05-17 --dry-run", "the plan, nothing done"),
        ("show orders_daily --snapshots", "what readers saw, and when"),
        ("sql 'SELECT * FROM main.revenue_by_tier'", "any Spark SQL"),
    ):
        output.line(f"  {tranche} {arguments:52} {what}")
    return succeeded


def _command(folder: Path) -> str:
    """How to call Tranche from inside the demo's folder."""
    if shutil.which("tranche"):
        return "tranche"
    return os.path.relpath(sys.argv[0], folder)


def _say(output: Output, text: str, style: str | None = None) -> None:
    if not output.json:
        output.line(text, style)
