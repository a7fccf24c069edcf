"""Sessions that are used again.

A session has catalogs of its own, with connections that Spark never closes: a process that opened a
new one for each of thousands of slices would run out of them. It is also ready sooner when its
catalogs are.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from pyspark.sql import SparkSession

TIDYING = "tranche-tidying"
"""The name of the threads in which sessions are made what they were."""
_PATIENCE = 2.0
_ZONE = "spark.sql.session.timeZone"
_VIEWS = "SHOW VIEWS IN spark_catalog.default"
_PLACE = "SHOW CURRENT NAMESPACE"
_FUNCTIONS = "SHOW USER FUNCTIONS IN spark_catalog.default"
"""Temporary ones are of no schema, and shown with those of any; this one is always there."""
_HIDDEN = "*********(redacted)"
"""What Spark shows of a setting that may be a secret."""
_COMMENT = re.compile(r"\s+|--[^\n]*(\n|$)|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"\w+")
_HARMLESS = {
    *("ALTER", "CALL", "CREATE", "DELETE", "DESC", "DESCRIBE", "DROP", "EXPLAIN", "FROM", "INSERT"),
    *("MERGE", "REFRESH", "RESET", "SELECT", "SET", "SHOW", "TABLE", "TRUNCATE", "UPDATE"),
    *("VALUES", "WITH"),
}
"""How statements begin that change nothing of a session but its settings and views."""


class Sessions:
    """One piece of work at a time has a session; what it leaves there is removed."""

    def __init__(self, make: Callable[[], SparkSession]) -> None:
        self._make = make
        self._free: list[SparkSession] = []
        self._tidying: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._first: dict[str, str] | None = None
        """The settings of a new session."""
        self._stood = "", ""
        """The catalog and the schema that a new session is in."""

    def take(self, time_zone: str) -> SparkSession:
        with self._lock:
            session = self._free.pop() if self._free else None
        if session is None:
            session = self._make()
            if self._first is None:
                self._first, self._stood = settings_of(session), _stands(session)
        session.conf.set(_ZONE, time_zone)
        return session

    def give_back(self, session: SparkSession, *, handed_out: bool = False) -> None:
        """It can be had again once it is as it was; nobody waits for that.

        `handed_out` says that code of the user had it, which may have left anything there.
        """
        act = partial(self._tidy, session, handed_out=handed_out)
        tidying = threading.Thread(target=act, name=TIDYING, daemon=True)
        with self._lock:
            tidying.start()
            self._tidying = [*(each for each in self._tidying if each.is_alive()), tidying]

    def settled(self) -> list[SparkSession]:
        """Those that nobody has, once what was given back is tidied, if that is soon."""
        deadline = time.monotonic() + _PATIENCE
        for tidying in list(self._tidying):
            tidying.join(max(0.0, deadline - time.monotonic()))
        with self._lock:
            free, self._free = self._free, []
        return free

    def _tidy(self, session: SparkSession, *, handed_out: bool = False) -> None:
        # Spark may be ending meanwhile. A session that cannot be tidied is not used again.
        with suppress(Exception):
            if handed_out and not self._can_be_tidied(session):
                return
            first = self._first or {}
            for view in session.sql(_VIEWS).collect():
                session.catalog.dropTempView(view["viewName"])
            now = settings_of(session)
            for name in now.keys() - first.keys():
                session.conf.unset(name)
            for name, value in first.items():
                if now.get(name) != value:
                    session.conf.set(name, value)
            with self._lock:
                self._free.append(session)

    def _can_be_tidied(self, session: SparkSession) -> bool:
        """Whether a session is where it was, but for settings and views."""
        return _stands(session) == self._stood and not session.sql(_FUNCTIONS).take(1)


def _stands(session: SparkSession) -> tuple[str, str]:
    # Not from `session.catalog`, which goes by the settings of whatever session the thread has.
    (found,) = session.sql(_PLACE).collect()
    return found[0], found[1]


def settings_of(session: SparkSession) -> dict[str, str]:
    """All settings, from one question: `conf.getAll` asks for each by itself.

    What Spark hides, a server of Spark Connect tells nobody; it stays hidden then.
    """
    shown = {row["key"]: row["value"] for row in session.sql("SET").collect()}
    hidden = {name: session.conf.get(name, None) for name in shown if shown[name] == _HIDDEN}
    return shown | {name: value for name, value in hidden.items() if value is not None}


def leaves_no_trace(statements: Iterable[str]) -> bool:
    """Whether a session is as it was after these, once its settings and views are.

    >>> leaves_no_trace(["SET x = 1", "-- a\\nSELECT 1", "CREATE TEMP VIEW v AS SELECT 1"])
    True
    >>> leaves_no_trace(["USE other"])
    False
    >>> leaves_no_trace(["CREATE TEMPORARY FUNCTION f AS 'x'"])
    False
    """
    return all(map(_is_harmless, statements))


def _is_harmless(statement: str) -> bool:
    text = statement
    while found := _COMMENT.match(text):
        text = text[found.end() :]
    words = [word.upper() for word in _WORD.findall(text)[:6]]
    if not words:
        return True
    moves = words[0] == "SET" and words[1:2] in (["CATALOG"], ["VAR"], ["VARIABLE"])
    return words[0] in _HARMLESS and not moves and "FUNCTION" not in words
