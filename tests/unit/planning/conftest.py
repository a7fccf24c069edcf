"""Projects from texts, and a state that knows what it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from tranche.errors import Fault, Place
from tranche.model.plan import Plan, Request
from tranche.model.project import Lake, Project, Settings, SparkSettings
from tranche.model.run import PartitionState
from tranche.planning.plan import build_plan
from tranche.script.lakes import Lakes
from tranche.script.sql import read_sql_script

NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)


@dataclass
class KnownState:
    """Stands in for a store: the keys that are materialized."""

    keys: set[tuple[str, str | None]] = field(default_factory=set)

    def partitions(self, asset: str, *, limit: int, **_: object) -> list[PartitionState]:
        known = [key for name, key in sorted(self.keys, key=str) if name == asset]
        return [state for key in known[:limit] if (state := self.partition(asset, key))]

    def standing(self, asset: str, keys: Sequence[str | None]) -> dict[str | None, PartitionState]:
        return {key: state for key in keys if (state := self.partition(asset, key))}

    def partition(self, asset: str, partition: str | None) -> PartitionState | None:
        if (asset, partition) not in self.keys:
            return None
        return PartitionState(
            asset=asset,
            partition=partition,
            ordinal=None,
            status="succeeded",
            run="r",
            at=NOON,
            materialization="m",
        )


def project_of(texts: dict[str, str], faults: tuple[Fault, ...] = ()) -> Project:
    """A project of scripts by name; each text is the annotations, a semicolon between two."""
    scripts = []
    for name, text in texts.items():
        header, _, body = text.partition(" :: ")
        lines = ["pipeline", *(line.strip() for line in header.split(";") if line.strip())]
        source = "".join(f"-- {line}\n" for line in lines) + (body or "SELECT 1 AS a")
        read = read_sql_script(
            name, f"pipelines/{name}.sql", source, Lakes(frozenset({"main"}), "main")
        )
        assert [str(fault) for fault in read.faults] == []
        assert read.script is not None
        scripts.append(read.script)
    return Project(
        settings=Settings(
            name="p",
            root="/p",
            state_url="sqlite://",
            spark=SparkSettings(),
            lakes={"main": Lake(name="main", warehouse="/w")},
            default_lake="main",
        ),
        scripts=tuple(scripts),
        faults=faults,
        broken=tuple(
            fault.place.path.removeprefix("pipelines/").removesuffix(".sql") for fault in faults
        ),
    )


@pytest.fixture
def project() -> Callable[..., Project]:
    return project_of


@pytest.fixture
def fault() -> Callable[[str], Fault]:
    return lambda name: Fault(Place(f"pipelines/{name}.sql", 2), "wrong", "do it right")


@pytest.fixture
def state() -> KnownState:
    return KnownState()


@pytest.fixture
def plan(state: KnownState) -> Callable[..., Plan]:
    """The plan for a target in a project of texts."""

    def _plan(texts: dict[str, str], target: str, **given: Any) -> Plan:
        separates = given.pop("separates", lambda _: None)
        request = Request(target=target, **{"fire_time": NOON, "scheduled": True, **given})
        return build_plan(project_of(texts), request, state, separates)  # type: ignore[arg-type]

    return _plan
