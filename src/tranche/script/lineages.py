"""The lineage of a script, worked out once in this process for the columns that it depends on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from tranche.model.asset import AssetUri
from tranche.model.columns import Columns
from tranche.model.lineage import ScriptLineage
from tranche.model.script import Script

if TYPE_CHECKING:
    from tranche.script.lineage import Lineages


def lineage_of(script: Script, columns_of: Callable[[AssetUri], Columns | None]) -> ScriptLineage:
    return _lineages().of(script, columns_of)


@cache
def _lineages() -> Lineages:
    # The parser is imported only when somebody asks.
    from tranche.script.lineage import Lineages

    return Lineages()
