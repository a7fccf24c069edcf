"""What data tests found, as facets: of the dataset, and of the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from openlineage.client.facet_v2 import data_quality_assertions_dataset as assertions_facet
from openlineage.client.facet_v2 import test_run

from tranche.model.data_test import DataTestResult

_SCRIPT = "custom_sql"
_ENDS = {"unique": None, "not_null": None, "accepted_values": " = ", "relationships": " -> "}
"""The rules of one column, and what follows its name."""


class Rule(NamedTuple):
    """What a data test is about; one by script is about the whole dataset."""

    assertion: str
    column: str | None = None


def rule_of(test: str) -> Rule:
    """
    >>> rule_of("accepted_values status = new,paid"), rule_of("tests/no_gaps.sql").assertion
    (Rule(assertion='accepted_values', column='status'), 'custom_sql')
    """
    word, _, rest = test.partition(" ")
    if word not in _ENDS or not rest:
        return Rule(_SCRIPT)
    end = _ENDS[word]
    return Rule(word, rest.partition(end)[0] if end else rest)


def together(results: Iterable[DataTestResult]) -> list[DataTestResult]:
    """The findings of several keys: each test once, with all rows that violate it."""
    found: dict[tuple[str, str], DataTestResult] = {}
    for result in results:
        place = result.test, result.severity
        before = found.get(place)
        violations = result.violations + (before.violations if before else 0)
        found[place] = replace(result, violations=violations, sample=None)
    return list(found.values())


def assertions(
    results: Sequence[DataTestResult], producer: str
) -> assertions_facet.DataQualityAssertionsDatasetFacet:
    return assertions_facet.DataQualityAssertionsDatasetFacet(
        assertions=[
            assertions_facet.Assertion(
                assertion=rule_of(result.test).assertion,
                success=not result.violations,
                column=rule_of(result.test).column,
                severity=result.severity,
                name=result.test,
                expected="0",
                actual=str(result.violations),
            )
            for result in results
        ],
        producer=producer,
    )


def executions(results: Sequence[DataTestResult], producer: str) -> test_run.TestRunFacet:
    return test_run.TestRunFacet(
        tests=[
            test_run.TestExecution(
                name=result.test,
                status="fail" if result.violations else "pass",
                severity=result.severity,
                type=rule_of(result.test).assertion,
                expected="0",
                actual=str(result.violations),
            )
            for result in results
        ],
        producer=producer,
    )
