"""A plugin of pytest: a small Spark session for tests that ask for one.

It is there once Tranche is installed. Nothing of Spark is imported before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def tranche_spark() -> Iterator[SparkSession]:
    """A session of Spark on one thread, shared by all tests; one that is there already is used."""
    from tranche.lakes.small import small_session

    with small_session() as session:
        yield session
