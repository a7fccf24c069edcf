"""Where a step's rows go."""

from __future__ import annotations

from dataclasses import dataclass

from tranche.errors import NotBuiltYet, Place, ResolutionError
from tranche.model.asset import LakeTable
from tranche.model.layout import Transform
from tranche.model.partitioning import TimePartitioning
from tranche.model.plan import Step
from tranche.model.project import Lake, Settings
from tranche.model.strategy import History, Materialize, Replace, SchemaPolicy, Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table, the slice of it that is written, and how."""

    table: LakeTable
    strategy: Strategy
    sliced: bool
    """Whether the table has slices; if not, all of it is one."""
    keys: tuple[str, ...] = ()
    """The keys of the slice; none if the table has no slices."""
    policy: SchemaPolicy
    layout: tuple[Transform, ...] | None = None
    """None if the script says nothing about it."""
    layout_place: Place | None = None
    key_paths: bool = False
    """Whether keys may stand in the paths of files: they are short, and folders are real ones."""

    @property
    def ranged(self) -> bool:
        """Whether the rows are of several keys, and say themselves of which."""
        return len(self.keys) > 1

    @property
    def partition(self) -> str:
        """The one key of the slice."""
        (key,) = self.keys
        return key

    @property
    def rebuilds(self) -> bool:
        """Whether every row of the table is written anew, so that its columns may change."""
        return isinstance(self.strategy, Replace) and not self.sliced


def target_of(step: Step, made: Materialize, settings: Settings) -> Target:
    table = made.asset
    if not isinstance(table, LakeTable):
        raise NotBuiltYet(f"{made.strategy.name} into {table} cannot be run yet")
    partitioned = step.script.partitioning is not None
    keys = tuple(key for key in step.keys if key is not None)
    if partitioned and not keys:
        raise ResolutionError(f"{table} has partitions, and the step has no key")
    # A history is one table of versions; only what it was derived from has slices.
    sliced = partitioned and not isinstance(made.strategy, History)
    rebuilds = isinstance(made.strategy, Replace) and not sliced
    annotations = step.script.annotations
    return Target(
        table=table,
        strategy=made.strategy,
        sliced=sliced,
        keys=keys,
        policy=made.on_schema_change or ("sync" if rebuilds else "fail"),
        layout=annotations.layout or None,
        layout_place=Place(step.script.path, annotations.line("layout")),
        key_paths=isinstance(step.script.partitioning, TimePartitioning)
        and _is_local(settings.lakes.get(table.lake)),
    )


def _is_local(lake: Lake | None) -> bool:
    """Whether the files of a lake lie in folders, as far as the settings tell."""
    if lake is None or lake.catalog is not None:
        return False
    return "://" not in lake.warehouse or lake.warehouse.startswith("file:")
