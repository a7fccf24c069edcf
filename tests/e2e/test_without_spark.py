"""Commands that touch no data: fast, without Spark, and clear about what is wrong."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tranche.model.data_test import DataTestResult
from tranche.model.pending import Decisions, Pending
from tranche.model.rows import Rows
from tranche.model.run import Materialization, Outcome, Run, StepRecord
from tranche.ports import StateStore
from tranche.state.opening import open_store

from .conftest import Shell

DAILY = "-- pipeline\n-- partitioned daily\n-- materialize lake://main/{name}\n{on}SELECT 1 AS x\n"

BROKEN = {
    "kind": ("-- pipeline\n-- partitioned dayly\nSELECT 1", 2, "did you mean 'daily'?"),
    "zone": ('-- pipeline\n-- partitioned daily tz="Europe/Pari"\nSELECT 1', 2, "Europe/Paris"),
    "start": ('-- pipeline\n-- partitioned daily start="soon"\nSELECT 1', 2, "'soon'"),
    "format": ('-- pipeline\n-- partitioned daily format="%d"\nSELECT 1', 2, "%d"),
    "cron": ('-- pipeline\n-- on schedule "every day"\nSELECT 1', 2, "is no cron"),
    "option": (
        "-- pipeline\n-- partitioned daily color=red\nSELECT 1",
        2,
        "unknown option 'color'",
    ),
    "two": ("-- pipeline\nSELECT 1;\nSELECT 2", 2, "2 SELECTs"),
    "none": ("-- pipeline\nSET a.b = 1", 2, "not with a SELECT"),
    "ddl": ("-- pipeline\nSELECT 1;\nDROP TABLE x", 3, "ends with DROP TABLE"),
    "lake": ("-- pipeline\n-- materialize lake://mian/x\nSELECT 1 AS a", 2, "unknown lake 'mian'"),
    "managed": (
        "-- pipeline\n-- materialize lake://main/y\nSELECT 1 AS _tranche_partition",
        3,
        "projects _tranche_partition",
    ),
    "token": (
        "-- pipeline\n-- partitioned daily\nSELECT 'x/{partition}/y'",
        3,
        "write 'x/' || '{partition}' || '/y'",
    ),
}


def test_every_fault_of_every_script_is_reported_with_its_place(shell: Shell) -> None:
    for name, (text, _, _) in BROKEN.items():
        shell.write(f"pipelines/{name}.sql", text)
    shell.write("pipelines/good.sql", "-- pipeline\nSELECT 1 AS a")
    done = shell.tranche("check")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    for name, (_, line, message) in BROKEN.items():
        found = [text for text in lines if text.startswith(f"pipelines/{name}.sql:{line}: ")]
        assert found, (name, done.stdout)
        assert any(message in text for text in found), (name, found)
    assert lines[-1].startswith("1 script is sound")
    assert not (shell.folder / ".tranche" / "state.db").exists()


def test_faults_as_json(shell: Shell) -> None:
    shell.write("pipelines/kind.sql", BROKEN["kind"][0])
    report = shell.json("check", code=1)
    assert report["status"] == "failed"
    assert report["faults"][0].startswith("pipelines/kind.sql:2: unknown kind 'dayly'")


WRONG = {
    "no such target": (
        ["run", "nothing"],
        2,
        "no script, job, asset or folder is called 'nothing'",
    ),
    "a near target": (["run", "ordres"], 2, "did you mean 'orders'?"),
    "bad key": (["run", "orders", "-p", "2026-5-1"], 2, "its keys look like"),
    "empty key": (["run", "orders", "-p", ""], 2, "empty"),
    "unknown argument": (["run", "orders", "--arg", "a=1"], 2, "takes the argument 'a'"),
    "bad argument": (["run", "orders", "--arg", "a"], 2, "write --arg name=value"),
    "payload": (["run", "tenants", "--payload", "{"], 2, "--payload is no JSON"),
    "no payload": (["run", "tenants"], 1, "and there is none"),
    "payload without the key": (["run", "tenants", "--payload", '{"b": 1}'], 1, "nothing at '$.a'"),
    "payload with an object": (["run", "tenants", "--payload", '{"a": {}}'], 1, "an object"),
    "static without key": (["run", "regions"], 1, "us, eu"),
    "static with another key": (["run", "regions", "-p", "ue"], 2, "eu"),
    "key for nothing": (["run", "whole", "-p", "2026-05-01"], 2, "nothing that would run has"),
    "bad time": (["run", "orders", "--at", "noon"], 2, "is no time"),
    "time without zone": (["run", "orders", "--at", "2026-05-16T00:00"], 2, "has no time zone"),
    "unknown asset": (["status", "lake://main/odrers"], 2, "did you mean 'lake://main/orders'?"),
    "unknown target": (["check", "-t", "prod"], 2, "no target 'prod'"),
    "several statements": (["sql", "SELECT 1; SELECT 2"], 2, "2 statements"),
    "no statement": (["sql", "  "], 2, "no statement"),
    "two questions": (["show", "orders", "--schema", "--violations"], 2, "ask one at a time"),
    "whole and partition": (["show", "orders", "--whole", "-p", "x"], 2, "contradict"),
    "whole schema": (["show", "orders", "--whole", "--schema"], 2, "--whole is about rows"),
    "columns of one slice": (["show", "orders", "--schema", "-p", "x"], 2, "leave --partition out"),
    "limited violations": (["show", "whole", "--violations", "--limit", "1"], 2, "--limit out"),
    "violations of which": (["show", "orders", "--violations"], 2, "name it with --partition"),
    "violations of a bad key": (["show", "orders", "--violations", "-p", "x"], 2, "look like"),
    "violations without key": (["show", "whole", "--violations", "-p", "x"], 2, "no partitions"),
    "two snapshots": (["show", "orders", "--snapshot", "1", "--at", "x"], 2, "give one of them"),
    "a snapshot of columns": (
        ["show", "orders", "--snapshot", "1", "--schema"],
        2,
        "is about rows",
    ),
    "a time of violations": (["show", "whole", "--at", "x", "--violations"], 2, "is about rows"),
    "a snapshot of snapshots": (["show", "whole", "--snapshot", "1", "--snapshots"], 2, "drop it"),
    "snapshots and columns": (["show", "whole", "--schema", "--snapshots"], 2, "one at a time"),
    "snapshots of a slice": (["show", "orders", "--snapshots", "-p", "x"], 2, "all partitions"),
    "no snapshot": (["show", "orders", "--snapshot", "latest"], 2, "'latest' is no snapshot"),
    "a huge snapshot": (["show", "orders", "--snapshot", "9" * 30], 2, "is no snapshot"),
    "rows at no time": (["show", "orders", "--at", "noon"], 2, "is no time"),
    "rows at no zone": (["show", "orders", "--at", "2026-05-16T00:00"], 2, "has no time zone"),
    "snapshots of what": (["show", "odrers", "--snapshots"], 2, "did you mean"),
    "filtered columns": (["show", "orders", "--schema", "--where", "a=1"], 2, "is about rows"),
    "no filter": (["show", "orders", "--where", "a"], 2, "compares no column with a value"),
    "no order": (["show", "orders", "--order", "a b"], 2, "is no column to sort by"),
    "a slice of versions": (["show", "past", "-p", "2026-05-01"], 2, "has versions"),
    "explain several": (["explain", "."], 2, "one is explained at a time"),
    "explain upstreams": (["explain", "+orders"], 2, "one is explained at a time"),
    "explain what": (["explain", "ordres"], 2, "did you mean 'orders'?"),
    "explain a bad key": (["explain", "orders", "-p", "x"], 2, "its keys look like"),
    "explain a bad second": (["explain", "orders", "x"], 2, "its keys look like"),
    "explain two keys": (["explain", "orders", "2026-05-01", "-p", "2026-05-02"], 2, "one of them"),
    "explain a key of the whole": (["explain", "whole", "2026-05-01"], 2, "would run has"),
    "explain a bad time": (["explain", "orders", "--at", "noon"], 2, "is no time"),
    "explain an argument": (["explain", "orders", "--arg", "a=1"], 2, "takes the argument 'a'"),
    "explain without key": (["explain", "regions"], 1, "us, eu"),
    "resume with options of its own": (["backfill", "resume", "x", "--all"], 2, "takes no options"),
    "a dry run of cancel": (["backfill", "cancel", "x", "--dry-run"], 2, "takes no options"),
    "scan what writes": (["explain", "manual", "--scan"], 2, "writes by itself"),
}


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Scripts of each kind, for commands that leave nothing behind."""
    folder = tmp_path_factory.mktemp("several") / "shop"
    folder.mkdir()
    shell = Shell(folder)
    shell.write("pipelines/t.sql", DAILY.format(name="t", on=""))
    shell.write("pipelines/orders.sql", DAILY.format(name="orders", on=""))
    shell.write("pipelines/whole.sql", "-- pipeline\n-- materialize lake://main/w\nSELECT 1 AS x")
    shell.write(
        "pipelines/tenants.sql",
        '-- pipeline\n-- partitioned dynamic key="$.a"\n-- materialize lake://main/u\nSELECT 1 AS x',
    )
    shell.write(
        "pipelines/regions.sql",
        '-- pipeline\n-- partitioned static keys="us,eu"\n-- materialize lake://main/r\nSELECT 1 AS x',
    )
    shell.write(
        "pipelines/manual.sql",
        "-- pipeline\n-- materialize manual lake://main/by_hand\nDELETE FROM by_hand",
    )
    shell.write(
        "pipelines/past.sql",
        "-- pipeline\n-- partitioned daily\n"
        "-- materialize lake://main/past key=x history at=partition\nSELECT 1 AS x",
    )
    shell.warm(spark=False)
    yield shell
    shell.close()


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_gets_a_sentence_and_leaves_nothing(several: Shell, case: str) -> None:
    args, code, message = WRONG[case]
    done = several.tranche(*args)
    assert done.returncode == code, done.stdout + done.stderr
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not (several.folder / ".tranche" / "warehouse").exists()


def test_a_corrupt_tranche_toml_is_located(shell: Shell) -> None:
    shell.write("pipelines/a.sql", "-- pipeline\nSELECT 1")
    shell.write("tranche.toml", "[project]\nname = shop\n")
    done = shell.tranche("check")
    assert done.returncode == 2
    assert done.stderr.startswith("error: tranche.toml:2: no valid TOML")


def test_no_project_is_said(tmp_path: Path) -> None:
    done = Shell(tmp_path).tranche("check")
    assert done.returncode == 2
    assert "make one with 'tranche init'" in done.stderr


def test_a_command_finds_its_project_from_below(shell: Shell) -> None:
    shell.write("pipelines/deep/er/a.sql", "-- pipeline\nSELECT 1 AS x")
    done = shell.tranche("check", cwd=shell.folder / "pipelines" / "deep")
    assert done.stdout == "1 script is sound\n"


def test_a_plan_is_printed_and_nothing_made(shell: Shell) -> None:
    shell.write("pipelines/a.sql", DAILY.format(name="a", on=""))
    shell.write("pipelines/b.sql", DAILY.format(name="b", on="-- on lake://main/a\n"))
    plan = shell.json("run", "a", "-p", "2026-05-16", "--dry-run")
    assert [(s["script"], s["partition"], s["verdict"]) for s in plan["steps"]] == [
        ("a", "2026-05-16", "run"),
        ("b", "2026-05-16", "run"),
    ]
    assert not (shell.folder / ".tranche" / "state.db").exists()


def test_a_step_is_explained(shell: Shell) -> None:
    shell.write("pipelines/a.sql", DAILY.format(name="a", on=""))
    shell.write(
        "pipelines/b.sql",
        '-- pipeline\n-- partitioned daily tz="Europe/Paris" lag=1\n-- on lake://main/a\n'
        "-- materialize lake://main/b key=x\n-- $who (string)\n"
        "CREATE TEMPORARY VIEW v AS SELECT * FROM a WHERE _tranche_partition = '{partition}';\n\n"
        "SELECT x, $who AS who FROM v JOIN read_json('in/' || '{partition}' || '.json') USING (x);\n",
    )
    asked = ("explain", "b", "--at", "2024-05-16T23:00:00Z", "--arg", "who=o'neill")
    done = shell.tranche(*asked)
    assert (
        done.stdout
        == """\
nothing has asked for it, and it waits for lake://main/a 2024-05-16
→ tranche run +b --partition 2024-05-16

lake://main/b by merge
partition 2024-05-16, the period of 2024-05-17T01:00:00+02:00 in Europe/Paris, less a lag of 1
reads     file:in/{partition}.json
on        lake://main/a 2024-05-16 map=identity (inferred): missing

-- pipelines/b.sql:6
CREATE TEMPORARY VIEW v AS SELECT * FROM `main`.`default`.`a` WHERE _tranche_partition = :_tranche_key;
   :_tranche_key = '2024-05-16'

-- pipelines/b.sql:8
SELECT x, :_tranche_argument_who AS who FROM v JOIN _tranche_files_0 USING (x);
   :_tranche_argument_who = "o'neill"
   _tranche_files_0 = read_json('in/2024-05-16.json')
"""
    )
    found = shell.json(*asked)
    assert (found["asset"], found["strategy"], found["partition"], found["partition_from"]) == (
        "lake://main/b",
        "merge",
        "2024-05-16",
        "time",
    )
    assert found["inputs"][0] == {"asset": "lake://main/a", "partition": "2024-05-16"}
    view, select = found["statements"]
    assert view["parameters"] == {"_tranche_key": "2024-05-16"}
    assert select["parameters"] == {"_tranche_argument_who": "o'neill"}
    assert select["files"][0]["path"] == "in/2024-05-16.json"
    assert found["scans"] is None
    assert found["story"]["status"] == "unasked"
    assert found["story"]["needs"][0]["missing"] == ["2024-05-16"]
    assert not (shell.folder / ".tranche" / "state.db").exists()


def test_graphs_keep_the_token(shell: Shell) -> None:
    shell.write(
        "pipelines/a.sql",
        "-- pipeline\n-- partitioned daily\n-- materialize lake://main/a\n"
        "SELECT * FROM read_json('in/' || '{partition}' || '.json')",
    )
    shell.write("pipelines/b.sql", DAILY.format(name="b", on="-- on lake://main/a\n"))
    for form in ("text", "mermaid", "dot", "json"):
        done = shell.tranche("graph", "--format", form)
        assert done.returncode == 0
        assert "in/{partition}.json" in done.stdout
    graph = shell.json("graph")
    edge = {"from": "lake://main/a", "to": "b", "triggers": True, "map": "identity"}
    assert edge in graph["edges"]


def test_graphs_show_how_keys_are_mapped(shell: Shell) -> None:
    shell.write("pipelines/a.sql", DAILY.format(name="a", on=""))
    shell.write(
        "pipelines/m.sql",
        "-- pipeline\n-- on lake://main/a\n-- partitioned monthly\n"
        "-- materialize lake://main/m\nSELECT count(*) AS n FROM a",
    )
    assert "⚡ lake://main/a  (rollup)" in shell.tranche("graph").stdout
    assert '==>|"rollup"|' in shell.tranche("graph", "-f", "mermaid").stdout
    assert '[style=bold, label="rollup"]' in shell.tranche("graph", "-f", "dot").stdout
    edge = {"from": "lake://main/a", "to": "m", "triggers": True, "map": "rollup"}
    assert edge in shell.json("graph")["edges"]


def test_keys_that_do_not_hang_together_are_a_fault(shell: Shell) -> None:
    shell.write("pipelines/a.sql", DAILY.format(name="a", on=""))
    shell.write(
        "pipelines/r.sql",
        '-- pipeline\n-- partitioned static keys="us,eu"\n-- on lake://main/a\n'
        "-- materialize lake://main/r\nSELECT 1 AS n",
    )
    done = shell.tranche("check")
    assert done.returncode == 1
    assert (
        "pipelines/r.sql:3: lake://main/a: daily keys feed static ones" in done.stderr + done.stdout
    )
    assert shell.tranche("run", "r", "--partition", "us").returncode != 0


def test_a_state_of_a_newer_version_is_refused(shell: Shell) -> None:
    import sqlite3

    shell.write("pipelines/a.sql", DAILY.format(name="a", on=""))
    (shell.folder / ".tranche").mkdir()
    with sqlite3.connect(shell.folder / ".tranche" / "state.db") as database:
        database.execute("CREATE TABLE tranche_version (version_num TEXT)")
        database.execute("INSERT INTO tranche_version VALUES ('9999')")
    done = shell.tranche("status")
    assert done.returncode == 1
    assert "newer" in done.stderr


def test_init_makes_a_sound_project_and_overwrites_nothing(shell: Shell) -> None:
    made = shell.json("init")
    assert "pipelines/ingest_orders.sql" in made["files"]
    assert shell.json("check")["status"] == "succeeded"
    again = shell.tranche("init")
    assert again.returncode == 2
    assert "is there already" in again.stderr


def _used() -> float:
    """Seconds of the processor that commands have taken; the clock would count others too."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class TestSpeed:
    """On 200 scripts, generous to noisy machines; the figures that count are in `make bench`."""

    @pytest.fixture(scope="class")
    @classmethod
    def large(cls, tmp_path_factory: pytest.TempPathFactory) -> Shell:
        shell = Shell(tmp_path_factory.mktemp("large"))
        for number in range(200):
            on = f"-- on lake://main/t{number - 1}\n" if number else ""
            shell.write(f"pipelines/t{number}.sql", DAILY.format(name=f"t{number}", on=on))
        # Without a ledger there would be nothing to read.
        open_store("sqlite:///.tranche/state.db", create=True, root=shell.folder).close()
        return shell

    @pytest.mark.parametrize("command", ["check", "graph", "status", "explain t7"])
    def test_no_spark_is_imported_and_parsed_scripts_are_not_parsed_again(
        self, large: Shell, command: str
    ) -> None:
        large.tranche("check")
        code = (
            "import sys, runpy\n"
            f"sys.argv = ['tranche', *{command.split()!r}]\n"
            "try:\n"
            "    from tranche.cli import main; main()\n"
            "except SystemExit: pass\n"
            "bad = [m for m in ('pyspark', 'py4j', 'sqlglot', 'alembic', 'sqlalchemy') if m in sys.modules]\n"
            "print('IMPORTED', bad)\n"
        )
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=large.folder,
            capture_output=True,
            text=True,
            env=env,
            check=True,
        )
        assert done.stdout.splitlines()[-1] == "IMPORTED []"

    @pytest.mark.parametrize("command", ["--help", "check", "graph", "status", "explain t7"])
    def test_commands_answer_at_once(self, large: Shell, command: str) -> None:
        large.env["PYTHONDONTWRITEBYTECODE"] = ""
        large.tranche(*command.split())
        times = []
        for _ in range(3):
            began = _used()
            assert large.tranche(*command.split()).returncode == 0
            times.append(_used() - began)
        assert min(times) < 1.5


def test_errors_as_json_leave_standard_output_to_the_json(shell: Shell) -> None:
    shell.write("pipelines/orders.sql", DAILY.format(name="orders", on=""))
    done = shell.tranche("run", "orders", "-p", "x", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["kind"] == "KeyRejected"


@pytest.mark.parametrize(
    "args",
    [
        ["run"],
        ["run", "a", "--nope"],
        ["nothing"],
        ["graph", "-f", "pdf"],
        ["status", "--limit", "0"],
        ["check", "extra"],
        ["run", "orders", "--at", "0001-01-01T00:00:00+14:00"],
        ["run", "orders", "--payload", '{"a": NaN}'],
        ["run", "orders", "--payload", "[" * 20000],
    ],
)
def test_a_command_line_that_does_not_parse_as_json(shell: Shell, args: list[str]) -> None:
    shell.write("pipelines/orders.sql", DAILY.format(name="orders", on=""))
    done = shell.tranche(*args, "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["message"]
    assert "Traceback" not in done.stderr


def test_control_characters_do_not_reach_the_terminal(shell: Shell) -> None:
    shell.write("pipelines/a\x1b[31m.sql", "-- pipeline\n-- partitioned dayly\nSELECT 1")
    shell.write("pipelines/b\x1b[31m.sql", "-- pipeline\nSELECT * FROM read_json('\x9b[31m')")
    for command in (["check"], ["graph"], ["graph", "-f", "dot"], ["graph", "-f", "mermaid"]):
        done = shell.tranche(*command)
        assert "\x1b" not in done.stdout + done.stderr
        assert "\x9b" not in done.stdout + done.stderr


def test_one_script_that_nests_too_deeply_leaves_the_others_alone(shell: Shell) -> None:
    shell.write("pipelines/deep.sql", f"-- pipeline\nSELECT {'(' * 3000}1{')' * 3000}")
    shell.write("pipelines/good.sql", DAILY.format(name="good", on=""))
    report = shell.json("check", code=1)
    assert [s["script"] for s in report["scripts"]] == ["good"]
    assert report["faults"][0].startswith("pipelines/deep.sql: it is nested too deeply")


class TestWhatIsKept:
    """Violations and columns come from the ledger, so that no Spark is needed to see them."""

    @pytest.fixture
    def ledger(self, shell: Shell) -> Iterator[StateStore]:
        shell.write("pipelines/a.sql", DAILY.format(name="a", on=""))
        shell.write("pipelines/b.sql", "-- pipeline\n-- on lake://main/a map=all\nSELECT y FROM a")
        store = open_store("sqlite:///.tranche/state.db", create=True, root=shell.folder)
        yield store
        store.close()

    def record(
        self, store: StateStore, number: int, status: Outcome, columns: str, *tests: DataTestResult
    ) -> None:
        at = datetime(2026, 5, 16, number, tzinfo=UTC)
        run, day = f"r{number}", "2026-05-16"
        step = StepRecord(
            run=run,
            position=0,
            script="a",
            asset="lake://main/a",
            partition=day,
            ordinal=at,
            strategy="replace",
            status="waiting",
        )
        entry = Materialization(
            id=f"m{number}",
            asset="lake://main/a",
            partition=day,
            ordinal=at,
            status=status,
            run=run,
            attempt=f"t{number}",
            fingerprint="f",
            started_at=at,
            finished_at=at,
            tests=tests,
        )
        store.begin_run(
            Run(id=run, target="a", status="running", fire_time=at, started_at=at), [step]
        )
        kept = tuple((name, "int") for name in columns.split())
        store.finish_step(replace(step, status=status, finished_at=at), [entry], columns=kept)
        store.finish_run(run, "succeeded" if status == "succeeded" else "failed", at=at)

    def test_violations(self, shell: Shell, ledger: StateStore) -> None:
        show = ("show", "a", "-p", "2026-05-16", "--violations")
        assert shell.tranche(*show).stdout == (
            "no data test has found anything in lake://main/a 2026-05-16\n"
        )
        assert shell.json(*show)["tests"] == []
        rows = Rows((("x", "int"), ("who", "string")), ((1, "a\x1b"), (None, "b")))
        self.record(
            ledger,
            1,
            "failed",
            "",
            DataTestResult(test="unique x", violations=7, sample=rows),
            DataTestResult(test="not_null x"),
        )
        found = shell.json(*show)
        assert (found["run"], found["status"], found["passed_since"]) == ("r1", "failed", None)
        assert found["tests"] == [
            {
                "test": "unique x",
                "status": "failed",
                "severity": "error",
                "violations": 7,
                "rows": [{"x": 1, "who": "a\x1b"}, {"x": None, "who": "b"}],
            }
        ]
        self.record(ledger, 2, "succeeded", "x", DataTestResult(test="unique x"))
        lines = shell.tranche(*show).stdout.splitlines()
        assert lines[0].endswith(
            "the run r1 at 2026-05-16T01:00:00+00:00; its slice was not published"
        )
        assert lines[1] == "a run at 2026-05-16T02:00:00+00:00 has passed since"
        assert lines[3] == "unique x: 7 rows, 2 of them:"
        assert [line.split() for line in lines[4:]] == [
            ["x", "who"],
            ["1", "a\\x1b"],
            ["NULL", "b"],
        ]
        self.record(
            ledger, 3, "succeeded", "x", DataTestResult(test="w", severity="warn", violations=1)
        )
        assert "was published all the same" in shell.tranche(*show).stdout

    def test_the_story_of_a_key(self, shell: Shell, ledger: StateStore) -> None:
        day = "2026-05-16"
        self.record(ledger, 1, "succeeded", "x", DataTestResult(test="unique x"))
        self.record(ledger, 2, "failed", "", DataTestResult(test="unique x", violations=7))
        story = shell.json("explain", "a", day)["story"]
        assert story["status"] == "failed"
        assert story["verdict"] == (
            "it failed at 2026-05-16T02:00:00+00:00: unique x has 7 violations;"
            " readers see what was built at 2026-05-16T01:00:00+00:00"
        )
        assert [(e["run"], e["status"]) for e in story["log"]] == [
            ("r2", "failed"),
            ("r1", "succeeded"),
        ]
        assert story["tests"]["results"][0]["violations"] == 7
        assert (story["standing"]["run"], story["built"]["run"]) == ("r2", "r1")
        assert shell.json("explain", "lake://main/a", day, "-p", day)["story"] == story
        ledger.pause("lake://main/a", at=datetime(2026, 5, 16, 3, tzinfo=UTC))
        row = Pending(
            consumer="lake://main/a",
            partition=day,
            since=datetime(2026, 5, 16, 4, tzinfo=UTC),
            fire_time=datetime(2026, 5, 16, 4, tzinfo=UTC),
            asked_by=("schedule",),
            lacking=("an event of lake://main/x",),
        )
        with ledger.turn() as turn:
            turn.apply(Decisions(pending=(row,)), row.since)
        lines = shell.tranche("explain", "a", day).stdout.splitlines()
        assert lines[:2] == [
            "it is paused since 2026-05-16T03:00:00+00:00, and waits for an event of lake://main/x",
            "→ tranche resume a",
        ]
        assert lines[5:14] == [
            "pending   waiting since 2026-05-16T04:00:00+00:00, asked for by schedule;"
            " lacks an event of lake://main/x",
            "paused    since 2026-05-16T03:00:00+00:00; tranche resume lake://main/a ends that",
            "standing  failed at 2026-05-16T02:00:00+00:00 in run r2",
            "          readers see what was built at 2026-05-16T01:00:00+00:00",
            "tests     0 of 1 passed at 2026-05-16T02:00:00+00:00",
            "          unique x failed: 7 rows",
            "          tranche show a --partition 2026-05-16 --violations shows rows",
            "stale     the script has changed",
            "log       2026-05-16T02:00:00+00:00, run r2, failed",
        ]
        # A whole table has a story too.
        whole = shell.json("explain", "b")
        assert (whole["partition"], whole["story"]["status"]) == (None, "unasked")

    def test_columns(self, shell: Shell, ledger: StateStore) -> None:
        assert (
            "no columns of lake://main/a are known" in shell.tranche("show", "a", "--schema").stdout
        )
        for number, columns in enumerate(("x y", "x y", "x", "z x"), 1):
            self.record(ledger, number, "succeeded", columns)
        found = shell.json("show", "a", "--schema")
        assert [(v["version"], v["run"]) for v in found["versions"]] == [
            (3, "r4"),
            (2, "r3"),
            (1, "r1"),
        ]
        assert [
            v["change"] and (v["change"]["added"], v["change"]["dropped"])
            for v in found["versions"]
        ] == [
            (["z"], []),
            ([], ["y"]),
            None,
        ]
        assert found["versions"][0]["columns"] == [
            {"name": "z", "type": "int"},
            {"name": "x", "type": "int"},
        ]
        limited = shell.json("show", "a", "--schema", "--limit", "1")
        assert limited["more"] and limited["versions"] == found["versions"][:1]
        lines = shell.tranche("show", "a", "--schema").stdout.splitlines()
        assert lines[0] == "version 3, 2026-05-16T04:00:00+00:00, run r4: adds z"
        assert lines[1] == "version 2, 2026-05-16T03:00:00+00:00, run r3: drops y"
        assert lines[2] == "version 1, 2026-05-16T01:00:00+00:00, run r1"

    def test_check_warns_of_columns_that_are_not_made_any_more(
        self, shell: Shell, ledger: StateStore
    ) -> None:
        assert shell.json("check")["warnings"] == []
        self.record(ledger, 1, "succeeded", "x y")
        assert shell.json("check")["warnings"] == [
            "pipelines/b.sql:3: reads y of lake://main/a, which pipelines/a.sql no longer makes;"
            " correct one of the two"
        ]


def test_a_check_does_without_a_state(shell: Shell) -> None:
    shell.write("pipelines/a.sql", DAILY.format(name="a", on=""))
    shell.write("pipelines/b.sql", "-- pipeline\nSELECT x FROM a")
    assert shell.json("check")["warnings"] == []
    assert not (shell.folder / ".tranche" / "state.db").exists()
    (shell.folder / ".tranche" / "state.db").write_text("no database")
    (warning,) = shell.json("check")["warnings"]
    assert warning.startswith("columns were not compared with those of past runs: ")


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        (("run",), 2, "run needs a target"),
        (("run", "--like", "r9"), 2, "there is no run 'r9'"),
        (("run", "t", "--like", "r9"), 2, "leave the target"),
        (("run", "--like", "r9", "--only"), 2, "leave the target"),
        (("rollback", "t", "--to", "yesterday"), 2, "'yesterday' is no snapshot"),
        (("rollback", "tt", "--to", "7"), 2, "no script of this project makes 'tt'"),
        (("rollback", "t"), 2, "--to"),
        (("maintain", "--retention", "a week"), 2, "'a week' is no length of time"),
        (("maintain", "tt"), 2, "no script of this project makes 'tt'"),
        (("maintain",), 0, "no table has been made yet"),
    ],
)
def test_wrong_use_of_versions(
    several: Shell, command: tuple[str, ...], code: int, says: str
) -> None:
    result = several.tranche(*command)
    assert result.returncode == code
    assert says in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def test_a_rollback_says_what_it_would_do(shell: Shell) -> None:
    shell.write("pipelines/t.sql", DAILY.format(name="t", on=""))
    plan = shell.json("rollback", "t", "--to", "7", "--dry-run")
    assert [(step["asset"], step["strategy"]) for step in plan["steps"]] == [
        ("lake://main/t", "rollback")
    ]


def test_python_is_checked_without_being_imported(shell: Shell) -> None:
    head = '# pipeline\n# partitioned dynamic key="$.tenant"\n'
    body = 'raise SystemExit("imported")\n\n\ndef main(partition: str, tenant: str): ...\n'
    shell.write("pipelines/good.py", f"{head}# writes s3:///{{partition}}.json\n{body}")
    shell.write("pipelines/bad.py", f"{head}def main(partition: int): ...\n")
    checked = shell.tranche("check")
    assert checked.returncode == 1
    assert (
        "pipelines/bad.py:3: main takes 'partition' as int, and partition is no int; write"
        " partition: str" in checked.stdout + checked.stderr
    )
    plan = shell.json("run", "good", "--payload", '{"tenant": "acme"}', "--dry-run")
    assert [(step["asset"], step["partition"], step["verdict"]) for step in plan["steps"]] == [
        ("s3:///{partition}.json", "acme", "run")
    ]
    explained = shell.tranche("explain", "good", "acme").stdout
    assert "calls main of pipelines/good.py:7" in explained
    assert shell.json("status", "s3:///{partition}.json")["partitions"] == []


class TestOpenLineage:
    SKIPPED = DAILY.replace("daily", 'daily start="2026-06-01"').format(name="a", on="")
    RUN = ("run", "a", "--at", "2026-05-16T06:00:00+00:00", "--local", "--json")
    """Before its start it is skipped, for which no Spark is needed."""

    def test_events_of_a_command(self, shell: Shell) -> None:
        shell.write("pipelines/a.sql", self.SKIPPED)
        plain = shell.tranche(*self.RUN)
        shell.write(
            "tranche.toml",
            "[openlineage.transport]\ntype = 'file'\nlog_file_path = 'events'\nappend = true\n",
        )
        assert shell.tranche(*self.RUN, "--dry-run").returncode == 0
        assert not (shell.folder / "events").exists()
        done = shell.tranche(*self.RUN)
        assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr)
        assert json.loads(done.stdout)["status"] == json.loads(plain.stdout)["status"]
        lines = (shell.folder / "events").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["eventType"] for line in lines] == ["START", "COMPLETE"]

    def test_what_goes_wrong_is_a_warning(self, shell: Shell) -> None:
        shell.write("pipelines/a.sql", self.SKIPPED)
        plain = shell.tranche(*self.RUN)
        shell.write("tranche.toml", "[openlineage.transport]\ntype = 'no.such.Transport'\n")
        done = shell.tranche(*self.RUN)
        assert done.returncode == plain.returncode
        assert json.loads(done.stdout)["status"] == json.loads(plain.stdout)["status"]
        assert "warning: events of OpenLineage cannot be sent: ImportError" in done.stderr
        assert "warning: 2 events of OpenLineage could not be sent" in done.stderr
