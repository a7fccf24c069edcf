"""What a session must be told for a dialect to mean what it says."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tranche.model.script import Dialect

_DUCKDB = {
    # Overflows and casts that fail break off.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.groupByAliases": "true",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
"""What the translation of DuckDB's SQL counts on, whatever a project sets."""


def prepare(session: SparkSession, dialect: Dialect) -> None:
    """Sets what a script in this dialect needs; whoever has the session next finds it as it was."""
    if dialect != "duckdb":
        return
    for name, value in _DUCKDB.items():
        session.conf.set(name, value)
