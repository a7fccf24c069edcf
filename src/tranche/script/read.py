"""What reading one file gave."""

from __future__ import annotations

from dataclasses import dataclass

from tranche.errors import Fault
from tranche.model.script import Script, ViolationQuery


@dataclass(frozen=True, slots=True)
class ScriptRead:
    """A script, unless the file is no pipeline script or has faults."""

    script: Script | None
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class DataTestRead:
    """A data test by script, unless the file is something else or has faults."""

    query: ViolationQuery | None
    faults: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()
    is_pipeline: bool = False
    """Whether the file is a pipeline script, which is no test."""
