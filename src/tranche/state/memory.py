"""The store in memory: the same contract without a database, for tests, also those of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime

from tranche.errors import StateError
from tranche.model.backfill import UNFINISHED, Backfill, BackfillStatus
from tranche.model.columns import Columns
from tranche.model.lineage import TracedLineage
from tranche.model.pending import Reserved
from tranche.model.run import Attempt, Claim, KeyParts, Materialization, Run, RunStatus, StepRecord
from tranche.model.token import Token
from tranche.ports import Unwatched, Watcher
from tranche.state import checks
from tranche.state.lineages import checked_lineage
from tranche.state.memory_triggers import MemoryTriggers


class MemoryStore(MemoryTriggers):
    """A StateStore that forgets everything at the end of the process."""

    watcher: Watcher = Unwatched()

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[str, Run] = {}
        self._backfills: dict[str, Backfill] = {}
        self._tokens: dict[str, Token] = {}
        self._live: set[str] = set()
        self._steps: dict[tuple[str, int], StepRecord] = {}
        self._attempts: dict[str, Attempt] = {}
        self._claims: dict[tuple[str, str | None], Claim] = {}
        self._staged: dict[str, tuple[Materialization, ...]] = {}

    def run(self, run: str) -> Run | None:
        with self._lock:
            found = self._runs.get(checks.checked_id(run, "run"))
            return None if found is None else _copy(found)

    def runs(
        self, *, limit: int, before: str | None = None, status: RunStatus | None = None
    ) -> Sequence[Run]:
        limit = checks.checked_limit(limit)
        with self._lock:
            latest = sorted(self._runs.values(), key=lambda run: (run.started_at, run.id))[::-1]
            if before is not None:
                ids = [run.id for run in latest]
                before = checks.checked_id(before, "run")
                latest = latest[ids.index(before) + 1 :] if before in ids else []
            kept = [run for run in latest if status in (None, run.status)]
            return tuple(_copy(run) for run in kept[:limit])

    def runs_of(
        self,
        asset: str,
        *,
        limit: int,
        before: str | None = None,
        status: RunStatus | None = None,
    ) -> Sequence[Run]:
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        last = None if before is None else checks.checked_id(before, "run")
        with self._lock:
            ids = {
                step.run
                for step in self._steps.values()
                if step.asset == asset and status in (None, self._runs[step.run].status)
            }
            wanted = sorted((id for id in ids if last is None or id < last), reverse=True)
            return tuple(_copy(self._runs[id]) for id in wanted[:limit])

    def steps(self, run: str) -> Sequence[StepRecord]:
        run = checks.checked_id(run, "run")
        with self._lock:
            found = [step for step in self._steps.values() if step.run == run]
            return tuple(sorted(found, key=lambda step: step.position))

    def attempts(self, run: str) -> Sequence[Attempt]:
        run = checks.checked_id(run, "run")
        with self._lock:
            found = [attempt for attempt in self._attempts.values() if attempt.run == run]
            return tuple(sorted(found, key=lambda attempt: (attempt.position, attempt.number)))

    def staged(self, attempt: str) -> Sequence[Materialization]:
        with self._lock:
            return self._staged.get(checks.checked_id(attempt, "attempt"), ())

    def running(self) -> Sequence[Run]:
        with self._lock:
            found = [run for run in self._runs.values() if run.status == "running"]
            found.sort(key=lambda run: (run.started_at, run.id))
            return tuple(_copy(run) for run in found)

    def abandoned(self) -> Sequence[Run]:
        with self._lock:
            return tuple(run for run in self.running() if self._is_abandoned(run.id))

    def begin_run(
        self, run: Run, steps: Sequence[StepRecord], reserved: Sequence[Reserved] = ()
    ) -> Mapping[Reserved, str]:
        run, kept = checks.checked_run(run), checks.checked_steps(run, steps)
        with self._lock:
            if run.id in self._runs:
                raise StateError(f"run {run.id!r} is recorded already")
            self._runs[run.id] = run
            self._live.add(run.id)
            self._steps.update({(step.run, step.position): step for step in kept})
            return self._reserve(run, reserved)

    def adopt(self, run: str) -> bool:
        run = checks.checked_id(run, "run")
        with self._lock:
            free = self._is_abandoned(run)
            if free:
                self._live.add(run)
            return free

    def finish_run(
        self,
        run: str,
        status: RunStatus,
        *,
        at: datetime,
        error: str | None = None,
        hand_over: bool = False,
    ) -> None:
        run = checks.checked_id(run, "run")
        at, error = checks.as_utc(at), checks.optional_readable(error)
        with self._lock:
            if run not in self._runs:
                raise StateError(f"run {run!r} is not recorded")
            known = self._runs[run]
            self._runs[run] = replace(known, status=status, finished_at=at, error=error)
            if status != "running":
                self._unreserve(run, at, tried=not hand_over)
            if hand_over:
                self._hand_over(self._held_by(run))
            elif status != "running":
                self._settle(run, at)
            if status != "running":
                self._live.discard(run)

    def begin_backfill(self, backfill: Backfill) -> None:
        kept = checks.checked_backfill(backfill)
        with self._lock:
            if kept.id in self._backfills:
                raise StateError(f"backfill {kept.id!r} is recorded already")
            self._backfills[kept.id] = kept

    def change_backfill(
        self,
        backfill: str,
        *,
        status: BackfillStatus,
        run: str | None = None,
        at: datetime | None = None,
    ) -> None:
        backfill = checks.checked_id(backfill, "backfill")
        with self._lock:
            known = self._backfills.get(backfill)
            if known is None:
                raise StateError(f"backfill {backfill!r} is not recorded")
            self._backfills[backfill] = replace(
                known,
                status=status,
                finished_at=checks.optional_utc(at),
                run=known.run if run is None else checks.checked_id(run, "run"),
            )

    def backfill(self, backfill: str) -> Backfill | None:
        with self._lock:
            return self._backfills.get(checks.checked_id(backfill, "backfill"))

    def backfill_status(self, backfill: str) -> BackfillStatus | None:
        found = self.backfill(backfill)
        return None if found is None else found.status

    def take_backfill(self, backfill: str, *, server: str, run: str) -> bool:
        with self._lock:
            known = self._backfills.get(checks.checked_id(backfill, "backfill"))
            if known is None or known.status != "queued":
                return False
            self._backfills[known.id] = replace(
                known, status="running", server=server, run=run, finished_at=None
            )
            return True

    def give_back(self) -> int:
        with self._lock:
            gone = [
                each
                for each in self._backfills.values()
                if each.status in ("running", "cancelling")
                and each.server is not None
                and each.server not in self._servers
                and not self._unended(each.run)
            ]
            for each in gone:
                status: BackfillStatus = "queued" if each.status == "running" else "cancelled"
                self._backfills[each.id] = replace(each, status=status, server=None)
            return super().give_back() + len(gone)

    def tokens(self) -> Sequence[Token]:
        with self._lock:
            return sorted(self._tokens.values(), key=lambda token: (token.created_at, token.name))

    def add_token(self, token: Token) -> bool:
        name = checks.checked_id(token.name, "token")
        with self._lock:
            new = name not in self._tokens
            self._tokens.setdefault(name, token)
            return new

    def revoke_token(self, name: str, *, at: datetime) -> bool:
        with self._lock:
            known = self._tokens.get(name)
            if known is None or known.revoked_at is not None:
                return False
            self._tokens[name] = replace(known, revoked_at=checks.as_utc(at))
            return True

    def claims(
        self, asset: str, *, limit: int, keys: Sequence[str | None] | None = None
    ) -> Sequence[Claim]:
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        with self._lock:
            found = [
                claim
                for claim in self._claims.values()
                if claim.asset == asset and (keys is None or claim.partition in keys)
            ]
            found.sort(key=lambda claim: claim.partition or "")
            return tuple(found[:limit])

    def backfills(self, *, limit: int, unfinished: bool = False) -> Sequence[Backfill]:
        limit = checks.checked_limit(limit)
        with self._lock:
            kept = [
                each
                for each in self._backfills.values()
                if not unfinished or each.status in UNFINISHED
            ]
            found = sorted(kept, key=lambda b: (b.created_at, b.id))
            return tuple(
                replace(each, keys=()) for each in reversed(found[-limit:] if limit else [])
            )

    def begin_attempt(
        self, attempt: Attempt, *, asset: str | None = None, keys: Sequence[str | None] = ()
    ) -> Sequence[Claim]:
        attempt = checks.checked_attempt(attempt)
        claims = checks.checked_claims(attempt, asset, keys)
        with self._lock:
            if others := self._conflicts(claims):
                return others
            step = self._step(attempt.run, attempt.position)
            place = (attempt.run, attempt.position, attempt.number)
            for other in self._attempts.values():
                if other.id == attempt.id or (other.run, other.position, other.number) == place:
                    raise StateError(
                        f"attempt {attempt.id!r}, number {attempt.number} of its step, "
                        "is recorded already"
                    )
            self._attempts[attempt.id] = attempt
            self._steps[step.run, step.position] = replace(
                step,
                status="running",
                started_at=step.started_at or attempt.started_at,
                finished_at=None,
                error=None,
            )
            self._claims.update({(claim.asset, claim.partition): claim for claim in claims})
        return ()

    def stage(self, attempt: str, materializations: Sequence[Materialization]) -> None:
        attempt = checks.checked_id(attempt, "attempt")
        entries = checks.checked_materializations(materializations)
        with self._lock:
            if attempt not in self._attempts:
                raise StateError(f"attempt {attempt!r} is not recorded")
            self._staged[attempt] = tuple(map(checks.without_samples, entries))

    def finish_attempt(self, attempt: Attempt) -> None:
        attempt = checks.checked_attempt(attempt)
        with self._lock:
            self._finish_attempt(attempt)

    def _finish_attempt(self, attempt: Attempt) -> None:
        known = self._attempts.get(attempt.id)
        if known is None:
            raise StateError(f"attempt {attempt.id!r} is not recorded")
        self._attempts[attempt.id] = replace(
            known,
            status=attempt.status,
            finished_at=attempt.finished_at,
            error=attempt.error,
        )
        self._claims = {
            place: claim for place, claim in self._claims.items() if claim.attempt != attempt.id
        }

    def finish_step(
        self,
        step: StepRecord,
        materializations: Sequence[Materialization] = (),
        *,
        attempt: Attempt | None = None,
        columns: Columns = (),
        parts: Sequence[KeyParts] = (),
        traced: TracedLineage | None = None,
    ) -> None:
        step = checks.checked_step(step)
        attempt = None if attempt is None else checks.checked_attempt(attempt)
        entries = checks.checked_materializations(materializations)
        captured = checks.checked_capture(step, attempt, columns)
        kept = checks.checked_parts(parts)
        lineage = checked_lineage(traced)
        with self._lock:
            known = self._step(step.run, step.position)
            if attempt is not None:
                self._finish_attempt(attempt)
            started_at = known.started_at or step.started_at
            self._steps[step.run, step.position] = replace(step, started_at=started_at)
            if captured is not None:
                self._capture(captured)
            for entry in entries:
                self._enter(entry)
            self._give_parts(kept)
            if lineage is not None:
                self._lineages[lineage.asset, lineage.fingerprint] = lineage.lineage
            ended = step.finished_at or (attempt.finished_at if attempt else None)
            made = [entry for entry in entries if entry.status == "succeeded"]
            places = {(entry.asset, entry.partition) for entry in made}
            at = ended or datetime.min.replace(tzinfo=UTC)
            self._settle(step.run, at, places)

    def close(self) -> None:
        """Abandons the runs that have not ended; the store can be read on."""
        with self._lock:
            self._live.clear()
            self._servers.clear()

    def _step(self, run: str, position: int) -> StepRecord:
        step = self._steps.get((run, position))
        if step is None:
            raise StateError(f"step {position} of run {run!r} is not recorded")
        return step

    def _unended(self, run: str | None) -> bool:
        known = self._runs.get(run or "")
        return known is not None and known.status == "running"

    def _is_abandoned(self, run: str) -> bool:
        known = self._runs.get(run)
        return known is not None and known.status == "running" and run not in self._live

    def _conflicts(self, wanted: Sequence[Claim]) -> tuple[Claim, ...]:
        """Claims of others that the wanted ones, of one attempt on one asset, cannot stand beside."""
        keys = {claim.partition for claim in wanted}
        found = [
            claim
            for claim in self._claims.values()
            if wanted
            and claim.asset == wanted[0].asset
            and claim.attempt != wanted[0].attempt
            and (claim.partition is None or None in keys or claim.partition in keys)
        ]
        found.sort(key=lambda claim: claim.partition or "")
        return tuple(found[: checks.MOST_CONFLICTS])


def _copy(run: Run) -> Run:
    """What a caller does to a payload stays with the caller."""
    return replace(run, payload=deepcopy(run.payload), arguments=dict(run.arguments))
