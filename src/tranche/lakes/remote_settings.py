"""What sessions on a server of Spark Connect set, and what it must have been started with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from tranche.errors import EngineUnavailable
from tranche.lakes.catalogs import packages
from tranche.lakes.failures import explained
from tranche.lakes.jars import BUCKETS, DELTA, excluded
from tranche.model.project import Lake, Settings
from tranche.projects.secrets import without_secrets
from tranche.script.binding import quoted_name

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

EXTENSIONS = "spark.sql.extensions"
_FIXED = "CANNOT_MODIFY"
"""How the conditions begin under which Spark refuses to change a setting."""
_ABSENT = ("plugin class", "ClassNotFound", "NoClassDefFound", "No suitable driver")
"""What Spark says of classes whose jar it was not started with."""


def agreed(
    session: SparkSession,
    required: Mapping[str, str],
    chosen: Mapping[str, str],
) -> tuple[dict[str, str], dict[str, str]]:
    """Sets what can be set, and returns it; then what the server should have and has not.

    What is only chosen, and is fixed when Spark starts, is up to whoever starts it.
    """
    asked = {**chosen, **required}
    extensions = asked.pop(EXTENSIONS, "")
    known = session.conf.get(EXTENSIONS, "") or ""
    lacking = {}
    if not set(filter(None, extensions.split(","))) <= set(known.split(",")):
        lacking[EXTENSIONS] = extensions
    settable = {}
    for given, value in asked.items():
        # A server reads the ones with this in front when it starts; a session's have it not.
        name = given.removeprefix("spark.hadoop.")
        if _is_set(session, name, value):
            settable[name] = value
        elif given in required and session.conf.get(name, None) != value:
            lacking[name] = value
    return settable, lacking


def check_lake(
    session: SparkSession, lake: Lake, settings: Settings, required: Mapping[str, str], place: str
) -> None:
    """Opens the catalog of a lake, if Spark has one of it; or looks into its bucket."""
    if lake.bucket is not None:
        _check_bucket(session, lake, settings, place)
    if f"spark.sql.catalog.{lake.name}" not in required:
        return
    try:
        session.sql(f"SHOW NAMESPACES IN {quoted_name(lake.name)}").collect()
    except PySparkException as error:
        failure = explained(error, secrets=settings.secrets)
        if isinstance(failure, EngineUnavailable):
            raise failure from error
        if any(words in str(error) for words in _ABSENT):
            raise unfit(settings, {EXTENSIONS: required[EXTENSIONS]}, place) from error
        remedy = f"see the settings of lakes.{lake.name}, and what that machine can reach"
        if lake.catalog is None:
            remedy = (
                f"its catalog is a file in {lake.warehouse}, which that machine must have too;"
                f" or give lakes.{lake.name} a catalog that both can reach"
            )
        raise EngineUnavailable(
            f"the Spark at {place} cannot open the lake {lake.name!r}: {failure.what}", remedy
        ) from error


def _check_bucket(session: SparkSession, lake: Lake, settings: Settings, place: str) -> None:
    """Whether the server has the jars for it; what a bucket says is told when it is read."""
    try:
        session.read.text(f"{lake.warehouse}/_tranche/nothing").collect()
    except PySparkException as error:
        if any(words in str(error) for words in _ABSENT):
            raise unfit(settings, {}, place) from error


def unfit(settings: Settings, lacking: Mapping[str, str], place: str) -> EngineUnavailable:
    """A server that lacks something, with what to put into its file of settings."""
    needed = packages(settings)
    lines = {
        **({"spark.jars.packages": ",".join(needed)} if needed else {}),
        **(
            {"spark.jars.excludes": ",".join(excluded(needed))}
            if {DELTA, *BUCKETS} & {*needed}
            else {}
        ),
        **lacking,
    }
    text = "".join(f"\n  {name} {value}" for name, value in lines.items())
    text = without_secrets(text, settings.secrets)
    return EngineUnavailable(
        f"the Spark at {place} was not started with what this project needs",
        f"whoever starts it sets{text}",
    )


def _is_set(session: SparkSession, name: str, value: str) -> bool:
    """Sets it, unless it is fixed when Spark starts."""
    try:
        session.conf.set(name, value)
    except PySparkException as error:
        if not (error.getCondition() or "").startswith(_FIXED):
            raise
        return False
    return True
