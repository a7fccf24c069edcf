"""Who writes what, who waits for whom."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tranche.model.asset import LakeTable
from tranche.model.project import Project
from tranche.planning.graph import build_graph, graph_faults

Make = Callable[..., Project]
DIAMOND = {
    "d": "on lake://main/b; on lake://main/c; materialize lake://main/d",
    "b": "on lake://main/a; materialize lake://main/b",
    "c": "on lake://main/a; materialize lake://main/c",
    "a": "on lake://main/source; materialize lake://main/a",
    "reader": "materialize lake://main/r :: SELECT * FROM a",
}


def faults(project: Project) -> list[str]:
    return [str(fault) for fault in graph_faults(project.scripts)]


def test_edges(project: Make) -> None:
    graph = build_graph(project(DIAMOND).scripts)
    assert graph.upstream["d"] == {"b", "c"}
    assert graph.upstream["reader"] == {"a"}
    assert graph.triggered["a"] == {"b", "c"}
    assert graph.ancestors(["d"]) == {"a", "b", "c"}
    assert graph.descendants(["a"]) == {"b", "c", "d"}
    producer = graph.producer(LakeTable("main", "b"))
    assert producer is not None and producer.name == "b"
    assert graph.producer(LakeTable("main", "source")) is None
    assert [name for name in sorted(DIAMOND) if graph.is_read(name)] == ["a", "b", "c"]


def test_order_is_upstream_first_then_by_name(project: Make) -> None:
    graph = build_graph(project(DIAMOND).scripts)
    assert graph.ordered(DIAMOND) == ("a", "b", "c", "reader", "d")
    assert graph.ordered(["d", "a"]) == ("a", "d")


def test_good_projects_have_no_faults(project: Make) -> None:
    assert faults(project(DIAMOND)) == []
    assert faults(project({})) == []


def test_a_script_may_read_what_it_writes(project: Make) -> None:
    assert faults(project({"a": "materialize lake://main/a :: SELECT * FROM a"})) == []


def test_two_writers_of_one_asset(project: Make) -> None:
    texts = {
        "a": "materialize lake://main/x",
        "b": "partitioned daily; materialize ducklake://main/x",
        "c": "materialize manual lake://main/c :: INSERT INTO x SELECT 1",
    }
    remedy = "let one script write it, or give one of them another table"
    assert faults(project(texts)) == [
        f"pipelines/a.sql:2: lake://main/x is written by pipelines/b.sql, pipelines/c.sql too; {remedy}",
        f"pipelines/b.sql:3: lake://main/x is written by pipelines/a.sql, pipelines/c.sql too; {remedy}",
        f"pipelines/c.sql:2: lake://main/x is written by pipelines/a.sql, pipelines/b.sql too; {remedy}",
    ]


def test_a_script_that_triggers_itself(project: Make) -> None:
    assert faults(project({"a": "on lake://main/a; materialize lake://main/a"})) == [
        "pipelines/a.sql:2: the script is triggered by lake://main/a, which it writes itself;"
        " remove this 'on' line"
    ]


@pytest.mark.parametrize("read", ["on lake://main/c", "reads lake://main/c"])
def test_a_cycle(read: str, project: Make) -> None:
    texts = {
        "b": "on lake://main/a; materialize lake://main/b",
        "a": f"{read}; materialize lake://main/a",
        "c": "materialize lake://main/c :: SELECT * FROM b",
    }
    line = 2 if read.startswith("on") else 1
    assert faults(project(texts)) == [
        f"pipelines/{place}: scripts wait for each other: a → c → b → a;"
        " remove one of the 'on' lines or reads between them"
        for place in (f"a.sql:{line}", "c.sql:1", "b.sql:2")
    ]


def test_all_cycles_are_reported(project: Make) -> None:
    texts = {
        name: f"on lake://main/{other}; materialize lake://main/{name}"
        for name, other in {"a": "b", "b": "a", "x": "y", "y": "z", "z": "x"}.items()
    }
    found = faults(project(texts))
    assert [message.partition(": ")[0] for message in found] == [
        "pipelines/a.sql:2",
        "pipelines/b.sql:2",
        "pipelines/x.sql:2",
        "pipelines/y.sql:2",
        "pipelines/z.sql:2",
    ]
