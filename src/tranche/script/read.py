"""What reading one file gave."""

from __future__ import annotations

from dataclasses import dataclass

from tranche.errors import Fault
from tranche.model.script import Script


@dataclass(frozen=True, slots=True)
class ScriptRead:
    """A script, unless the file is no pipeline script or has faults."""

    script: Script | None
    faults: tuple[Fault, ...] = ()
