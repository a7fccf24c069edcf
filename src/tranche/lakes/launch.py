"""What surrounds the start of Spark's own process."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_PYTHON, _PYTHON_CONF = "PYSPARK_PYTHON", "spark.pyspark.python"


@contextmanager
def beside_the_command_line(conf: Mapping[str, str], folder: Path) -> Iterator[None]:
    """Hands settings to Spark in a file that only its owner may read, for as long as it starts.

    On the command line every user of the machine would see them.
    """
    if not conf:
        yield
        return
    handle, path = tempfile.mkstemp(dir=folder, prefix="spark-", suffix=".conf")
    before = os.environ.get(_ARGUMENTS)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.writelines(f"{escaped(k)}={escaped(v)}\n" for k, v in conf.items())
        given = before or "pyspark-shell"
        option = f"--properties-file {shlex.quote(path)} --load-spark-defaults"
        os.environ[_ARGUMENTS] = f"{option} {given}"
        yield
    finally:
        if before is None:
            os.environ.pop(_ARGUMENTS, None)
        else:
            os.environ[_ARGUMENTS] = before
        Path(path).unlink(missing_ok=True)


@contextmanager
def with_own_python(conf: Mapping[str, str]) -> Iterator[None]:
    """Has functions of users run in this Python and its packages, for as long as Spark starts.

    Otherwise Spark takes whatever is called `python3` here. On machines elsewhere that is all there
    is, and who names another one has it.
    """
    if _PYTHON in os.environ or not conf.get("spark.master", "").startswith("local"):
        yield
        return
    os.environ[_PYTHON] = conf.get(_PYTHON_CONF, sys.executable)
    try:
        yield
    finally:
        del os.environ[_PYTHON]


def escaped(text: str) -> str:
    """A text as Java's properties files spell it.

    >>> print(escaped("a=b c" + chr(233)))
    a\\u003db\\u0020c\\u00e9
    """
    units = text.encode("utf-16-be")
    pairs = (units[i] << 8 | units[i + 1] for i in range(0, len(units), 2))
    return "".join(
        chr(unit)
        if unit < 128 and (chr(unit).isalnum() or chr(unit) in "._-")
        else f"\\u{unit:04x}"
        for unit in pairs
    )


@dataclass
class Held:
    """Whether somebody asked to stop meanwhile."""

    asked: bool = False


@contextmanager
def holding_interrupts() -> Iterator[Held]:
    """Notes SIGINT instead of obeying it.

    Whoever stops while Spark starts would leave its process behind, which nobody knows yet. Spark
    installs a handler of its own as it starts; what was there before comes back.
    """
    held = Held()
    if threading.current_thread() is not threading.main_thread():
        yield held
        return

    def note(*_: object) -> None:
        held.asked = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, before)
