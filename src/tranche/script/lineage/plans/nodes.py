"""The nodes of plans that are known, and how each is read."""

from __future__ import annotations

from collections.abc import Mapping

from tranche.script.lineage.plans import making, picking, sources
from tranche.script.lineage.plans.reader import Read

NODES: Mapping[str, Read] = {
    "Project": making.projected,
    "Aggregate": making.aggregated,
    "Window": making.windowed,
    "Expand": making.expanded,
    "Generate": making.generated,
    "MapInPandas": making.made_by_code,
    "MapInArrow": making.made_by_code,
    "FlatMapGroupsInPandas": making.made_by_code,
    "FlatMapGroupsInArrow": making.made_by_code,
    "FlatMapCoGroupsInPandas": making.made_by_code,
    "FlatMapCoGroupsInArrow": making.made_by_code,
    "Filter": picking.filtered,
    "Sort": picking.sorted_rows,
    "Deduplicate": picking.deduplicated,
    "Distinct": picking.distinct,
    "Join": picking.joined,
    "LateralJoin": picking.lateral,
    "Union": picking.union,
    "Intersect": picking.compared,
    "Except": picking.compared,
    "SubqueryAlias": sources.aliased,
    "View": sources.view,
    "WithCTE": sources.with_cte,
    "CTERelationRef": sources.cte,
    "RelationV2": sources.table,
    "Relation": sources.files,
    "LocalRelation": sources.local,
    "LogicalRDD": sources.local,
    "Range": sources.range_rows,
    "OneRowRelation": sources.one_row,
}
