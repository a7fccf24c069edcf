"""Which keys a run makes along with what is upstream of them, so that nobody else starts on them."""

from __future__ import annotations

from tranche.model.pending import Reserved
from tranche.model.plan import Plan


def reserved(plan: Plan) -> tuple[Reserved, ...]:
    """The keys of those steps that run because of what is upstream, which would start them as well.

    Of a job, all tasks were asked for; those that take results of others are started by these too.
    """
    return tuple(
        Reserved(step.script.label, key.partition, key.ordinal)
        for step in plan.steps
        if step.verdict == "run" and (step.follows or step.needs) and step.script.triggers_on()
        for key in step.slice
    )
