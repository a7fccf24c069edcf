"""A user's function, called for a slice: what its parameters get, and what becomes of its errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import assert_never

from tranche.errors import ArgumentRejected, CodeFailed, Place, TrancheError
from tranche.jobs.context import Active, active, window_of
from tranche.model.code import Code, Injected, Injection, Loaded, Passed
from tranche.model.partitioning import Partitioning, Window
from tranche.model.storage import Storage

_LONGEST = 600
REMEDY = "correct the code; --debug shows where it comes from"


@dataclass(frozen=True, slots=True)
class CurrentRun:
    """The run that a function is called in."""

    id: str
    fire_time: datetime
    """The one instant that the run is for; it stays the same however long the run takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a function is called with."""

    code: Code
    path: str
    """Of the script, for the place of errors."""
    keys: tuple[str, ...]
    """Of the slice, in order; none without partitioning or before `start`."""
    partitioning: Partitioning | None
    fire_time: datetime
    run: str
    arguments: Mapping[str, object]
    storage: Storage | None = None
    """Where `read_file` and `write_file` find what addresses name."""


@dataclass(frozen=True, slots=True)
class Called:
    """What came of a call."""

    returned: object
    files: Mapping[str, str]
    """The hash of what `write_file` wrote to each file, by path."""


def called(
    function: Callable[..., object],
    call: Call,
    *,
    spark: Callable[[], object],
    load: Callable[[Loaded], object],
) -> object:
    """Calls the function. Whatever it raises becomes an error of ours that names its line.

    `spark` is asked for a session only if the function wants one, `load` for the rows of an asset.
    """
    return called_with_files(function, call, spark=spark, load=load).returned


def called_with_files(
    function: Callable[..., object],
    call: Call,
    *,
    spark: Callable[[], object],
    load: Callable[[Loaded], object],
) -> Called:
    """The same, and which files were written meanwhile."""
    values = _values(call, spark, load)
    around = Active(call.keys, call.partitioning, call.storage)
    with active(around):
        returned = in_user_code(lambda: function(**values), call.path, function, call.code)
    return Called(returned, around.files())


def in_user_code(
    act: Callable[[], object], path: str, function: Callable[..., object], code: Code
) -> object:
    """Runs code of a user; what it raises is located in the file that the function is of."""
    try:
        return act()
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except TrancheError as error:
        if error.place is None:
            error.place = Place(path, _line(error.__traceback__, _file(function), code.line))
        raise
    except BaseException as error:
        line = _line(error.__traceback__, _file(function), code.line)
        raise failed(error, Place(path, line), code.function) from error


def failed(error: BaseException, place: Place, what: str) -> CodeFailed:
    """An exception of a user's code as an error of ours."""
    said = str(error).strip().partition("\n")[0]
    if len(said) > _LONGEST:
        said = f"{said[:_LONGEST]}…"
    kind = type(error).__name__
    return CodeFailed(f"{what} raised {kind}{f': {said}' if said else ''}", REMEDY, place=place)


def _values(
    call: Call, spark: Callable[[], object], load: Callable[[Loaded], object]
) -> dict[str, object]:
    found: dict[str, object] = {}
    for parameter in call.code.parameters:
        match parameter.value:
            case Injected(what):
                found[parameter.name] = _injected(what, call, spark)
            case Loaded() as loaded:
                found[parameter.name] = load(loaded)
            case Passed() as passed:
                if passed.argument in call.arguments:
                    found[parameter.name] = call.arguments[passed.argument]
                elif passed.required:
                    raise _missing(call, passed)
            case other:
                assert_never(other)
    return found


def _missing(call: Call, passed: Passed) -> ArgumentRejected:
    name = passed.argument
    place = Place(call.path, call.code.line)
    if passed.payload:
        return ArgumentRejected(
            f"{call.code.function} takes {name!r} from the payload, and the run has no such field",
            f"give one with --payload '{{\"{name}\": …}}', or give the parameter a default",
            place=place,
        )
    return ArgumentRejected(
        f"{call.code.function} needs the argument ${name}",
        f"give it with --arg {name}=<value>",
        place=place,
    )


def _injected(what: Injection, call: Call, spark: Callable[[], object]) -> object:
    match what:
        case "spark":
            return spark()
        case "partition":
            return _only(call)
        case "partitions":
            return list(call.keys)
        case "window":
            return _window(call)
        case "logical_date":
            window = _window(call)
            return None if window is None else window.start
        case "run":
            return CurrentRun(call.run, call.fire_time)
        case other:
            assert_never(other)


def _only(call: Call) -> str | None:
    if len(call.keys) > 1:
        raise CodeFailed(
            f"{call.code.function} takes one key, and was called for {len(call.keys)}",
            "let it take partitions: list[str]",
            place=Place(call.path, call.code.line),
        )
    return call.keys[0] if call.keys else None


def _window(call: Call) -> Window | None:
    key = _only(call)
    return None if key is None else window_of(call.partitioning, key)


def _file(function: Callable[..., object]) -> str | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_filename if code is not None else None


def _line(traceback: TracebackType | None, file: str | None, otherwise: int) -> int:
    """The line of the deepest frame in a file."""
    found = otherwise
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            found = traceback.tb_lineno
        traceback = traceback.tb_next
    return found
