"""Upkeep from the command line."""

from __future__ import annotations

from datetime import timedelta

from tranche import service
from tranche.cli.output import Output
from tranche.cli.progress import RunProgress
from tranche.cli.running import starting
from tranche.errors import EngineError
from tranche.model.project import Project
from tranche.ports import Maintained
from tranche.views.assets import maintained_view


def maintain_tables(
    project: Project, asset: str | None, retention: timedelta | None, output: Output
) -> bool:
    """Looks after tables and says what came of it. One that fails does not stop the others."""
    done: list[Maintained] = []
    failed: list[tuple[str, str]] = []
    with service.open_state(project, create=False) as state:
        tables = service.managed_tables(project, state, asset)
        if tables:
            progress = RunProgress(output)
            with starting(project, output) as engine:
                for table in tables:
                    progress.say(f"looking after {table}")
                    try:
                        kept = service.maintain(
                            project, engine, state, [table], retention=retention
                        )
                        done += kept
                    except EngineError as error:
                        failed.append((str(table), str(error)))
                    finally:
                        progress.quiet()
    _show(done, failed, output)
    return not failed


def _show(done: list[Maintained], failed: list[tuple[str, str]], output: Output) -> None:
    if output.json:
        output.value(
            {
                "tables": [maintained_view(found) for found in done],
                "failed": [{"table": table, "error": error} for table, error in failed],
            }
        )
    elif done:
        output.table(
            ("table", "snapshots removed", "files", "compacted", "orphans", "size", "saved"),
            (
                (
                    str(found.table),
                    found.snapshots,
                    f"{found.files[0]} → {found.files[1]}",
                    f"{found.compacted} → {found.compacted_into}" if found.compacted else "",
                    found.orphans,
                    sized(found.bytes[1]),
                    sized(found.bytes[0] - found.bytes[1]),
                )
                for found in done
            ),
        )
    elif not failed:
        output.line("no table has been made yet")
    for table, error in failed:
        output.error(f"{table}: {error}")


def sized(number: int) -> str:
    """
    >>> sized(512), sized(1_536_000), sized(-2048)
    ('512 B', '1.5 MB', '-2.0 kB')
    """
    units = ("B", "kB", "MB", "GB", "TB")
    power = min(len(str(abs(number))) - 1, 14) // 3
    return f"{number} B" if power == 0 else f"{number / 1000**power:.1f} {units[power]}"
