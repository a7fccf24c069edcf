"""Plans of frames: what goes into each column, and what has a say."""

from __future__ import annotations

import time

import pytest

from tranche.model.lineage import ScriptLineage, Unknown
from tranche.script.lineage.plans import read_plan

from .lineage_cases import told
from .plan_cases import ASSETS, Case, cases

CASES = cases()


def test_the_corpus_is_large() -> None:
    assert len(CASES) >= 60
    assert len({str(case) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_where_columns_come_from(case: Case) -> None:
    found = read_plan(case.plan, case.columns, ASSETS).lineage
    assert told(found) == case.expected


def plan(*lines: str) -> str:
    body = "\n".join(lines)
    return f"== Analyzed Logical Plan ==\nthe columns\n{body}\n\n== Optimized Logical Plan ==\n"


SCAN = "RelationV2[id#1L, amount#2] main.default.orders"


def found(*lines: str, columns: str = "id amount") -> ScriptLineage:
    return read_plan(plan(*lines), columns.split(), ASSETS).lineage


def test_a_node_that_nobody_knows_makes_what_is_above_it_unknown() -> None:
    lineage = found(
        "Project [(id#1L + 1) AS id#3L, 7 AS amount#4]", "+- Novelty [id#1L]", f"   +- {SCAN}"
    )
    lost = Unknown("what Novelty in the plan of the frame does is not known")
    assert [(each.direct, each.unknown) for each in lineage.columns] == [((), (lost,)), ((), ())]
    assert lineage.unknown == (lost,)
    # What lies below is read all the same.
    assert [str(table) for table in lineage.tables] == ["lake://main/orders"]


def test_a_filter_above_what_is_unknown_is_unknown() -> None:
    lineage = found("Filter (id#1L > 1)", "+- Novelty", f"   +- {SCAN}")
    assert not lineage.complete and not lineage.rows
    assert [each.column for each in lineage.columns] == ["id", "amount"]
    assert all(each.unknown and not each.direct for each in lineage.columns)


@pytest.mark.parametrize(
    "lines",
    [
        ["Project [id#1L, amount#9]", f"+- {SCAN}"],
        ["Project [id#1L, amount]", f"+- {SCAN}"],
        ["Project [id#1L]", f"+- {SCAN}"],
        ["Project [id#1L, amount#2]", f":- {SCAN}", f"+- {SCAN}"],
        ["Aggregate [id#1L", f"+- {SCAN}"],
        ["Generate nothing, [x#3]", f"+- {SCAN}"],
        ["Expand", f"+- {SCAN}"],
        ["Union false, false", "+- OneRowRelation", f"+- {SCAN}"],
        ["View (`v`, [a#8, b#9, c#10])", f"+- {SCAN}"],
        ["CTERelationRef 7, true, [id#1L, amount#2], false"],
        ["WithCTE", f":- {SCAN}", f"+- {SCAN}"],
        ["Filter exists#5 [id#1L]", f"+- {SCAN}"],
        ["Project [id#1L, amount#2]", "         +- too deep"],
        ["Project [id#1L, amount#2]"],
        [],
    ],
)
def test_what_cannot_be_read_is_said(lines: list[str]) -> None:
    lineage = found(*lines)
    assert not lineage.complete
    assert [each.column for each in lineage.columns] == ["id", "amount"]


@pytest.mark.parametrize("text", ["", "no plan", "== Analyzed Logical Plan ==", plan()])
def test_what_is_no_plan_is_said(text: str) -> None:
    lineage = read_plan(text, ["id"], ASSETS).lineage
    assert [each.column for each in lineage.columns] == ["id"] and not lineage.complete


def test_other_columns_than_those_of_the_frame_prove_nothing() -> None:
    assert not found(SCAN, columns="amount id").complete
    assert found(SCAN).complete


def test_the_column_of_a_range_is_not_taken_for_another() -> None:
    lineage = found("Project [id#7L, big_id#8L AS amount#9]", "+- Range (0, 5, step=1)")
    [own, other] = lineage.columns
    assert own.unknown == () and other.unknown
    lineage = found("Join Cross", ":- Novelty", "+- Range (0, 5, step=1)", columns="id")
    assert not lineage.complete


def test_files_are_told_apart_by_the_scans_of_the_physical_plan() -> None:
    text = (
        plan("Project [id#1L, amount#5]", "+- Join Cross", "   :- Relation [id#1L,amount#2] csv",
             "   +- Relation [id#4,amount#5] csv")
        + "\n== Physical Plan ==\n"
        "+- FileScan csv [id#1L] Format: CSV, Location: InMemoryFileIndex(1 paths)[file:/shop/a],"
        " PartitionFilters: []\n"
        "+- FileScan csv [amount#5] Format: CSV, Location: InMemoryFileIndex(2 paths)[file:/shop/b,"
        " file:/shop/c], PartitionFilters: []\n"
    )  # fmt: skip
    read = read_plan(text, ["id", "amount"], ASSETS)
    [one, several] = read.lineage.columns
    assert [str(each.source) for each in one.direct] == ["file:a.id"]
    # Of several places, it is not known whose rows these are.
    assert several.unknown and not several.direct
    assert read.placeless


def test_too_much_to_keep_is_said() -> None:
    names = [f"c{n}" for n in range(150)]
    scan = ", ".join(f"{name}#{n}" for n, name in enumerate(names))
    made = ", ".join(f"{name}#{n + 1000}" for n, name in enumerate(names))
    node = f"MapInPandas f({scan})#999, [{made}], false"
    lineage = found(node, f"+- RelationV2[{scan}] main.default.orders", columns=" ".join(names))
    assert lineage.unknown[0].what == "more than 20,000 columns go into others, or have a say"
    assert len(lineage.columns) == 150 and not any(each.direct for each in lineage.columns)


def test_long_expressions_are_read_in_no_time() -> None:
    names = [f"c{n}" for n in range(2_000)]
    scan = ", ".join(f"{name}#{n}" for n, name in enumerate(names))
    made = f"concat({scan}) AS all#5000, array({', '.join(map(str, range(50_000)))}) AS list#5001"
    began = time.perf_counter()
    lineage = found(
        f"Project [{made}]", f"+- RelationV2[{scan}] main.default.orders", columns="all list"
    )
    [every, none] = lineage.columns
    assert (len(every.direct), len(none.direct)) == (2_000, 0)
    assert time.perf_counter() - began < 10


def test_plans_of_wide_frames_are_read_in_no_time() -> None:
    names = [f"c{n}" for n in range(2_000)]
    scan = ", ".join(f"{name}#{n}" for n, name in enumerate(names))
    nodes = [f"Project [{scan}]"] * 10 + [f"RelationV2[{scan}] main.default.orders"]
    branches = ["", *("   " * depth + "+- " for depth in range(10))]
    text = plan(*(branch + node for branch, node in zip(branches, nodes, strict=True)))
    began = time.perf_counter()
    assert read_plan(text, names, ASSETS).lineage.complete
    assert time.perf_counter() - began < 5
