"""Every kind of event is what the schemas of the standard ask for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

from tranche.errors import Cancelled, StatementFailed
from tranche.model.asset import LakeTable
from tranche.model.data_test import DataTestResult
from tranche.model.strategy import Replace
from tranche.openlineage.columns import Origin
from tranche.openlineage.partition import SCHEMA
from tranche.planning.given import copy_plan, given_plan, rollback_plan
from tranche.run.reconcile import reconcile

from ..run.processes import KEY, Killed
from .scene import START, Event, Kept, Scene

ROOT = Path(__file__).parents[3]
OURS = ROOT / "docs/openlineage/TranchePartitionRunFacet.json"
CORE = "https://openlineage.io/spec/2-0-2/OpenLineage.json"
A = LakeTable("main", "a")


def specification() -> Path | None:
    beside = ROOT / "tests/cases/openlineage/spec"
    named = os.environ.get("TRANCHE_OPENLINEAGE_SPEC")
    if beside.is_dir():
        return beside
    return Path(named) if named else None


class Schemas:
    """The published schemas, and ours, by their ids. None is ever looked for elsewhere."""

    def __init__(self, folder: Path) -> None:
        files = [folder / "OpenLineage.json", *(folder / "facets").glob("*.json"), OURS]
        contents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        self.ids = {content["$id"] for content in contents}
        self.registry: Registry[Any] = Registry().with_resources(
            (content["$id"], Resource.from_contents(content)) for content in contents
        )

    def faults(self, value: Any, url: str) -> list[str]:
        checker = Draft202012Validator(
            {"$ref": url}, registry=self.registry, format_checker=FormatChecker()
        )
        return [f"{error.json_path}: {error.message}" for error in checker.iter_errors(value)]

    def check(self, event: Event) -> None:
        assert self.faults(event, CORE) == []
        assert self.faults(event, event["schemaURL"]) == []
        for name, facet in facets_of(event):
            url = facet["_schemaURL"]
            assert url.partition("#")[0] in self.ids, f"{name} is of an unknown version: {url}"
            assert self.faults(facet, url) == [], name
            # The schema of a facet says what it is called, too.
            assert self.faults({name: facet}, url.partition("#")[0]) == [], name
            [known] = self.registry.contents(url.partition("#")[0])["properties"]
            assert name == known


def facets_of(event: Event) -> Iterator[tuple[str, dict[str, Any]]]:
    held = [event["run"], event["job"], *event.get("inputs", ()), *event.get("outputs", ())]
    for holder in held:
        for kind in ("facets", "inputFacets", "outputFacets"):
            yield from holder.get(kind, {}).items()


@pytest.fixture(scope="module")
def schemas() -> Schemas:
    folder = specification()
    if folder is None:
        pytest.skip("the schemas of OpenLineage are not here; see tests/cases/openlineage")
    return Schemas(folder)


def succeeded() -> list[Event]:
    scene = Scene(text="SELECT 1")
    scene.engine.answers["b"] = lambda step: [{"x": 1}]
    scene.engine.columns["b"] = (("x", "int"), ("y", "struct<z:string>"))
    scene.run("a")
    return scene.kept.events


def with_findings() -> list[Event]:
    scene = Scene()
    scene.engine.found["a"] = (
        DataTestResult(test="unique x"),
        DataTestResult(test="tests/odd.sql", severity="warn", violations=2),
    )
    scene.engine.found["b"] = (DataTestResult(test="not_null x", violations=1),)
    scene.run("a")
    return scene.kept.events


def failed() -> list[Event]:
    scene = Scene()
    scene.engine.fails("b", "staging", StatementFailed("no such column"))
    scene.run("a")
    return scene.kept.events


def cancelled() -> list[Event]:
    scene = Scene()
    scene.engine.fails("a", "staging", Cancelled("stopped"))
    scene.run("a")
    return scene.kept.events


def ranged() -> list[Event]:
    scene = Scene()
    days = [f"2026-05-{day:02}" for day in range(1, 9)]
    found = {day: (DataTestResult(test="unique x", violations=n),) for n, day in enumerate(days)}
    scene.engine.key_found["a"] = found
    scene.backfill("lake://main/a", days)
    return scene.kept.events


def without_keys() -> list[Event]:
    scene = Scene(
        {
            "a": "-- pipeline\n-- materialize lake://main/a key=id history\nSELECT 1 AS id",
            "b": "-- pipeline\n-- on lake://main/a\nSELECT * FROM read_json('data/*.json')",
        }
    )
    scene.run("a", partition=None)
    return scene.kept.events


def with_columns() -> list[Event]:
    uses: list[Any] = [
        ("DIRECT", "IDENTITY"),
        ("DIRECT", "TRANSFORMATION"),
        ("DIRECT", "AGGREGATION"),
        ("INDIRECT", "JOIN"),
        ("INDIRECT", "GROUP_BY"),
        ("INDIRECT", "FILTER"),
        ("INDIRECT", "SORT"),
        ("INDIRECT", "WINDOW"),
        ("INDIRECT", "CONDITIONAL"),
        ("DIRECT", None),
    ]
    origins = tuple(Origin(A, "x", *use) for use in uses)
    scene = Scene(columns_of=lambda script: {"x": origins, None: origins[3:6]})
    scene.run("a")
    return scene.kept.events


def by_hand() -> list[Event]:
    scene = Scene()
    given = given_plan(scene.project, A, Replace(), fire_time=START, partition=KEY)
    scene.run_plan(given)
    scene.run_plan(rollback_plan(scene.project, A, "1", START))
    scene.run_plan(copy_plan(scene.project, A, LakeTable("main", "z"), START))
    return scene.kept.events


def python() -> list[Event]:
    scene = Scene(text="def main(): ...")
    changed = [replace(s, language="python", tags=("money",)) for s in scene.project.scripts]
    scene.project = replace(scene.project, scripts=tuple(changed))
    scene.run("a")
    return scene.kept.events


def recovered() -> list[Event]:
    scene = Scene()
    scene.engine.fails("a", "published", Killed())
    scene.killed("a")
    scene.store.watcher = scene.kept = Kept(scene.project.settings)
    reconcile(scene.store.abandoned(), scene.engine, scene.store, scene.clock, scene.sleep)
    return scene.kept.events


CASES = [
    succeeded,
    with_findings,
    failed,
    cancelled,
    ranged,
    without_keys,
    with_columns,
    by_hand,
    python,
    recovered,
]


@pytest.mark.parametrize("made", CASES, ids=lambda made: made.__name__)
def test_events_are_valid(made: Any, schemas: Schemas) -> None:
    for event in made():
        schemas.check(event)


def test_all_kinds_are_among_them() -> None:
    events = [event for made in CASES for event in made()]
    of_run = {event["eventType"] for event in events if event["job"]["name"].startswith("run:")}
    of_step = {event["eventType"] for event in events} - {None}
    assert of_run == of_step == {"START", "COMPLETE", "FAIL", "ABORT"}
    facets = {name for event in events for name, _ in facets_of(event)}
    assert facets == {
        *("parent", "processing_engine", "nominalTime", "tranche_partition", "errorMessage"),
        *("test", "jobType", "sql", "symlinks", "storage", "version", "schema", "columnLineage"),
        *("dataQualityAssertions", "outputStatistics", "sourceCode", "tags"),
    }


def test_every_facet_says_who_made_it() -> None:
    for made in CASES:
        for event in made():
            assert event["producer"].startswith("urn:tranche:")
            for name, facet in facets_of(event):
                assert facet["_producer"] == event["producer"], name
                assert facet["_schemaURL"].startswith(("https://openlineage.io/spec/", "urn:")), (
                    name
                )


def test_our_schema_has_the_id_that_events_name(schemas: Schemas) -> None:
    assert json.loads(OURS.read_text(encoding="utf-8"))["$id"] == SCHEMA
    wrong = {"_producer": "urn:x", "_schemaURL": SCHEMA, "first": 1, "last": "a", "count": 0}
    found = schemas.faults(wrong, f"{SCHEMA}#/$defs/TranchePartitionRunFacet")
    assert len(found) == 3


def test_what_is_wrong_is_found(schemas: Schemas) -> None:
    event = succeeded()[1]
    event["run"]["runId"] = "no uuid"
    assert schemas.faults(event, CORE)
    del event["run"]
    assert schemas.faults(event, event["schemaURL"])
