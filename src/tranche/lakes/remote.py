"""A Spark that runs elsewhere, and is reached by Spark Connect."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tranche.errors import EngineUnavailable, TrancheError
from tranche.lakes.catalogs import prepare_folders
from tranche.lakes.failures import comes_from_spark, explained
from tranche.lakes.kept_sessions import KeptSessions, kind_of
from tranche.lakes.remote_address import endpoint, parameter, with_parameters
from tranche.lakes.remote_settings import agreed, check_lake, unfit
from tranche.lakes.stranded import Whereabouts, forget, note, whereabouts
from tranche.model.project import Settings

if TYPE_CHECKING:
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession as ConnectSession

_MODE = "SPARK_CONNECT_MODE_ENABLED"
"""With this variable, PySpark's functions make columns for Spark Connect."""
_ANSWERS = "spark.sql.session.timeZone"
"""A setting that every Spark can tell."""
_QUICK = 4
"""How often somebody is asked who should be there; that takes four seconds."""
_PATIENT = 6
"""How often a question is asked again while work is going on; that takes about a minute."""
_KIND = "spark.tranche.kind"
"""A setting that tells whether a session has all others."""
_ENDED = "INVALID_HANDLE."
"""How the conditions begin of a session that a server has not got any more."""
_SETTLING = 2.0
"""How many seconds a commit may still take whose session was ended."""


class Remote:
    """The sessions of one project on a server of Spark Connect."""

    def __init__(self, settings: Settings, url: str) -> None:
        self._settings = settings
        self._url = url
        self._place = endpoint(url)
        self._root: ConnectSession | None = None
        """A session that only answers whether the server is there."""
        self._required: Mapping[str, str] = {}
        self._conf: dict[str, str] = {}
        """What each session sets."""
        self._kept = KeptSessions(Path(settings.home) / "sessions.json")
        self._open: list[ConnectSession] = []
        self._lock = threading.Lock()
        self._marked = False
        """Whether it was this that made PySpark one for Spark Connect."""

    @property
    def is_connected(self) -> bool:
        return self._root is not None

    def connect(self, required: Mapping[str, str], chosen: Mapping[str, str]) -> None:
        """Sees that a server is there, and that it knows the lakes.

        The settings in `required` must hold; those in `chosen` do if a session may set them.
        """
        prepare_folders(self._settings)
        root = self._made()
        root.client.set_retry_policies([_policy(_QUICK)])
        try:
            conf, lacking = agreed(root, required, chosen)
            if lacking:
                raise unfit(self._settings, lacking, self._place)
        except Exception as error:
            self.close()
            if not comes_from_spark(error):
                raise
            raise self._refusal(error) from error
        self._root, self._required, self._conf = root, required, conf

    def session(self) -> SparkSession:
        """A session with settings, temporary views and catalogs of its own."""
        self._ask()
        found = self._left()
        if found is None:
            found = self._made()
            self._set_up(found)
            for lake in self._settings.lakes.values():
                check_lake(found, lake, self._settings, self._required, self._place)
        return cast(SparkSession, found)

    def is_up(self) -> bool:
        try:
            self._ask()
        except TrancheError:
            return False
        return True

    def close(self, idle: Collection[object] = ()) -> None:
        """Ends all sessions but those that are as good as new, which the next command can have."""
        with self._lock:
            ended, self._open = self._open, []
        unused = [session for session in ended if session in idle]
        if unused and not self._kept.keep(self._kind, [each.session_id for each in unused]):
            unused = []
        for session in ended:
            if session in unused:
                _close(session)
            else:
                _stop(session)
        self._root = None
        if self._marked:
            os.environ.pop(_MODE, None)
            self._marked = False

    # Attempts

    def note(self, session: SparkSession, attempt: str) -> None:
        """Leaves word of the session in which an attempt is at work."""
        id_ = cast("ConnectSession", session).session_id
        note(session, attempt, Whereabouts(id_, self._user))

    def forget(self, session: SparkSession, attempt: str) -> None:
        """The attempt has come to its end. What stays of a session that is lost does no harm."""
        with suppress(PySparkException):
            forget(session, attempt)

    def end(self, session: SparkSession, attempt: str) -> None:
        """Stops what an attempt may still be doing whose client is gone."""
        found = whereabouts(session, attempt)
        if found is None:
            return
        named = {"session_id": found.session} | ({"user_id": found.user} if found.user else {})
        left = self._connected(with_parameters(self._url, named))
        try:
            left.interruptAll()
        except PySparkException as error:
            # Somebody else has ended it.
            if not (error.getCondition() or "").startswith(_ENDED):
                raise
        finally:
            _stop(left)
        # A commit cannot be stopped half-way.
        time.sleep(_SETTLING)
        forget(session, attempt)

    # The server

    @property
    def _user(self) -> str:
        """As PySpark finds it."""
        named = parameter(self._url, "user_id") or os.environ.get("SPARK_USER")
        return named or os.environ.get("USER", "")

    @property
    def _kind(self) -> str:
        return kind_of(self._url, self._user, self._conf)

    def _left(self) -> ConnectSession | None:
        """A session that an earlier command has left."""
        while (id_ := self._kept.take(self._kind)) is not None:
            found = self._made(session_id=id_)
            with suppress(PySparkException):
                self._set_up(found)
                return found
        return None

    def _set_up(self, session: ConnectSession) -> None:
        """Gives it the settings that each session has, unless it has them."""
        if session.conf.get(_KIND, "") == self._kind:
            return
        for name, value in {**self._conf, _KIND: self._kind}.items():
            session.conf.set(name, value)

    def _made(self, **parameters: str) -> ConnectSession:
        self._marked = self._marked or _MODE not in os.environ
        made = self._connected(with_parameters(self._url, parameters))
        with self._lock:
            self._open.append(made)
        return made

    def _connected(self, url: str) -> ConnectSession:
        """A session that has asked nothing yet: its client would wait too long for an answer."""
        # It would write to standard error, and so would the warning; what matters, we say.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
        try:
            made = cast("ConnectSession", SparkSession.builder.remote(url).create())
        except ImportError as error:
            raise EngineUnavailable(
                f"spark.remote needs the client of Spark Connect: {error}",
                "install tranche[connect]",
            ) from error
        except PySparkException as error:
            raise self._refusal(error) from error
        made.client.set_retry_policies([_policy(_PATIENT)])
        return made

    def _ask(self) -> None:
        """Whether the server answers, and knows our sessions."""
        if self._root is None:
            raise EngineUnavailable(f"there is no connection to the Spark at {self._place}")
        try:
            self._root.conf.get(_ANSWERS)
        except Exception as error:
            if not comes_from_spark(error):
                raise
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> EngineUnavailable:
        why = explained(error, secrets=self._settings.secrets)
        gone = isinstance(why, EngineUnavailable)
        refusal = EngineUnavailable(
            f"the Spark at {self._place} {'does not answer' if gone else f'refuses: {why.what}'}",
            "see that a server of Spark Connect runs there, and that spark.remote is its address",
        )
        refusal.transient = gone
        return refusal


def _stop(session: ConnectSession) -> None:
    """Once, as well as can be. PySpark holds up all other sessions of the process meanwhile."""
    session.client.set_retry_policies([])
    session.stop()
    _let_go(session)


def _close(session: ConnectSession) -> None:
    """Leaves a session on the server, without a client here."""
    session.client.close()
    _let_go(session)


def _let_go(session: ConnectSession) -> None:
    """Nothing happens when it is collected.

    PySpark would close its client again then, and wait for a thread that all clients of the process
    share. Collecting may begin in the middle of a call of another client, for whose end that thread
    waits: neither would ever come to one.
    """
    session.client.close = _nothing  # type: ignore[method-assign]


def _nothing() -> None: ...


def _policy(tries: int) -> DefaultPolicy:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    return DefaultPolicy(max_retries=tries)
