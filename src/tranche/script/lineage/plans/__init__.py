"""Where the columns of a frame come from, read from the text of its analysed plan."""

from tranche.script.lineage.plans.reading import Assets, PlanRead, nothing_known, read_plan
from tranche.script.lineage.plans.sources import VIEW

__all__ = ["VIEW", "Assets", "PlanRead", "nothing_known", "read_plan"]
