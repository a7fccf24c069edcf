"""Which events follow from a run, and what is in them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tranche.errors import Cancelled, StatementFailed
from tranche.model.asset import LakeTable, parse_address
from tranche.model.data_test import DataTestResult
from tranche.model.rows import Rows
from tranche.model.strategy import Replace
from tranche.openlineage.columns import Origin
from tranche.openlineage.partition import MOST_KEYS
from tranche.planning.given import copy_plan, given_plan, rollback_plan
from tranche.run.reconcile import reconcile

from ..run.processes import KEY, Killed
from .scene import CHAIN, DAY, START, Kept, Scene, output, plain, run_facets

A = LakeTable("main", "a")
PLACE = {"namespace": "file", "name": "/project/.tranche/warehouse/main/default/a"}
DAYS = tuple(f"2026-05-{day:02}" for day in range(1, 9))
SOLO = {"a": f"{DAY}-- materialize lake://main/a\nSELECT id, total FROM orders"}


class TestKinds:
    def test_a_run_and_each_of_its_steps_begin_and_end(self) -> None:
        scene = Scene()
        scene.run("a")
        assert scene.told == [
            ("START", "run:a"),
            ("START", "a"),
            ("COMPLETE", "a"),
            ("START", "b"),
            ("COMPLETE", "b"),
            ("START", "other"),
            ("COMPLETE", "other"),
            ("START", "c"),
            ("COMPLETE", "c"),
            ("COMPLETE", "run:a"),
        ]

    def test_what_did_not_begin_is_not_told(self) -> None:
        scene = Scene()
        scene.engine.fails("b", "staging", StatementFailed("no such column"))
        scene.run("a")
        assert ("FAIL", "b") in scene.told and ("FAIL", "run:a") in scene.told
        assert not any(job == "c" for _, job in scene.told)
        error = plain(run_facets(scene.event("FAIL", "b"))["errorMessage"])
        assert error == {"message": "no such column", "programmingLanguage": "PYTHON"}

    def test_errors_hold_no_secrets(self) -> None:
        scene = Scene(toml="[state]\nurl = 'postgresql://me:hunter22@db/state'\n")
        scene.engine.fails("a", "staging", StatementFailed("no login with hunter22"))
        scene.run("a")
        error = run_facets(scene.event("FAIL", "a"))["errorMessage"]
        assert error["message"] == "no login with ***"

    def test_a_step_that_cannot_work_begins_and_fails(self) -> None:
        other = CHAIN["b"].replace("daily", 'static keys="us"').replace("/a\n", "/a map=identity\n")
        scene = Scene({"a": CHAIN["a"], "b": other})
        scene.run("a")
        assert scene.told[3:] == [("START", "b"), ("FAIL", "b"), ("FAIL", "run:a")]

    def test_a_run_that_is_cancelled_is_aborted(self) -> None:
        scene = Scene()
        scene.engine.fails("a", "staging", Cancelled("stopped"))
        scene.run("a")
        assert scene.told == [
            ("START", "run:a"),
            ("START", "a"),
            ("ABORT", "a"),
            ("ABORT", "run:a"),
        ]

    def test_tries_are_one_run(self) -> None:
        scene = Scene({"a": CHAIN["a"].replace(DAY, f"{DAY}-- retry 2\n")})
        broken = StatementFailed("for a moment")
        broken.transient = True
        scene.engine.fails("a", "staging", broken)
        scene.meanwhile = [scene.engine.happens.clear]
        scene.run("a")
        assert [kind for kind, job in scene.told if job == "a"] == ["START", "COMPLETE"]


class TestIds:
    def test_they_follow_from_run_step_and_key(self) -> None:
        scene = Scene()
        scene.run("a")
        ids = [event["run"]["runId"] for event in scene.kept.events]
        assert len(set(ids)) == 5
        assert {UUID(each).version for each in ids} == {7}
        begun, ended = scene.event("START", "b"), scene.event("COMPLETE", "b")
        assert begun["run"]["runId"] == ended["run"]["runId"]
        parent = plain(run_facets(begun)["parent"])
        assert parent["run"]["runId"] == scene.event("START", "run:a")["run"]["runId"]
        assert (parent["job"]["namespace"], parent["job"]["name"]) == ("shop", "run:a")
        assert parent["root"]["run"]["runId"] == parent["run"]["runId"]

    @pytest.mark.parametrize(("moment", "how"), [("published", "COMPLETE"), ("staging", "FAIL")])
    def test_a_run_of_a_dead_process_is_ended_by_another(self, moment: Any, how: str) -> None:
        scene = Scene()
        scene.engine.answers["a"] = lambda step: [{"x": 1}, {"x": 2}]
        scene.engine.fails("a", moment, Killed())
        scene.killed("a")
        before = scene.kept.events
        scene.store.watcher = scene.kept = Kept(scene.project.settings)
        reconcile(scene.store.abandoned(), scene.engine, scene.store, scene.clock, scene.sleep)
        # Those that come after it had not begun.
        assert scene.told == [(how, "a"), ("FAIL", "run:a")]
        begun = [event["run"]["runId"] for event in before]
        assert [event["run"]["runId"] for event in scene.kept.events] == begun[::-1]
        made = output(scene.event(how, "a"))
        rows = made["outputFacets"].get("outputStatistics", {}).get("rowCount")
        assert rows == (2 if how == "COMPLETE" else None)
        assert plain(run_facets(scene.event(how, "a"))["tranche_partition"])["key"] == KEY


class TestDatasets:
    def test_what_is_read_and_written_with_versions(self) -> None:
        scene = Scene()
        scene.engine.answers["b"] = lambda step: [{"x": 1}]
        scene.engine.columns["b"] = (("x", "int"), ("y", "struct<z:string>"))
        scene.run("a")
        begun, ended = scene.event("START", "b"), scene.event("COMPLETE", "b")
        [read] = ended["inputs"]
        assert {name: read[name] for name in PLACE} == PLACE
        assert plain(read["facets"]["version"]) == {"datasetVersion": "s1"}
        assert "version" not in begun["inputs"][0]["facets"]
        made = output(ended)
        assert made["name"] == "/project/.tranche/warehouse/main/default/b"
        assert plain(made["facets"]["version"]) == {"datasetVersion": "2"}
        assert plain(made["outputFacets"]["outputStatistics"]) == {"rowCount": 1}
        assert plain(made["facets"]["schema"])["fields"] == [
            {"name": "x", "type": "int", "ordinal_position": 1, "fields": []},
            {"name": "y", "type": "struct<z:string>", "ordinal_position": 2, "fields": []},
        ]
        assert plain(made["facets"]["symlinks"])["identifiers"] == [
            {
                "namespace": "file:/project/.tranche/warehouse/main",
                "name": "default.b",
                "type": "TABLE",
            }
        ]
        assert plain(made["facets"]["storage"]) == {
            "storageLayer": "iceberg",
            "fileFormat": "parquet",
        }

    def test_a_history_writes_its_current_rows_too(self) -> None:
        scene = Scene(
            {
                "a": "-- pipeline\n-- materialize lake://main/a key=id history\nSELECT 1 AS id",
                "b": "-- pipeline\n-- on lake://main/a_current\n-- materialize lake://main/b\n"
                "SELECT id FROM a_current",
            }
        )
        scene.run("a", partition=None)
        written = [made["name"].rpartition("/")[2] for made in scene.event("START", "a")["outputs"]]
        assert written == ["a", "a_current"]
        [read] = scene.event("START", "b")["inputs"]
        assert read["name"].endswith("/a_current")

    def test_a_step_without_an_asset_writes_nothing(self) -> None:
        scene = Scene({"a": "-- pipeline\nSELECT 1 AS x"})
        scene.run("a", partition=None)
        assert scene.event("COMPLETE", "a")["outputs"] == []
        assert "tranche_partition" not in run_facets(scene.event("COMPLETE", "a"))


class TestDataTests:
    FOUND = (
        DataTestResult(test="unique id"),
        DataTestResult(
            test="accepted_values state = a,b",
            severity="warn",
            violations=2,
            sample=Rows((("state", "string"),), (("a secret",),)),
        ),
        DataTestResult(test="relationships id -> lake://main/b.id"),
        DataTestResult(test="tests/no_gaps.sql"),
    )

    def test_each_is_told_of_the_dataset_and_of_the_run(self) -> None:
        scene = Scene(SOLO)
        scene.engine.found["a"] = self.FOUND
        scene.run("a")
        event = scene.event("COMPLETE", "a")
        found = plain(output(event)["facets"]["dataQualityAssertions"])["assertions"]
        told = ("assertion", "column", "success", "severity", "actual")
        assert [tuple(each.get(name) for name in told) for each in found] == [
            ("unique", "id", True, "error", "0"),
            ("accepted_values", "state", False, "warn", "2"),
            ("relationships", "id", True, "error", "0"),
            ("custom_sql", None, True, "error", "0"),
        ]
        assert [
            (each["name"], each["status"]) for each in plain(run_facets(event)["test"])["tests"]
        ] == [
            ("unique id", "pass"),
            ("accepted_values state = a,b", "fail"),
            ("relationships id -> lake://main/b.id", "pass"),
            ("tests/no_gaps.sql", "pass"),
        ]
        # Rows of data are nobody's business.
        assert "a secret" not in str(scene.kept.events)

    def test_what_failed_was_not_published(self) -> None:
        scene = Scene(SOLO)
        scene.engine.found["a"] = (DataTestResult(test="unique id", violations=2),)
        scene.run("a")
        made = output(scene.event("FAIL", "a"))
        assert plain(made["facets"]["dataQualityAssertions"])["assertions"][0]["success"] is False
        assert "version" not in made["facets"] and made["outputFacets"] == {}

    def test_findings_of_several_keys_are_one(self) -> None:
        scene = Scene(SOLO)
        scene.engine.key_found["a"] = {
            day: (DataTestResult(test="unique id", violations=n),) for n, day in enumerate(DAYS)
        }
        scene.backfill("lake://main/a", DAYS)
        event = scene.event("FAIL", "a")
        [found] = plain(output(event)["facets"]["dataQualityAssertions"])["assertions"]
        assert (found["success"], found["actual"]) == (False, "28")
        partition = plain(run_facets(event)["tranche_partition"])
        assert partition["failed"] == list(DAYS[1:])
        message = run_facets(event)["errorMessage"]["message"]
        assert message.startswith("7 of 8 keys failed; 2026-05-02: a data test failed")


class TestPartitions:
    @pytest.mark.parametrize(
        ("rule", "key", "window"),
        [
            ("daily", "2026-03-29", ("2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z")),
            (
                'daily tz="Europe/Paris"',
                "2026-03-29",
                ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
            ),
            (
                'day: daily | region: static keys="us,eu"',
                "2026-03-29|eu",
                ("2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"),
            ),
            ('static keys="us,eu"', "eu", None),
        ],
    )
    def test_a_key_has_a_facet_and_a_key_of_time_its_window(
        self, rule: str, key: str, window: tuple[str, str] | None
    ) -> None:
        scene = Scene({"a": CHAIN["a"].replace("daily", rule)})
        scene.run("a", partition=key)
        facets = run_facets(scene.event("START", "a"))
        partition = plain(facets["tranche_partition"])
        assert (partition["key"], partition["keys"], partition["count"]) == (key, [key], 1)
        assert partition["partitioning"] == rule
        assert partition["kind"] == ("composite" if "|" in rule else rule.split()[0])
        found = plain(facets["nominalTime"]) if "nominalTime" in facets else None
        wanted = None
        if window is not None:
            wanted = {"nominalStartTime": window[0], "nominalEndTime": window[1]}
        assert found == wanted

    def test_a_range_is_one_run_of_its_step(self) -> None:
        scene = Scene(SOLO)
        scene.engine.answers["a"] = lambda step: [{"id": 1}]
        scene.backfill("lake://main/a", DAYS)
        assert [kind for kind, job in scene.told if job == "a"] == ["START", "COMPLETE"]
        event = scene.event("COMPLETE", "a")
        assert plain(run_facets(event)["tranche_partition"]) == {
            "partitioning": "daily",
            "kind": "daily",
            "first": DAYS[0],
            "last": DAYS[-1],
            "count": 8,
            "keys": list(DAYS),
            "failed": [],
        }
        assert plain(run_facets(event)["nominalTime"]) == {
            "nominalStartTime": "2026-05-01T00:00:00Z",
            "nominalEndTime": "2026-05-09T00:00:00Z",
        }
        assert plain(output(event)["outputFacets"]["outputStatistics"]) == {"rowCount": 8}

    def test_not_all_of_many_keys_are_listed(self) -> None:
        scene = Scene({"a": CHAIN["a"].replace("daily", "hourly")})
        keys = [
            f"2026-{m:02}-{d:02}T{h:02}" for m in (1, 3) for d in range(1, 29) for h in range(24)
        ]
        scene.backfill("lake://main/a", keys)
        for kind in ("START", "COMPLETE"):
            partition = plain(run_facets(scene.event(kind, "a"))["tranche_partition"])
            assert (partition["count"], len(partition["keys"])) == (len(keys), MOST_KEYS)
            assert (partition["first"], partition["last"]) == (keys[0], keys[-1])


class TestJobs:
    def test_a_script_tells_its_text_once(self) -> None:
        scene = Scene(SOLO, text="SELECT id, total FROM orders")
        scene.run("a")
        job = scene.event("START", "a")["job"]
        assert job["namespace"] == "shop"
        assert plain(job["facets"]["sql"]) == {
            "query": "SELECT id, total FROM orders",
            "dialect": "spark",
        }
        assert plain(job["facets"]["jobType"]) == {
            "processingType": "BATCH",
            "integration": "TRANCHE",
            "jobType": "STEP",
        }
        assert "sql" not in scene.event("COMPLETE", "a")["job"]["facets"]
        of_run = scene.event("START", "run:a")["job"]["facets"]["jobType"]
        assert plain(of_run)["jobType"] == "RUN"

    def test_what_is_not_the_script_is_another_job(self) -> None:
        scene = Scene(SOLO)
        scene.engine.answers["a"] = lambda step: [{"id": 1}]
        written = given_plan(scene.project, A, Replace(), fire_time=START, partition=KEY)
        scene.run_plan(written)
        scene.run_plan(rollback_plan(scene.project, A, "1", START))
        other = LakeTable("main", "other")
        scene.run_plan(copy_plan(scene.project, A, other, START))
        named = list(dict.fromkeys(job for _, job in scene.told))
        assert named == [
            "run:lake://main/a",
            "write:lake://main/a",
            "rollback:lake://main/a",
            "run:lake://main/other",
            "copy:lake://main/other",
        ]
        assert scene.event("START", "write:lake://main/a")["inputs"] == []
        [copied] = scene.event("START", "copy:lake://main/other")["inputs"]
        assert {name: copied[name] for name in PLACE} == PLACE

    def test_a_spark_elsewhere_has_no_version_here(self) -> None:
        near, far = Scene(SOLO), Scene(SOLO, toml='[spark]\nremote = "sc://host:15002"\n')
        found = []
        for scene in (near, far):
            scene.run("a")
            engine = plain(run_facets(scene.event("START", "a"))["processing_engine"])
            found.append(engine["name"])
        assert found == ["Spark", "Tranche"]


class TestColumns:
    def test_what_columns_are_made_of(self) -> None:
        raw = parse_address("lake://raw/orders")
        origins = {
            "id": (Origin(raw, "id", "DIRECT", "IDENTITY"),),
            "total": (
                Origin(raw, "amount", "DIRECT", "AGGREGATION"),
                Origin(raw, "id", "INDIRECT", "CONDITIONAL"),
                Origin(raw, "id", "INDIRECT", "WINDOW"),
            ),
            None: (Origin(raw, "id", "INDIRECT", "GROUP_BY"),),
        }
        scene = Scene(SOLO, columns_of=lambda script: origins)
        scene.run("a")
        facet = plain(output(scene.event("COMPLETE", "a"))["facets"]["columnLineage"])
        dataset = {"namespace": "lake://raw", "name": "default.orders"}

        def used(column: str, *uses: tuple[str, str]) -> dict[str, Any]:
            told = [{"type": kind, "subtype": subtype} for kind, subtype in uses]
            return {**dataset, "field": column, "transformations": told}

        assert facet == {
            "fields": {
                "id": {"inputFields": [used("id", ("DIRECT", "IDENTITY"))]},
                "total": {
                    "inputFields": [
                        used("amount", ("DIRECT", "AGGREGATION")),
                        used("id", ("INDIRECT", "CONDITIONAL"), ("INDIRECT", "WINDOW")),
                    ]
                },
            },
            "dataset": [used("id", ("INDIRECT", "GROUP_BY"))],
        }

    def test_what_column_lines_say(self) -> None:
        line = "-- column total <- lake://main/orders.amount\n-- materialize"
        scene = Scene({"a": SOLO["a"].replace("-- materialize", line)})
        scene.run("a")
        facet = plain(output(scene.event("COMPLETE", "a"))["facets"]["columnLineage"])
        [field] = facet["fields"]["total"]["inputFields"]
        assert (field["field"], field["transformations"]) == ("amount", [{"type": "DIRECT"}])

    def test_nobody_knows(self) -> None:
        def broken(script: object) -> None:
            raise RecursionError("nested too deeply")

        for columns_of in (lambda script: None, broken):
            scene = Scene(SOLO, columns_of=columns_of)
            scene.run("a")
            assert "columnLineage" not in output(scene.event("COMPLETE", "a"))["facets"]
