"""Settings of Spark that hold for a few queries of a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

_PARTS, _LEAST_PARTS, _PART = "spark.sql.shuffle.partitions", 8, 8 * 2**20
_PROGRAMS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def in_few_words(session: SparkSession) -> Iterator[None]:
    """Queries of a few rows, for which Spark does not write programs: that takes longer than they do.

    Nothing else may use the session meanwhile.
    """
    with set_meanwhile(session, _PROGRAMS):
        yield


@contextmanager
def in_few_parts(session: SparkSession, size: int) -> Iterator[None]:
    """Queries over so many bytes, which are shuffled into as many parts as that is worth.

    Nothing else may use the session meanwhile.
    """
    known = session.conf.get(_PARTS) or ""
    # Some who offer Spark let it find the number by itself.
    parts = max(_LEAST_PARTS, size // _PART)
    fewer = {_PARTS: str(parts)} if known.isdigit() and parts < int(known) else {}
    with set_meanwhile(session, fewer):
        yield


@contextmanager
def set_meanwhile(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """These settings, and those of before again; what was not set then is unset."""
    before = {name: session.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, known in before.items():
            if known is not None:
                session.conf.set(name, known)
            else:
                session.conf.unset(name)
