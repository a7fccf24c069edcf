"""What a step would do, told before it does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tranche.model.plan import Request, Step
from tranche.model.scan import Scan
from tranche.model.statement import StatementKind
from tranche.model.story import Story

KeyOrigin: TypeAlias = Literal["given", "time", "payload", "arguments"]


@dataclass(frozen=True, slots=True)
class FilesView:
    """A temporary view over files, which stands in a statement for a function that reads them."""

    name: str
    format: str
    path: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentStatement:
    """A statement as Spark gets it, with the values of its markers beside it."""

    kind: StatementKind
    line: int
    text: str
    parameters: tuple[tuple[str, str], ...] = ()
    files: tuple[FilesView, ...] = ()


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was sent to Spark, and what that has read."""

    statements: tuple[SentStatement, ...]
    scans: tuple[Scan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A step, how it came by its key, and what goes to Spark for it."""

    request: Request
    step: Step
    key_from: KeyOrigin | None = None
    """What the key was found by; None if there is no key."""
    statements: tuple[SentStatement, ...] = ()
    """Empty unless the step would run."""
    scans: tuple[Scan, ...] | None = None
    """What the SELECT has read; None if it was not run."""
    warnings: tuple[str, ...] = ()
    story: Story | None = None
    """What is known of the key; None if nobody has asked for it, or there is no key to tell of."""
