"""What a step would send to Spark, and what that reads."""

from __future__ import annotations

from dataclasses import replace

from tranche.errors import UsageError
from tranche.model.explanation import Explanation
from tranche.model.plan import Request
from tranche.model.project import Project
from tranche.planning.explanation import explain_step
from tranche.ports import Engine, PartitionReader


def scan(explanation: Explanation, engine: Engine) -> Explanation:
    """The same with what the SELECT reads, for which it is run; nothing is written."""
    found = engine.scan(explanation.step)
    return replace(explanation, statements=found.statements, scans=found.scans)


def check_scan(explanation: Explanation) -> None:
    """Says what speaks against running the SELECT, before Spark starts."""
    script = explanation.step.script
    if script.query is None or any(each.kind == "other" for each in script.setup):
        raise UsageError(
            f"{script.path} writes by itself, and --scan runs nothing that does", "leave --scan out"
        )


def explain(project: Project, request: Request, state: PartitionReader) -> Explanation:
    """What the target's own step would do, without doing anything."""
    return explain_step(project, request, state)
