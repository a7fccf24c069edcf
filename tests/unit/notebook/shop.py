"""A project in a folder with a ledger in SQLite, for tests of what notebooks show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import tranche
from tranche import service
from tranche.model.run import Materialization, Outcome, Run, StepRecord
from tranche.notebook.project import ShownProject

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
DAILY = '-- partitioned daily start="2026-11-01"\n'
CHAIN = {
    "ingest": f"{DAILY}-- materialize lake://main/raw\nSELECT id FROM outside",
    "orders": f"-- on lake://main/raw\n{DAILY}-- materialize lake://main/orders key=id\n"
    "SELECT id FROM raw",
}
_AT_ONCE = 5_000


def shop(folder: Path, scripts: Mapping[str, str]) -> ShownProject:
    for name, text in scripts.items():
        file = folder / "pipelines" / f"{name}.sql"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"-- pipeline\n{text}\n")
    opened = tranche.project(folder)
    return ShownProject(opened._project, lambda: NOW)


def ended(
    shown: ShownProject,
    asset: str,
    keys: Iterable[str | None],
    outcome: Callable[[str | None], Outcome] = lambda _: "succeeded",
    **more: Any,
) -> None:
    """Each of these keys was tried by one run."""
    project = shown._project
    script = next(each for each in project.scripts if str(each.asset) == asset)
    rule, run = script.partitioning, f"run-of-{script.name}"
    entries = [
        Materialization(
            **{
                "id": f"{run}-{number}",
                "asset": asset,
                "partition": key,
                "ordinal": rule.ordinal(key) if rule is not None and key is not None else None,
                "status": outcome(key),
                "run": run,
                "attempt": f"{run}-{number}",
                "fingerprint": script.fingerprint,
                "started_at": NOW,
                "finished_at": NOW - timedelta(hours=2),
                "rows": 12,
                **more,
            }
        )
        for number, key in enumerate(keys)
    ]
    step = StepRecord(
        run=run,
        position=0,
        script=script.name,
        asset=asset,
        partition=None,
        ordinal=None,
        strategy="replace",
        status="succeeded",
    )
    with service.open_state(project, create=True) as store:
        store.begin_run(
            Run(id=run, target=script.name, status="running", fire_time=NOW, started_at=NOW), [step]
        )
        for start in range(0, len(entries), _AT_ONCE):
            store.finish_step(step, entries[start : start + _AT_ONCE])
        store.finish_run(run, "succeeded", at=NOW - timedelta(hours=2))


class Read(HTMLParser):
    """HTML as a browser has it: its elements, its texts, and whether all that opens closes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open.append(tag)
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def read(shown: Any) -> Read:
    return Read(shown._repr_html_())
