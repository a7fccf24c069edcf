"""What a target names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tranche.errors import Fault, ScriptFaults, UnknownTarget
from tranche.model.asset import parse_address
from tranche.model.project import Project
from tranche.planning.graph import build_graph
from tranche.planning.targets import Target, find_target

Make = Callable[..., Project]
TEXTS = {
    "orders": "materialize lake://main/orders",
    "orders/late": "materialize lake://main/late",
    "reports/daily": "on lake://main/orders; materialize lake://main/report :: SELECT * FROM src",
    "reports/deep/x": "retry 1",
}


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("orders", ["orders"]),
        ("orders.sql", ["orders"]),
        ("pipelines/orders.sql", ["orders"]),
        ("./pipelines/orders.sql", ["orders"]),
        ("lake://main/report", ["reports/daily"]),
        ("ducklake://main/report", ["reports/daily"]),
        ("reports", ["reports/daily", "reports/deep/x"]),
        ("reports/", ["reports/daily", "reports/deep/x"]),
        ("pipelines/reports/", ["reports/daily", "reports/deep/x"]),
        ("orders/", ["orders/late"]),
        ("pipelines", sorted(TEXTS)),
        ("pipelines/", sorted(TEXTS)),
        (".", sorted(TEXTS)),
    ],
)
def test_scripts_assets_and_folders(text: str, scripts: list[str], project: Make) -> None:
    made = project(TEXTS)
    graph = build_graph(made.scripts)
    assert find_target(made, graph, text) == Target(tuple(scripts))
    assert find_target(made, graph, f"+{text}") == Target(tuple(scripts), upstream=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ordres", "no script, job, asset or folder is called 'ordres'; did you mean 'orders'?"),
        ("zzz", "no script, job, asset or folder is called 'zzz'; the scripts are orders, orders/late, reports/daily, reports/deep/x"),
        ("", "no script, job, asset or folder is called ''; the scripts are orders, orders/late, reports/daily, reports/deep/x"),
        ("lake://main/reprt", "no script makes lake://main/reprt; did you mean 'lake://main/report'?"),
        ("lake://main/src", "no script makes lake://main/src; it is a source, read by reports/daily"),
        ("s3:///zzz", "no script makes s3:///zzz; tranche graph shows the assets"),
        ("http://x", "unknown scheme 'http://' in 'http://x'; use one of lake://, ducklake://, file://, s3://, job://"),
    ],
)  # fmt: skip
def test_unknown_targets(text: str, message: str, project: Make) -> None:
    made = project(TEXTS)
    with pytest.raises(UnknownTarget) as caught:
        find_target(made, build_graph(made.scripts), text)
    assert str(caught.value) == message


def test_files_of_the_project_are_named_without_slashes(project: Make) -> None:
    made = project({"orders": "materialize lake://main/orders"})
    kept = replace(made.scripts[0], writes=(parse_address("file:data/orders"),))
    made = replace(made, scripts=(kept,))
    graph = build_graph(made.scripts)
    assert find_target(made, graph, "file:data/orders") == Target(("orders",))
    with pytest.raises(UnknownTarget, match=r"^no script makes file:data/ordres; did you mean"):
        find_target(made, graph, "file:data/ordres")


def test_an_empty_project_says_how_to_begin(project: Make) -> None:
    made = project({})
    with pytest.raises(UnknownTarget, match="a script begins with '-- pipeline'"):
        find_target(made, build_graph(made.scripts), "orders")


@pytest.mark.parametrize("text", ["bad", "bad.sql", "pipelines/bad.sql", "broken/", "broken"])
def test_a_target_with_faults_shows_them(
    text: str, project: Make, fault: Callable[[str], Fault]
) -> None:
    made = project(TEXTS, (fault("bad"), fault("broken/x")))
    name = "bad" if text.startswith(("bad", "pipe")) else "broken/x"
    with pytest.raises(ScriptFaults) as caught:
        find_target(made, build_graph(made.scripts), text)
    assert caught.value.faults == (fault(name),)
