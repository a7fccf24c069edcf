"""Spark's exceptions as sentences."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException

from tranche.errors import (
    Cancelled,
    CommitLost,
    CommitUnknown,
    EngineUnavailable,
    SourceMissing,
    StatementFailed,
)
from tranche.lake.failures import comes_from_spark, explained

JAVA = "An error occurred while calling o1.sql.\n: "
LOST = f"{JAVA}org.apache.iceberg.exceptions.CommitFailedException: Cannot commit"


@pytest.mark.parametrize(
    ("error", "kind", "transient"),
    [
        (Py4JError(LOST), CommitLost, True),
        (
            Py4JError(
                f"{JAVA}org.apache.iceberg.exceptions.ValidationException: Found conflicting files"
            ),
            CommitLost,
            True,
        ),
        (
            Py4JError(f"{JAVA}org.apache.iceberg.exceptions.CommitStateUnknownException: timeout"),
            CommitUnknown,
            True,
        ),
        (Py4JNetworkError("Answer from Java side is empty"), EngineUnavailable, True),
        (ConnectionRefusedError("refused"), EngineUnavailable, True),
        (Py4JError(f"{JAVA}java.io.IOException: No space left on device"), StatementFailed, True),
        (Py4JError("the data says: Found conflicting files"), StatementFailed, False),
        (PySparkException("Job 3 cancelled as part of cancellation of all jobs"), Cancelled, False),
        (AnalysisException("no such function"), StatementFailed, False),
    ],
)
def test_kinds(error: Exception, kind: type[Exception], transient: bool) -> None:
    assert comes_from_spark(error)
    failure = explained(error)
    assert type(failure) is kind
    assert failure.transient is transient


def test_codes_and_classes_are_left_out() -> None:
    failure = explained(
        Py4JError(f"{JAVA}java.lang.IllegalStateException: the disk is full. SQLSTATE: 42000")
    )
    assert str(failure) == "the disk is full"


def test_the_last_cause_of_an_aborted_job_is_told() -> None:
    text = (
        "Job aborted due to stage failure\nCaused by: a.B: first\nCaused by: c.D: the value 'two'"
    )
    assert str(explained(PySparkException(text))) == "the value 'two'"


def test_the_line_counts_from_the_statement() -> None:
    failure = explained(AnalysisException("nope; line 3 pos 7"), path="pipelines/a.sql", line=5)
    assert str(failure.place) == "pipelines/a.sql:7"


def test_secrets_do_not_show() -> None:
    failure = explained(Py4JError("jdbc:x?password=hunter2 refused"), secrets=["hunter2"])
    assert "hunter2" not in str(failure)


@pytest.mark.parametrize("error", [KeyError("rows"), ValueError("x"), AssertionError()])
def test_our_own_faults_are_not_sparks(error: Exception) -> None:
    assert not comes_from_spark(error)


def test_a_missing_table_and_path_are_named() -> None:
    class Missing(AnalysisException):
        def getCondition(self) -> str:  # noqa: N802
            return "TABLE_OR_VIEW_NOT_FOUND"

        def getMessageParameters(self) -> dict[str, str]:  # noqa: N802
            return {"relationName": "`main`.`default`.`x`"}

    failure = explained(Missing("…"))
    assert isinstance(failure, SourceMissing)
    assert failure.what == "the table main.default.x does not exist"
