"""`on <uri> …` and `on schedule …`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import cast

from croniter import CroniterError, croniter

from tranche.errors import PartitioningError
from tranche.model.partitioning_zone import time_zone
from tranche.model.trigger import Catchup, OnAsset, OnSchedule, Rerun, Trigger, Wait
from tranche.script.mappers import parse_mapper
from tranche.script.materialize import address
from tranche.script.words import Malformed, Words, read_words

_ASSET_OPTIONS = ("map", "wait", "deadline", "on_rerun")
_SCHEDULE_OPTIONS = ("tz", "offset", "catchup")
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_INTEGER = re.compile(r"[+-]?\d+")


def parse_on(text: str, line: int) -> Trigger:
    words = read_words(text)
    if not words.plain:
        raise Malformed("'on' names nothing", "write on <uri> or on schedule")
    if words.plain[0] == "schedule":
        return _schedule(words, line)
    if len(words.plain) > 1:
        raise Malformed(
            f"unexpected {words.plain[1]!r} after 'on {words.plain[0]}'",
            "write one address a line; if this is prose, begin it with another word",
        )
    return _asset(words, line)


def _asset(words: Words, line: int) -> OnAsset:
    words.only(_ASSET_OPTIONS, "on")
    deadline = words.options.get("deadline")
    if deadline is not None and not _TIME.fullmatch(deadline):
        raise Malformed(f"deadline {deadline!r} is no time of day", 'write it as deadline="06:00"')
    rerun = words.choice("on_rerun", ("refresh", "stale", "ignore"))
    return OnAsset(
        asset=address(words.plain[0]),
        mapper=parse_mapper(words.options["map"]) if "map" in words.options else None,
        wait=_wait(words.options["wait"]) if "wait" in words.options else None,
        deadline=deadline,
        on_rerun=cast("Rerun | None", rerun),
        line=line,
    )


def _wait(text: str) -> Wait:
    if text == "any":
        return "any"
    if text == "all":
        return "all"
    if not _INTEGER.fullmatch(text) or int(text) == 0:
        raise Malformed(f"wait={text} does not parse", "use any, all, or a number that is not 0")
    return int(text)


def _schedule(words: Words, line: int) -> OnSchedule:
    words.only(_SCHEDULE_OPTIONS, "on schedule")
    cron = words.plain[1] if len(words.plain) > 1 else None
    if len(words.plain) > 2:
        raise Malformed(
            f"unexpected {words.plain[2]!r} in 'on schedule'",
            'put the whole cron in quotes, as in on schedule "0 6 * * *"',
        )
    if cron is not None and not is_cron(cron):
        raise Malformed(
            f"{cron!r} is no cron", 'write five fields, as in "0 6 * * 1-5" for 06:00 on weekdays'
        )
    tz = words.options.get("tz")
    if tz is not None:
        try:
            time_zone(tz)
        except PartitioningError as error:
            raise Malformed(error.what, error.remedy) from None
    offset = words.options.get("offset", "0")
    if not _INTEGER.fullmatch(offset):
        raise Malformed(f"offset {offset!r} is no number", "count cron steps, as in offset=-12")
    if cron is None and (tz is not None or "offset" in words.options):
        raise Malformed(
            "tz= and offset= belong to a cron", 'write on schedule "<cron>" tz=… or leave them out'
        )
    catchup = words.choice("catchup", ("all", "latest", "none"))
    return OnSchedule(cron, tz, int(offset), cast("Catchup | None", catchup), line)


@lru_cache(maxsize=256)
def is_cron(text: str) -> bool:
    """Whether a text is a cron that fires some day."""
    fields = text.split()
    named = len(fields) == 1 and text.startswith("@")
    if not (named or len(fields) == 5) or not croniter.is_valid(text):
        return False
    try:
        # The 30th of February never comes.
        croniter(text).get_next()
    except CroniterError:
        return False
    return True
