"""Which columns scripts read, by the columns that tables had."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tranche.model.asset import LakeTable
from tranche.model.columns import SchemaVersion
from tranche.planning.graph import build_graph
from tranche.planning.read_columns import MOST_SETS, ReadColumns, Versions
from tranche.script.lineage import Lineages

from .conftest import NOON, project_of

A, B = LakeTable("main", "a"), LakeTable("main", "b")
X = frozenset({"x"})


class Captured:
    """A store that knows columns: of each asset, when it got which."""

    def __init__(self, **known: str | list[tuple[int, str]]) -> None:
        self.known = {
            f"lake://main/{name}": [(0, told)] if isinstance(told, str) else told
            for name, told in known.items()
        }

    @property
    def versions(self) -> Versions:
        return Versions(self)  # type: ignore[arg-type]

    def schemas(self, asset: str, *, limit: int) -> list[SchemaVersion]:
        versions = [
            SchemaVersion(
                asset=asset,
                version=number,
                columns=tuple((name, "int") for name in names.split()),
                run="r",
                at=at(hour),
            )
            for number, (hour, names) in enumerate(self.known.get(asset, []), 1)
        ]
        return versions[::-1][:limit]


def at(hour: int) -> datetime:
    return NOON + timedelta(hours=hour)


def reads_of(texts: dict[str, str]) -> ReadColumns:
    return ReadColumns(build_graph(project_of(texts).scripts), Lineages().of)


def read(
    query: str, state: Captured, asset: LakeTable = A, since: int = 1, words: str = ""
) -> frozenset[str] | None:
    texts = {"a": "materialize lake://main/a", "b": "materialize lake://main/b"}
    reads = reads_of(texts | {"c": f"materialize {words} lake://main/c :: {query}"})
    script = reads.graph.scripts["c"]
    return reads.of(script, asset, at(since), state.versions)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT x FROM a", {"x"}),
        ("SELECT x FROM a WHERE z = 1", {"x", "z"}),
        ("SELECT count(*) AS n FROM a", set()),
        ("SELECT 1 AS one FROM a", set()),
        ("SELECT x + 1 AS z, count(*) AS n FROM a GROUP BY z", {"x", "z"}),
        ("SELECT x + 1 AS w, count(*) AS n FROM a GROUP BY w", {"x"}),
        ("SELECT * FROM a", None),
        ("SELECT a.* EXCEPT (y) FROM a", None),
        ("SELECT x FROM a NATURAL JOIN b", None),
        ("SELECT nowhere FROM a", None),
        ("SELECT x FROM a VERSION AS OF 1", None),
        ("SELECT 1 AS one", None),
        ("SELECT a.x, b.y FROM a JOIN b ON a.z = b.z", {"x", "z"}),
        ("SELECT (SELECT max(y) FROM b WHERE b.z = a.z) AS m FROM a", {"z"}),
    ],
)
def test_what_a_script_reads(query: str, expected: set[str] | None) -> None:
    found = read(query, Captured(a="x y z", b="y z"))
    assert found == (None if expected is None else frozenset(expected))


def test_columns_that_nobody_has_captured_may_all_be_read() -> None:
    assert read("SELECT x FROM a", Captured()) is None


def test_what_writes_by_itself_may_read_all() -> None:
    query = "INSERT INTO c SELECT x FROM a"
    assert read(query, Captured(a="x y"), words="manual") is None


def test_an_annotation_proves_nothing() -> None:
    texts = {
        "a": "materialize lake://main/a",
        "c": "materialize lake://main/c; column x <- lake://main/a.x :: SELECT x + y AS x FROM a",
    }
    reads = reads_of(texts)
    found = reads.of(reads.graph.scripts["c"], A, NOON, Captured(a="x y z").versions)
    assert found == {"x", "y"}


def test_what_a_script_upstream_says_of_its_columns_does_not_count() -> None:
    # The script has no y any more, and has not run since.
    texts = {
        "a": "materialize lake://main/a :: SELECT 1 AS x",
        "c": "materialize lake://main/c :: SELECT x, y FROM a",
    }
    reads = reads_of(texts)
    found = reads.of(reads.graph.scripts["c"], A, NOON, Captured(a="x y z").versions)
    assert found == {"x", "y"}


def test_keys_are_the_same_in_all_rows_of_a_slice() -> None:
    texts = {
        "a": "partitioned daily; materialize lake://main/a",
        "c": "partitioned daily; materialize lake://main/c :: "
        "SELECT x FROM a WHERE _tranche_partition = '{partition}'",
    }
    reads = reads_of(texts)
    found = reads.of(reads.graph.scripts["c"], A, NOON, Captured(a="x y").versions)
    assert found == X


def test_current_rows_are_of_their_history() -> None:
    texts = {
        "a": "materialize lake://main/a key=x history",
        "c": "materialize lake://main/c :: SELECT x FROM a_current",
    }
    reads = reads_of(texts)
    script = reads.graph.scripts["c"]
    found = reads.of(script, A, NOON, Captured(a="x y").versions)
    assert found == {"x", "valid_from", "valid_to", "is_current"}


NEW = [(0, "x y"), (2, "x y w")]


@pytest.mark.parametrize(
    ("query", "a", "b", "asset", "expected"),
    [
        # A column that has come since, and that nobody reads.
        ("SELECT x FROM a", NEW, "z", A, X),
        # What was an alias is a column now.
        ("SELECT x + 1 AS w, count(*) AS n FROM a GROUP BY w", NEW, "z", A, None),
        # What was a column of the table outside is one of the table inside.
        ("SELECT x, (SELECT max(z) FROM b WHERE v = 1) AS m FROM a", "x v", "z", A, {"x", "v"}),
        (
            "SELECT x, (SELECT max(z) FROM b WHERE v = 1) AS m FROM a",
            "x v",
            [(0, "z"), (2, "z v")],
            A,
            None,
        ),
        # The other way round, the column of the table inside is gone.
        (
            "SELECT x, (SELECT max(z) FROM b WHERE v = 1) AS m FROM a",
            "x v",
            [(0, "z v"), (2, "z")],
            B,
            None,
        ),
        # Something of it was read before, and is not any more; then it is as it was.
        ("SELECT x + 1 AS w, count(*) AS n FROM a GROUP BY w", [*NEW, (3, "x y")], "z", A, None),
        # Changes before the time that is asked about.
        ("SELECT x FROM a", [(-2, "w"), (-1, "y"), (0, "x y")], "z", A, X),
    ],
)
def test_names_must_have_meant_the_same_since(
    query: str,
    a: str | list[tuple[int, str]],
    b: str | list[tuple[int, str]],
    asset: LakeTable,
    expected: set[str] | None,
) -> None:
    assert read(query, Captured(a=a, b=b), asset) == expected


def test_too_many_changes_are_not_looked_at() -> None:
    changes = [(hour, f"x y{hour}") for hour in range(20)]
    assert read("SELECT x FROM a", Captured(a=changes)) is None
    assert read("SELECT x FROM a", Captured(a=changes), since=15) == X


def sets(*queries: str) -> set[frozenset[str]]:
    texts = {"a": "materialize lake://main/a", "z": " :: SELECT y FROM a"}
    texts |= {f"c{n}": f"materialize lake://main/c{n} :: {q}" for n, q in enumerate(queries)}
    found = reads_of(texts).sets(A, Captured(a="u v w x y"))  # type: ignore[arg-type]
    assert len(set(found)) == len(found)
    return set(found)


def test_the_sets_of_an_asset() -> None:
    found = sets("SELECT x FROM a", "SELECT x + 1 AS y FROM a", "SELECT * FROM a", "SELECT 1 AS b")
    assert found == {X}
    # Nobody has keys of a script that makes nothing.
    assert sets() == set()


def test_too_many_sets_are_none() -> None:
    names = ["u", "v", "w", "x", "y"]
    queries = [f"SELECT {name} FROM a" for name in names]
    assert len(sets(*queries[:MOST_SETS])) == MOST_SETS < len(names)
    assert sets(*queries) == set()
