"""The corpus of lineage: what goes into each column, and what has a say."""

from __future__ import annotations

import pytest
from lineage_cases import Case, cases, lineage_of, told

CASES = cases()


def test_the_corpus_is_large() -> None:
    assert len(CASES) >= 100
    assert sum(case.file == "tpch" for case in CASES) == 22
    assert len({str(case) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_where_columns_come_from(case: Case) -> None:
    found = lineage_of(case.query, case.tables)
    assert told(found) == case.expected
    assert [column.column for column in found.columns] == [
        name for name in case.expected if name not in ("rows", "unknown")
    ]
