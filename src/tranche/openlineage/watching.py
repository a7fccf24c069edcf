"""Hears what becomes of runs, and leaves it to a thread that tells others."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Sequence
from datetime import datetime
from importlib.util import find_spec
from typing import get_args

from tranche.model.columns import Columns
from tranche.model.plan import Step
from tranche.model.project import OpenLineageSettings, Settings
from tranche.model.run import Materialization, Outcome, Run, StepRecord
from tranche.openlineage.columns import ColumnsOf, declared
from tranche.openlineage.sending import FLUSH, Delivery, Sender
from tranche.openlineage.told import RunBegun, RunEnded, StepBegun, StepRecorded, Told
from tranche.projects.secrets import secrets_of, without_secrets

LOG = logging.getLogger("tranche.openlineage")


class Lineage:
    """A watcher that has events of OpenLineage sent. Nothing happens before the first run."""

    def __init__(
        self,
        settings: Settings,
        told: OpenLineageSettings,
        *,
        columns_of: ColumnsOf = declared,
        flush: float = FLUSH,
    ) -> None:
        self._settings = settings
        self._told = told
        self._columns_of = columns_of
        self._flush = flush
        self._lock = threading.Lock()
        self._looked = False
        self._sender: Sender[Told] | None = None

    def run_begun(self, run: Run, steps: Sequence[Step]) -> None:
        self._tell(RunBegun(run, tuple(steps)))

    def step_begun(self, run: str, step: Step, at: datetime) -> None:
        self._tell(StepBegun(run, step, at))

    def step_recorded(
        self, step: StepRecord, entries: Sequence[Materialization] = (), columns: Columns = ()
    ) -> None:
        ended = step.status in get_args(Outcome)
        self._tell(StepRecorded(step, tuple(entries), columns), int(ended))

    def run_ended(self, run: Run) -> None:
        self._tell(RunEnded(run))

    def close(self) -> None:
        """Takes nothing more. What waits is sent until the process ends, and a little beyond."""
        if self._sender is not None:
            self._sender.close()

    def wait(self) -> None:
        """Waits for what is still to be sent, not for long."""
        if self._sender is not None:
            self._sender.wait()

    def _tell(self, told: Told, events: int = 1) -> None:
        try:
            sender = self._started()
            if sender is not None:
                sender.put(told, events)
        except Exception as error:
            # Whatever it is, it is no reason to fail a run.
            self._warn(f"events of OpenLineage cannot be sent: {error!r}")

    def _started(self) -> Sender[Told] | None:
        if self._looked:
            return self._sender
        with self._lock:
            if not self._looked:
                self._looked = True
                if not _installed():
                    self._warn(
                        "events of OpenLineage are not sent, because their client is not installed;"
                        " install tranche[openlineage]"
                    )
                else:
                    self._sender = Sender(self._opened, self._warn, flush=self._flush)
                    atexit.register(self._sender.wait)
            return self._sender

    def _opened(self) -> Delivery[Told]:
        # It takes a while to import, which is the thread's and not the run's.
        from tranche.openlineage.delivering import ClientDelivery

        return ClientDelivery(self._settings, self._told, self._columns_of)

    def _warn(self, text: str) -> None:
        hidden = {*self._settings.secrets, *secrets_of("", text)}
        LOG.warning("%s", without_secrets(text, hidden))


def _installed() -> bool:
    try:
        return find_spec("openlineage.client") is not None
    except (ImportError, ValueError):
        return False
