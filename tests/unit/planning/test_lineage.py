"""Columns across scripts: up, down, and what is declared."""

from __future__ import annotations

from tranche.model.asset import AssetUri, LakeTable
from tranche.model.columns import Columns
from tranche.model.lineage import (
    ColumnLineage,
    Direction,
    Influence,
    Origin,
    Point,
    ScriptLineage,
    SourceColumn,
    Trace,
    Unknown,
)
from tranche.model.script import Script
from tranche.planning.graph import build_graph
from tranche.planning.lineage import ProjectLineage
from tranche.planning.lineage_trace import trace
from tranche.script.lakes import Lakes
from tranche.script.lineage import Lineages
from tranche.script.python import read_python_script

from .conftest import project_of

SHOP = {
    "orders": "materialize lake://main/orders :: SELECT id, day, amount, tax, status FROM raw",
    "daily": "materialize lake://main/daily :: "
    "SELECT day, sum(amount + tax) AS total FROM orders WHERE status = 'paid' GROUP BY day",
    "monthly": "materialize lake://main/monthly :: "
    "SELECT substring(day, 1, 7) AS month, sum(total) AS total FROM daily GROUP BY 1",
    "report": " :: SELECT total FROM monthly",
}


def lineage_of(texts: dict[str, str], captured: dict[str, str] | None = None) -> ProjectLineage:
    def columns(asset: AssetUri) -> Columns | None:
        known = (captured or {}).get(str(asset).rpartition("/")[2])
        return None if known is None else tuple((name, "int") for name in known.split())

    return ProjectLineage(build_graph(project_of(texts).scripts), columns, Lineages().of)


def point(text: str) -> Point:
    table, _, column = text.partition(".")
    return Point(LakeTable("main", table), column or None)


def found(lineage: ProjectLineage, start: str, direction: Direction, *, far: bool = True) -> Trace:
    return trace(lineage, point(start), direction, far=far)


def arrows(trace: Trace) -> list[str]:
    return [
        f"{link.source} {link.how} {link.target}".replace("lake://main/", "")
        for link in trace.links
        if link.how != "rows"
    ]


def test_up() -> None:
    traced = found(lineage_of(SHOP), "monthly.total", "up")
    assert arrows(traced) == [
        "daily.total aggregation monthly.total",
        "daily.day group rows of monthly",
        "orders.amount aggregation daily.total",
        "orders.tax aggregation daily.total",
        "orders.status filter rows of daily",
        "orders.day group rows of daily",
        "orders.day identity daily.day",
        "raw.amount identity orders.amount",
        "raw.tax identity orders.tax",
        "raw.status identity orders.status",
        "raw.day identity orders.day",
    ]
    assert traced.complete
    assert [link.depth for link in traced.links if str(link.source).endswith("raw.tax")] == [3]


def test_down() -> None:
    traced = found(lineage_of(SHOP), "raw.tax", "down")
    assert arrows(traced) == [
        "raw.tax identity orders.tax",
        "orders.tax aggregation daily.total",
        "daily.total aggregation monthly.total",
    ]
    assert traced.unwritten == ("report",)


def test_down_through_rows() -> None:
    """Who drops a column that picks rows breaks all that is made of them."""
    traced = found(lineage_of(SHOP), "orders.status", "down")
    assert [(str(link.source), link.how, str(link.target)) for link in traced.links] == [
        ("lake://main/orders.status", "filter", "rows of lake://main/daily"),
        ("rows of lake://main/daily", "rows", "rows of lake://main/monthly"),
    ]
    assert traced.unwritten == ("report",)


def test_one_step_of_an_asset() -> None:
    traced = found(lineage_of(SHOP), "daily", "up", far=False)
    assert [point.column for point in traced.begins] == ["day", "total", None]
    assert {link.depth for link in traced.links} == {1}
    down = found(lineage_of(SHOP), "daily", "down", far=False)
    assert arrows(down) == [
        "daily.day expression monthly.month",
        "daily.day group rows of monthly",
        "daily.total aggregation monthly.total",
    ]


def test_names_in_any_case() -> None:
    texts = {"a": "materialize lake://main/a :: SELECT 1 AS Amount"}
    texts["b"] = "materialize lake://main/b :: SELECT AMOUNT AS x FROM a"
    assert arrows(found(lineage_of(texts), "a.amount", "down")) == ["a.amount identity b.x"]


def test_stars_are_written_out_with_what_scripts_make() -> None:
    texts = {"t0": "materialize lake://main/t0 :: SELECT 1 AS a, 2 AS b"}
    for number in range(1, 400):
        texts[f"t{number}"] = (
            f"materialize lake://main/t{number} :: SELECT *, a + 1 AS c{number} FROM t{number - 1}"
        )
    lineage = lineage_of(texts)
    script = lineage.graph.scripts["t399"]
    assert [column.column for column in lineage.of(script).columns][:3] == ["a", "b", "c1"]
    assert lineage.of(script).complete


def test_stars_are_written_out_with_what_was_captured() -> None:
    texts = {"b": "materialize lake://main/b :: SELECT * FROM raw"}
    lineage = lineage_of(texts, {"raw": "x y"})
    assert [column.column for column in lineage.of(lineage.graph.scripts["b"]).columns] == [
        "x",
        "y",
    ]
    open_ = lineage_of(texts)
    assert arrows(found(open_, "b.x", "up")) == ["raw.x identity b.x"]
    assert arrows(found(open_, "raw.x", "down")) == ["raw.x identity b.x"]
    assert [str(doubt) for doubt in found(open_, "raw.x", "down").doubts] == [
        "pipelines/b.sql: the columns of lake://main/raw are not known"
    ]


def test_what_is_declared_wins() -> None:
    declared = "column total <- lake://main/raw.net, lake://main/raw.amount; column extra <- lake://main/u.x"
    texts = {
        "a": f"materialize lake://main/a; {declared} :: SELECT amount AS total, id FROM raw",
    }
    lineage = lineage_of(texts)
    traced = found(lineage, "a", "up", far=False)
    assert [
        (str(link.source)[12:], link.how, link.declared) for link in traced.links if link.direct
    ] == [
        ("raw.net", "expression", True),
        ("raw.amount", "identity", True),
        ("raw.id", "identity", False),
        ("u.x", "expression", True),
    ]
    assert arrows(found(lineage, "u.x", "down")) == ["u.x expression a.extra"]


def test_current_rows_are_of_their_history() -> None:
    texts = {
        "c": "materialize lake://main/c key=id history :: SELECT id, name FROM raw",
        "d": "materialize lake://main/d :: SELECT name, valid_from FROM c_current",
        "e": "materialize lake://main/e :: SELECT * FROM c",
    }
    lineage = lineage_of(texts)
    assert arrows(found(lineage, "c.name", "down")) == [
        "c.name identity d.name",
        "c.name identity e.name",
    ]
    assert arrows(found(lineage, "d.name", "up")) == [
        "c_current.name identity d.name",
        "raw.name identity c_current.name",
    ]
    scripts = lineage.graph.scripts
    assert [column.column for column in lineage.of(scripts["e"]).columns] == [
        *("id", "name", "valid_from", "valid_to", "is_current")
    ]


def test_scripts_that_read_what_they_make() -> None:
    texts = {"a": "materialize lake://main/a :: SELECT n + 1 AS n FROM a WHERE n < 5"}
    lineage = lineage_of(texts)
    assert arrows(found(lineage, "a.n", "up")) == ["a.n expression a.n", "a.n filter rows of a"]
    assert arrows(found(lineage, "a.n", "down")) == ["a.n expression a.n", "a.n filter rows of a"]


def test_keys_may_be_read() -> None:
    texts = {
        "a": "partitioned daily; materialize lake://main/a :: SELECT x FROM raw",
        "b": "partitioned daily; materialize lake://main/b :: "
        "SELECT x FROM a WHERE _tranche_partition = '{partition}'",
    }
    traced = found(lineage_of(texts), "b.x", "up")
    assert "a._tranche_partition filter rows of b" in arrows(traced)
    assert traced.complete


CODE = (
    "# pipeline\n# materialize lake://main/scores\n# column said <- lake://main/orders.tax\n"
    "def main(spark):\n    return None\n"
)


def with_code(seen: ScriptLineage | None, captured: dict[str, str] | None = None) -> ProjectLineage:
    """The shop, with a script in Python that reads what its text does not tell."""
    read = read_python_script("scores", "s.py", CODE, Lakes(frozenset({"main"}), "main"))
    assert read.script is not None, read.faults
    scripts = (*project_of(SHOP).scripts, read.script)

    def columns(asset: AssetUri) -> Columns | None:
        known = (captured or {}).get(str(asset).rpartition("/")[2])
        return None if known is None else tuple((name, "int") for name in known.split())

    def kept(script: Script) -> ScriptLineage | None:
        return seen if script.name == "scores" else None

    return ProjectLineage(build_graph(scripts), columns, Lineages().of, kept)


def seen_of_orders() -> ScriptLineage:
    orders = LakeTable("main", "orders")
    amount, status = SourceColumn(orders, "amount"), SourceColumn(orders, "status")
    return ScriptLineage(
        columns=(
            ColumnLineage("score", (Origin(amount, "expression"),)),
            ColumnLineage("said", (Origin(amount, "identity"),), unknown=(Unknown("more"),)),
        ),
        rows=(Influence(status, "filter"),),
        tables=(orders,),
    )


def test_what_was_seen_of_python() -> None:
    lineage = with_code(seen_of_orders(), {"scores": "score said later"})
    assert arrows(found(lineage, "scores.score", "up"))[:3] == [
        "orders.amount expression scores.score",
        "orders.status filter rows of scores",
        "raw.amount identity orders.amount",
    ]
    # A `column` line wins for its column.
    [said] = [link for link in found(lineage, "scores.said", "up").links if link.declared]
    assert (str(said.source), str(said.target)) == (
        "lake://main/orders.tax",
        "lake://main/scores.said",
    )
    assert found(lineage, "scores.said", "up").complete
    # A table that only the plan tells of is read, too.
    assert "orders.amount expression scores.score" in arrows(found(lineage, "raw.amount", "down"))
    # Of a column that came later, nothing is known.
    later = lineage.of(lineage.graph.scripts["scores"]).of("later")
    assert later is not None and later.direct == ()


def test_python_that_nobody_has_seen_run() -> None:
    traced = found(with_code(None, {"scores": "score"}), "scores.score", "up")
    assert [str(doubt) for doubt in traced.doubts] == ["s.py:4: the script runs Python"]
