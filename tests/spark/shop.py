"""Scripts that read each other, run with a ledger."""

from __future__ import annotations

from datetime import UTC, datetime

from tranche.model.backfill import BackfillRequest
from tranche.model.plan import Request
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.backfill import plan_backfill
from tranche.planning.graph import build_graph
from tranche.planning.plan import build_plan
from tranche.planning.read_columns import ReadColumns
from tranche.planning.stale import stale_keys
from tranche.run.runner import run_plan
from tranche.script.lakes import Lakes
from tranche.script.lineages import lineage_of
from tranche.script.sql import read_sql_script
from tranche.state.memory import MemoryStore

from .conftest import NOON, Bench

DAY = "2026-05-16"
DAILY = '-- pipeline\n-- partitioned daily start="2026-05-01"\n'


class Shop:
    """Tables by the query that makes each, for keys of days or as wholes."""

    header = DAILY

    def __init__(self, bench: Bench, **queries: str) -> None:
        self.bench = bench
        self.store = MemoryStore()
        self.words: dict[str, str] = {}
        """What stands behind the tables in their `materialize` lines."""
        self.queries = queries

    def project(self) -> Project:
        settings = self.bench.engine._settings
        lakes = Lakes(frozenset(settings.lakes), settings.default_lake)
        scripts = tuple(self.script(name, lakes) for name in self.queries)
        return Project(settings=settings, scripts=scripts)

    def script(self, name: str, lakes: Lakes) -> Script:
        made = f"-- materialize lake://main/@{name}{self.words.get(name, '')}\n"
        text = self.bench.named(f"{self.header}{made}{self.queries[name]}")
        read = read_sql_script(name, f"pipelines/{name}.sql", text, lakes)
        assert read.script is not None, read.faults
        return read.script

    def run(self, name: str, query: str | None = None, *keys: str) -> None:
        """Runs one of them alone, by another query if one is given."""
        if query is not None:
            self.queries[name] = query
        project = self.project()
        if len(keys) > 1:
            asked = BackfillRequest(target=name, at=NOON, keys=keys, only=True)
            plan = plan_backfill(project, asked, self.store, lambda _: None).plan
        else:
            key = (*keys, DAY)[0] if self.header == DAILY else None
            request = Request(target=name, fire_time=NOON, partition=key, only=True)
            plan = build_plan(project, request, self.store)
        result = run_plan(plan, self.bench.engine, self.store, lambda: datetime.now(UTC))
        assert result.status == "succeeded", result.steps[0].record.error

    def stale(self, *names: str, keys: tuple[str | None, ...] = (DAY,)) -> list[str | None]:
        """Those of which a key is stale; of one of them, its keys."""
        project = self.project()
        reads = ReadColumns(build_graph(project.scripts), lineage_of)
        found: dict[str, list[str | None]] = {}
        for name in names:
            script = project.script(name)
            assert script is not None
            asked = keys if self.header == DAILY else (None,)
            found[name] = list(stale_keys(script, asked, self.store, reads))
        return found[names[0]] if len(names) == 1 else [n for n in names if found[n]]
