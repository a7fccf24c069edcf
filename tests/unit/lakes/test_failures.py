"""Spark's exceptions as sentences."""

from __future__ import annotations

import pytest
from grpc import StatusCode
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkAssertionError, PySparkException
from pyspark.errors.exceptions import connect

from tranche.errors import (
    Cancelled,
    CommitLost,
    CommitUnknown,
    EngineUnavailable,
    SourceMissing,
    StatementFailed,
    StatementRejected,
)
from tranche.lakes.failures import comes_from_outside, comes_from_spark, explained

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
        (AnalysisException("no such function"), StatementRejected, False),
    ],
)
def test_kinds(error: Exception, kind: type[Exception], transient: bool) -> None:
    assert comes_from_spark(error)
    failure = explained(error)
    assert type(failure) is kind
    assert failure.transient is transient


TRACE = """org.apache.spark.SparkException
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.writingJobFailedError(x.scala:1)
Caused by: org.apache.iceberg.exceptions.CommitFailedException: Cannot commit
\tat org.apache.iceberg.jdbc.JdbcTableOperations.doCommit(x.java:1)"""
GONE = (
    "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n\tdetails ="
    ' "failed to connect to all addresses"\n>'
)


@pytest.mark.parametrize(
    ("error", "kind", "transient"),
    [
        (
            connect.SparkConnectGrpcException(GONE, grpc_status_code=StatusCode.UNAVAILABLE),
            EngineUnavailable,
            True,
        ),
        (
            connect.SparkConnectGrpcException(
                "The handle is invalid", errorClass="INVALID_HANDLE.SESSION_CHANGED"
            ),
            EngineUnavailable,
            True,
        ),
        (
            PySparkAssertionError("Received incorrect server side session identifier for request"),
            EngineUnavailable,
            True,
        ),
        (
            connect.SparkConnectGrpcException("Operation", errorClass="OPERATION_CANCELED"),
            Cancelled,
            False,
        ),
        (connect.AnalysisException("no such function"), StatementRejected, False),
        (
            connect.SparkException("Writing job aborted", server_stacktrace=TRACE),
            CommitLost,
            True,
        ),
    ],
)
def test_kinds_of_spark_connect(error: Exception, kind: type[Exception], transient: bool) -> None:
    assert comes_from_spark(error)
    failure = explained(error)
    assert type(failure) is kind
    assert failure.transient is transient


@pytest.mark.parametrize("shown", [False, True])
def test_sentences_of_spark_connect(shown: bool) -> None:
    """Whether the server's trace is part of the message is one of its settings."""
    trace = f"org.apache.spark.SparkException{AT_TASK}Caused by: {CAST}{AT_TASK}"
    error = connect.SparkException(
        f"{LOST_TASK}{CAST}", server_stacktrace=trace, display_server_stacktrace=shown
    )
    expected = 'The value \'two\' of the type "STRING" cannot be cast to "BIGINT"'
    assert str(explained(error)).startswith(expected)
    unknown = connect.UnknownException(
        "the disk is full",
        reason="java.lang.IllegalStateException",
        server_stacktrace=f"java.lang.IllegalStateException{AT_TASK}",
        display_server_stacktrace=shown,
    )
    assert str(explained(unknown)) == "the disk is full"


def test_codes_and_classes_are_left_out() -> None:
    failure = explained(
        Py4JError(f"{JAVA}java.lang.IllegalStateException: the disk is full. SQLSTATE: 42000")
    )
    assert str(failure) == "the disk is full"


CAST = (
    "org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The value 'two' of the type"
    ' "STRING" cannot be cast to "BIGINT" because it is malformed. SQLSTATE: 22018'
)
LOST_TASK = (
    "Job aborted due to stage failure: Task 0 in stage 6.0 failed 1 times, most recent failure:"
    " Lost task 0.0 in stage 6.0 (TID 6) (127.0.0.1 executor driver): "
)
AT_TASK = """
\tat org.apache.spark.scheduler.Task.run(Task.scala:147)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""
AT_DRIVER = """
Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.$anonfun$abortStage$2(DAGScheduler.scala:2935)
"""
TRACEBACK = """Traceback (most recent call last):
  File "/project/pipelines/rates.py", line 9, in rate
    return table[code]
           ~~~~~^^^^^^
KeyError: 'CHF'
"""
SPARK = "An error occurred while calling o123.append.\n: org.apache.spark.SparkException: "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "Job aborted due to stage failure\nCaused by: a.B: first\nCaused by: c.D: the value 'two'",
            "the value 'two'",
            id="the last of several causes",
        ),
        pytest.param(
            f"{SPARK}{LOST_TASK}{CAST}\n== SQL (line 2, position 8) ==\nSELECT a::bigint\n{AT_TASK}"
            f"{AT_DRIVER}Caused by: {CAST}{AT_TASK}\t... 1 more\n",
            'The value \'two\' of the type "STRING" cannot be cast to "BIGINT"'
            " because it is malformed",
            id="a task and its cause",
        ),
        pytest.param(
            f"{LOST_TASK}{CAST}{AT_TASK}{AT_DRIVER}",
            'The value \'two\' of the type "STRING" cannot be cast to "BIGINT"'
            " because it is malformed",
            id="a task whose cause stands in the line only",
        ),
        pytest.param(
            f"{SPARK}Exception thrown in awaitResult: {AT_TASK}Caused by: java.util.concurrent."
            f"ExecutionException: org.apache.spark.SparkException: {LOST_TASK}java.io.IOException:"
            f" No space left on device{AT_TASK}{AT_DRIVER}Caused by: java.io.IOException: No space"
            f" left on device{AT_TASK}",
            "No space left on device",
            id="a broadcast",
        ),
        pytest.param(
            f"Exception thrown in awaitResult: {AT_TASK}Caused by: java.lang.OutOfMemoryError: Not"
            f" enough memory to build and broadcast the table{AT_TASK}",
            "Not enough memory to build and broadcast the table",
            id="a broadcast without the call",
        ),
        pytest.param(
            f"{SPARK}{LOST_TASK}org.apache.spark.SparkException: Python worker exited unexpectedly"
            f" (crashed){AT_TASK}Caused by: java.io.EOFException{AT_TASK}\t... 17 more\n{AT_DRIVER}"
            f"Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly"
            f" (crashed){AT_TASK}Caused by: java.io.EOFException{AT_TASK}",
            "Python worker exited unexpectedly (crashed)",
            id="an innermost cause without words",
        ),
        pytest.param(
            "An error occurred while calling o9.sql.\n: org.apache.spark.SparkException:"
            f" Cannot find catalog plugin class for catalog 'main': x.Catalog{AT_TASK}"
            f"Caused by: java.lang.ClassNotFoundException: x.Catalog{AT_TASK}",
            "Cannot find catalog plugin class for catalog 'main': x.Catalog",
            id="an innermost cause that is a name",
        ),
        pytest.param(
            "An error occurred while calling o9.sql.\n: org.apache.iceberg.jdbc."
            f"UncheckedSQLException: Unknown failure{AT_TASK}\tSuppressed: java.io.IOException:"
            f" Stream closed\n\t\tat a.B.c(B.java:1)\n\tCaused by: java.io.IOException: it was open"
            f" once\n\t\t... 3 more\nCaused by: org.sqlite.SQLiteException: [SQLITE_BUSY] The database"
            f" file is locked (database is locked){AT_TASK}\tSuppressed: org.apache.spark."
            "SparkException: Exception thrown in awaitResult\n\t\tat a.B.c(B.java:1)\n"
            "\tCaused by: java.io.IOException: not this one\n",
            "The database file is locked (database is locked)",
            id="suppressed exceptions are no causes",
        ),
        pytest.param(
            f"{SPARK}{LOST_TASK}org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION]"
            f" negative SQLSTATE: P0001{AT_TASK}{AT_DRIVER}",
            "negative",
            id="one word of the user's own",
        ),
        pytest.param(
            f"{SPARK}{LOST_TASK}ExecutorLostFailure (executor 1 exited caused by one of the running"
            f" tasks) Reason: Command exited with code 137{AT_DRIVER}",
            "ExecutorLostFailure (executor 1 exited caused by one of the running tasks)"
            " Reason: Command exited with code 137",
            id="a lost executor",
        ),
        pytest.param(
            f"{SPARK}Job aborted due to stage failure: Total size of serialized results of 3 tasks"
            f" (1.2 GiB) is bigger than spark.driver.maxResultSize (1024.0 MiB){AT_DRIVER}",
            "Total size of serialized results of 3 tasks (1.2 GiB) is bigger than"
            " spark.driver.maxResultSize (1024.0 MiB)",
            id="an aborted job without a task",
        ),
        pytest.param(
            f"{SPARK}Job aborted.{AT_TASK}Caused by: java.io.IOException: Mkdirs failed to create"
            f" file:/lake/t{AT_TASK}",
            "Mkdirs failed to create file:/lake/t",
            id="an aborted write",
        ),
        pytest.param(
            f"{SPARK}[WRITING_JOB_ABORTED] Writing job aborted. SQLSTATE: 40000{AT_TASK}"
            f"Caused by: java.io.IOException: Stream is corrupted{AT_TASK}",
            "Stream is corrupted",
            id="an aborted write with a code",
        ),
        pytest.param(
            f"{SPARK}{LOST_TASK}org.apache.spark.api.python.PythonException: {TRACEBACK}{AT_TASK}"
            f"{AT_DRIVER}Caused by: org.apache.spark.api.python.PythonException: {TRACEBACK}{AT_TASK}",
            "KeyError: 'CHF'",
            id="a function in Python",
        ),
        pytest.param(
            "\n  An exception was thrown from the Python worker. Please see the stack trace below.\n"
            f"{TRACEBACK}",
            "KeyError: 'CHF'",
            id="a function in Python, as PySpark tells it",
        ),
        pytest.param(
            "An error occurred while calling o9.nope. Trace:\npy4j.Py4JException: Method nope([])"
            " does not exist\n\tat py4j.Gateway.invoke(Gateway.java:276)\n",
            "Method nope([]) does not exist",
            id="a call that Java does not know",
        ),
        pytest.param(
            f"An error occurred while calling o9.count.\n: java.lang.NullPointerException{AT_TASK}",
            "NullPointerException",
            id="a class is all there is",
        ),
        pytest.param(
            f"{SPARK}Exception thrown in awaitResult: {AT_TASK}"
            f"Caused by: java.net.UnknownHostException: nowhere{AT_TASK}",
            "UnknownHostException: nowhere",
            id="a class and a name are all there is",
        ),
        pytest.param(
            f"{SPARK}Exception thrown in awaitResult: {AT_TASK}"
            f"Caused by: java.lang.IllegalStateException: null{AT_TASK}",
            "IllegalStateException",
            id="null is no word",
        ),
        pytest.param(
            "An error occurred while calling o9.count",
            "An error occurred while calling o9.count",
            id="only the call",
        ),
        pytest.param("", "Spark failed without a word", id="nothing"),
        pytest.param(
            "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/a.parquet."
            f" SQLSTATE: KD001\n\nJVM stacktrace:\norg.apache.spark.SparkException{AT_TASK}"
            f"Caused by: java.io.IOException: can not read class{AT_TASK}",
            "Encountered error while reading file file:/a.parquet",
            id="a first line that says something stays",
        ),
    ],
)
def test_the_innermost_cause_that_says_something_is_told(text: str, expected: str) -> None:
    assert str(explained(PySparkException(text))) == expected
    assert str(explained(Py4JError(text))) == expected


def test_secrets_in_causes_do_not_show() -> None:
    text = f"{SPARK}Job aborted.{AT_TASK}Caused by: java.io.IOException: refused for me:hunter2{AT_TASK}"
    failure = explained(Py4JError(text), secrets=["hunter2"])
    assert str(failure) == "refused for me:***"


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


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (OSError(28, "No space left on device", "/lake/a"), True),
        (NotADirectoryError(20, "Not a directory", "/lake/a"), False),
        (PermissionError(13, "Permission denied", "/lake/a"), False),
    ],
)
def test_what_the_system_says_of_a_folder_is_no_fault_of_ours(
    error: OSError, transient: bool
) -> None:
    assert comes_from_outside(error) and not comes_from_spark(error)
    failure = explained(error)
    assert isinstance(failure, StatementFailed) and failure.transient == transient
    assert str(failure) == (
        f"/lake/a: {error.strerror}; see that the folder is one, can be written to and has room"
    )
    assert not comes_from_outside(OSError("something else"))


def test_a_name_of_select_in_a_window_is_told_what_to_write() -> None:
    class Window(AnalysisException):
        def getCondition(self) -> str:  # noqa: N802
            return "UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_WINDOW"

    failure = explained(Window("…"), path="pipelines/top.sql")
    assert isinstance(failure, StatementRejected)
    assert failure.remedy is not None and "write out in the window" in failure.remedy
