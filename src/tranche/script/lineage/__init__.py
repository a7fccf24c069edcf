"""Where the columns of a script's result come from. No query is run for it."""

from tranche.script.lineage.script import Lineages, script_lineage
from tranche.script.lineage.tracer import ColumnsOf

__all__ = ["ColumnsOf", "Lineages", "script_lineage"]
