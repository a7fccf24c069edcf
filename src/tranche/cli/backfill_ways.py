"""By whom a backfill is carried out: this process, one of its own, or a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tranche import service
from tranche.cli import backfilling
from tranche.cli.output import Output
from tranche.cli.remote import Remote, remote_of
from tranche.cli.remote_backfill import begin_by, resume_by
from tranche.errors import UsageError
from tranche.model.backfill import BackfillRequest

WORDS = ("list", "show", "resume", "cancel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """Where the project is, and how its backfills are to be carried out."""

    project: Path
    target: str | None
    patience: float
    dry_run: bool
    local: bool
    detach: bool
    agreed: bool

    def remote(self) -> Remote | None:
        """The server that does it, if there is one and it may."""
        if self.dry_run or self.local:
            return None
        return remote_of(service.open_settings(self.project, self.target))


def begin(request: BackfillRequest, ways: Ways, output: Output) -> bool:
    """Begins a backfill, or prints what it would do; says whether it went well."""
    remote = ways.remote()
    if remote is not None:
        return begin_by(remote, request, output, agreed=ways.agreed, detach=ways.detach)
    loaded = service.open_project(ways.project, ways.target)
    if ways.detach and not ways.dry_run:
        backfilling.begin_detached(
            loaded,
            request,
            output,
            agreed=ways.agreed,
            target=ways.target,
            patience=ways.patience,
        )
        return True
    return backfilling.run_backfill(
        loaded,
        request,
        output,
        dry_run=ways.dry_run,
        patience=ways.patience,
        agreed=ways.agreed,
    )


def known(word: str, backfill: str | None, ways: Ways, output: Output) -> bool:
    """What can be done about backfills that were begun; says whether it went well."""
    if backfill is None and word != "list":
        raise UsageError(f"backfill {word} needs an id", "tranche backfill list names them")
    if word == "resume":
        return _resume(backfill or "", ways, output)
    loaded = service.open_project(ways.project, ways.target)
    if backfill is None:
        backfilling.list_backfills(loaded, output)
    elif word == "show":
        backfilling.show_backfill(loaded, backfill, output)
    else:
        backfilling.cancel(loaded, backfill, output)
    return True


def _resume(backfill: str, ways: Ways, output: Output) -> bool:
    remote = ways.remote()
    if remote is not None:
        return resume_by(remote, backfill, output, detach=ways.detach)
    loaded = service.open_project(ways.project, ways.target)
    if ways.detach and not ways.dry_run:
        backfilling.resume_detached(
            loaded, backfill, output, target=ways.target, patience=ways.patience
        )
        return True
    return backfilling.resume(
        loaded, backfill, output, dry_run=ways.dry_run, patience=ways.patience
    )
