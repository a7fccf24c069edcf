"""Spark: started once per process, one session at a time for each attempt."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from filelock import FileLock
from pyspark import SparkContext
from pyspark.sql import SparkSession

from tranche.errors import ConfigError, EngineUnavailable, Place
from tranche.lakes.catalogs import lake_conf, packages, prepare_folders
from tranche.lakes.classes import ClassArchive
from tranche.lakes.failures import comes_from_spark
from tranche.lakes.jars import DELTA, JarCache, excluded
from tranche.lakes.launch import beside_the_command_line, holding_interrupts, with_own_python
from tranche.lakes.remote import Remote
from tranche.lakes.remote_settings import EXTENSIONS
from tranche.lakes.sessions import Sessions
from tranche.model.project import Settings
from tranche.projects.secrets import without_secrets

_OLDEST_JAVA = 17
_LARGEST_LOG = 20_000_000
_LOUD = (
    "SQLQueryContextLogger",
    "DataFrameQueryContextLogger",
    "py4j",
    "pyspark.sql.connect.logging",
)
_REQUIRED = {
    # Otherwise Spark replaces ${…} inside the literals of scripts.
    "spark.sql.variable.substitute": "false",
    # Otherwise Spark cuts 1.5 down to 1 to fit a column of whole numbers.
    "spark.sql.storeAssignmentPolicy": "STRICT",
}
_DEFAULTS = {
    # Otherwise whatever is kept in memory has 200 parts, however small it is.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    "spark.sql.session.timeZone": "UTC",
}
_REQUIRED_ELSEWHERE = {
    # What went wrong is told from the classes in it.
    "spark.sql.connect.serverStacktrace.enabled": "true",
}


class Spark:
    """The Spark of one project."""

    def __init__(
        self,
        settings: Settings,
        *,
        debug: bool = False,
        archiving: bool = False,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = settings
        self._archiving = archiving
        """Whether the classes that it loads are kept for later starts."""
        self._more = more or {}
        """Settings that win over all others."""
        self._debug = debug
        self._root: SparkSession | None = None
        self._owned = False
        """Whether it was started here, and is to be stopped here."""
        remote = settings.spark.remote
        self._remote = None if remote is None else Remote(settings, remote)
        """The Spark that runs elsewhere, if it does."""
        self._lock = threading.Lock()
        self._sessions = Sessions(self._new_session)

    def open(self, time_zone: str = "UTC") -> SparkSession:
        """A session with its own settings, temporary views and time zone."""
        return self._sessions.take(time_zone)

    def give_back(self, session: SparkSession, *, handed_out: bool = False) -> None:
        """Somebody else may have it now; `handed_out` says that code of the user had it."""
        self._sessions.give_back(session, handed_out=handed_out)

    @contextmanager
    def known_as(self, session: SparkSession, attempt: str) -> Iterator[None]:
        """A session that is at work for an attempt, and can be found should this process end."""
        if self._remote is None:
            # Spark would end with it.
            yield
            return
        self._remote.note(session, attempt)
        try:
            yield
        finally:
            self._remote.forget(session, attempt)

    def end(self, session: SparkSession, attempt: str) -> None:
        """Stops what is left of an attempt of another process, which is gone."""
        if self._remote is not None:
            self._remote.end(session, attempt)

    def is_up(self) -> bool:
        """Whether it was started, and answers."""
        if self._remote is not None:
            return self._remote.is_up()
        if self._root is None:
            return False
        try:
            return bool(self._root.version)
        except Exception as error:
            if not comes_from_spark(error):
                raise
            return False

    def close(self) -> None:
        if self._remote is not None:
            self._remote.close(self._sessions.settled())
        if self._root is not None and self._owned:
            try:
                self._root.stop()
            except Exception as error:
                # One that has died cannot be stopped, and need not be.
                if not comes_from_spark(error):
                    raise
                _forget_the_dead()
        self._root = None
        self._sessions = Sessions(self._new_session)

    def _new_session(self) -> SparkSession:
        """A new one; Spark starts with the first."""
        if self._remote is None:
            return self._started().newSession()
        with self._lock:
            if not self._remote.is_connected:
                self._hush()
                chosen = {**_DEFAULTS, **self._settings.spark.conf}
                required = {**self._required(), **_REQUIRED_ELSEWHERE}
                self._remote.connect(required, chosen)
        return self._remote.session()

    @property
    def log(self) -> Path:
        """Where Spark's own words go."""
        return Path(self._settings.home) / "spark.log"

    def _started(self) -> SparkSession:
        with self._lock:
            if self._root is None:
                running = SparkSession.getActiveSession()
                self._owned = running is None
                self._root = self._start() if running is None else self._joined(running)
            return self._root

    def _joined(self, running: SparkSession) -> SparkSession:
        """The Spark that this process has already, if it knows the project's lakes."""
        conf = lake_conf(self._settings)
        extensions = conf.pop(EXTENSIONS).split(",")
        known = (running.conf.get(EXTENSIONS, "") or "").split(",")
        if set(extensions) <= set(known) and all(
            running.conf.get(name, None) == value for name, value in conf.items()
        ):
            return running
        raise EngineUnavailable(
            "a Spark is running in this process that does not know the lakes of this project",
            "stop it first, so that Tranche starts one that does",
        )

    def _start(self) -> SparkSession:
        conf = self._conf()
        check_java()
        conf |= ClassArchive().settings(conf, make=self._archiving)
        try:
            prepare_folders(self._settings)
            self.log.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EngineUnavailable(
                f"the folder {error.filename} cannot be made: {error.strerror}",
                "check the permissions of the project folder",
            ) from None
        session = self._with_jars(conf)
        self._hush()
        return session

    def _hush(self) -> None:
        """Some repeat every failure on standard error, with tracebacks; our words are enough."""
        if not self._debug:
            for name in _LOUD:
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    def _with_jars(self, conf: dict[str, str]) -> SparkSession:
        more = [package for package in conf.pop("spark.jars.packages", "").split(",") if package]
        jars = JarCache([*packages(self._settings), *more])
        extra = [jar for jar in conf.pop("spark.jars", "").split(",") if jar]
        found = jars.found()
        if found is None:
            jars.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(jars.lock):
                found = jars.found()
                if found is None:
                    first = {
                        **conf,
                        "spark.jars": ",".join(extra),
                        "spark.jars.packages": ",".join(jars.packages),
                        "spark.jars.excludes": joined(
                            *excluded(jars.packages), conf.get("spark.jars.excludes", "")
                        ),
                        "spark.jars.ivy": str(jars.folder),
                    }
                    session = self._launch(first)
                    found = jars.remember()
                    if not found or _is_here(conf["spark.master"]):
                        return session
                    # `spark.jars` of a session wins over what the resolver found, and workers are
                    # given what it names: they have to be told of these files as of any others.
                    session.stop()
        return self._launch({**conf, "spark.jars": ",".join([*map(str, found), *extra])})

    def _launch(self, conf: dict[str, str]) -> SparkSession:
        secret = {k: v for k, v in conf.items() if any(s in v for s in self._settings.secrets)}
        builder = SparkSession.builder
        for key, value in conf.items():
            if key not in secret:
                builder = builder.config(key, value)
        try:
            with (
                _quiet(self.log) if not self._debug else nullcontext(),
                beside_the_command_line(secret, self.log.parent),
                with_own_python(conf),
                holding_interrupts() as held,
            ):
                session = builder.getOrCreate()
            session.sparkContext.setLogLevel("WARN" if self._debug else "ERROR")
            if held.asked:
                session.stop()
                raise KeyboardInterrupt
        except Exception as error:
            text = without_secrets(_first_line(error), self._settings.secrets)
            raise EngineUnavailable(
                f"Spark did not start: {text}",
                f"see {self.log}" if not self._debug else "see the messages above",
            ) from error
        return session

    def _conf(self) -> dict[str, str]:
        """Defaults, then what the user sets, then what must hold."""
        given = self._settings.spark.conf
        return {**self._base_conf(), **given, **self._required(), **self._more}

    def _required(self) -> dict[str, str]:
        """What must hold, whatever the user sets."""
        given = self._settings.spark.conf
        required = {**_REQUIRED, **lake_conf(self._settings)}
        required[EXTENSIONS] = joined(required[EXTENSIONS], given.get(EXTENSIONS, ""))
        for name, value in given.items():
            if name in required and name != EXTENSIONS and required[name] != value:
                said = f"spark.conf sets {name} to {value!r}, and Tranche needs {required[name]!r}"
                raise ConfigError(
                    without_secrets(said, self._settings.secrets),
                    "leave it out",
                    place=Place("tranche.toml"),
                )
        return required

    def _base_conf(self) -> dict[str, str]:
        conf = {
            **_DEFAULTS,
            "spark.app.name": f"tranche {self._settings.name}",
            "spark.master": self._settings.spark.master,
            "spark.driver.memory": _driver_memory(),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.sql.warehouse.dir": f"{self._settings.home}/spark-warehouse",
        }
        if DELTA in packages(self._settings):
            # How it reads its log; otherwise in 50 parts, however short it is.
            conf["spark.databricks.delta.snapshotPartitions"] = "4"
        if self._settings.spark.master.startswith("local"):
            conf["spark.driver.host"] = "127.0.0.1"
            conf["spark.driver.bindAddress"] = "127.0.0.1"
        return conf


def _forget_the_dead() -> None:
    """PySpark keeps its connection to a process that is gone, and would use it for a new one."""
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def joined(*lists: str) -> str:
    """
    >>> joined("a,b", "", "b,c")
    'a,b,c'
    """
    return ",".join(dict.fromkeys(item for text in lists for item in text.split(",") if item))


def check_java() -> None:
    """Says what to install when there is no Java; its version is looked at only if Spark fails."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return
    if shutil.which("java") is None:
        raise EngineUnavailable(
            "there is no Java, and Spark needs one",
            f"install Java {_OLDEST_JAVA} or newer, as in 'apt-get install"
            f" openjdk-{_OLDEST_JAVA}-jre-headless', or set JAVA_HOME",
        )


def _driver_memory() -> str:
    """Two fifths of the machine, between 1 and 8 GiB."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "2g"
    return f"{max(1, min(8, int(total * 0.4 / 2**30)))}g"


@contextmanager
def _quiet(log: Path) -> Iterator[None]:
    """Sends what is written to standard output and error to a file.

    The process that Spark starts inherits these, so its words stay out of ours for good.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    large = log.exists() and log.stat().st_size > _LARGEST_LOG
    with log.open("wb" if large else "ab") as file:
        try:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            yield
        finally:
            os.dup2(saved[0], 1)
            os.dup2(saved[1], 2)
            os.close(saved[0])
            os.close(saved[1])


def _is_here(master: str) -> bool:
    """Whether tasks run in the process that asks for them.

    >>> _is_here("local[*]"), _is_here("local"), _is_here("local-cluster[2,1,1024]")
    (True, True, False)
    """
    return master == "local" or master.startswith("local[")


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
