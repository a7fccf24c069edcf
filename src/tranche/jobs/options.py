"""What the decorators were given, checked piece by piece; each mistake is a `Malformed`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any, NoReturn, cast, get_args

from tranche.errors import PartitioningError, TrancheError
from tranche.jobs.cron import Cron
from tranche.jobs.declared import Job, Task
from tranche.jobs.io import IO, CsvIO, DeltaIO, IcebergIO, JsonIO, ParquetIO
from tranche.model.asset import (
    AssetUri,
    BadAddress,
    FileSet,
    JobTask,
    LakeTable,
    below,
    parse_address,
)
from tranche.model.condition import AllOf, AnyOf, Asset, Condition, any_of
from tranche.model.output import Kind, Mode, Output
from tranche.model.partitioning import (
    Composite,
    Dynamic,
    Partitioning,
    Static,
    TimePartitioning,
    time_of,
)
from tranche.model.partitioning_text import shown
from tranche.model.partitioning_zone import time_zone
from tranche.model.script import Retry
from tranche.model.strategy import Append, History, Materialize, Nothing, Replace
from tranche.model.trigger import Catchup, OnAssets, OnSchedule, Trigger, asker
from tranche.script.materialize import address, parse_materialize
from tranche.script.words import Malformed

_NAME = re.compile(r"[^\W\d]\w*")
_NO_OPTIONS = ("function", "module", "unknown")
LIMIT = 4
"""How many keys of a task run at once unless the job says otherwise."""
_KINDS: dict[type, Kind] = {
    IcebergIO: "iceberg",
    DeltaIO: "delta",
    ParquetIO: "parquet",
    CsvIO: "csv",
    JsonIO: "json",
}


def is_name(name: object) -> bool:
    """Whether a job or a task can be called that."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def unknown_option(declared: Job | Task, name: str) -> NoReturn:
    """Tells of an option that a decorator does not have."""
    word = type(declared).__name__.lower()
    known = [each.name for each in fields(declared) if each.name not in _NO_OPTIONS]
    near = get_close_matches(name, known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
    raise Malformed(f"@{word} has no option {name!r}", remedy)


def rule_of(given: Any) -> Partitioning | None:
    """The partitioning of a job."""
    if given is None or isinstance(given, TimePartitioning | Static | Dynamic | Composite):
        return cast("Partitioning | None", given)
    raise Malformed(
        f"partitioning={shown(given)} divides nothing", 'write it as Daily(start="2026-01-01")'
    )


def triggers_of(
    given: Any, rule: Partitioning | None, line: int
) -> tuple[tuple[Trigger, ...], Condition | None]:
    """What starts a job: its triggers, and what of them must be there."""
    if given is None:
        return (), None
    several = given if isinstance(given, list | tuple) else (given,)
    triggers: list[Trigger] = []
    conditions: list[Condition] = []
    for each in several:
        if isinstance(each, Cron):
            trigger = _schedule(each, rule, line)
            triggers.append(trigger)
            conditions.append(asker(trigger))
        elif isinstance(each, OnAssets | Asset | AllOf | AnyOf):
            try:
                found = each if isinstance(each, OnAssets) else OnAssets(each)
            except TrancheError as error:
                raise Malformed(error.what, error.remedy) from None
            triggers += (replace(each, line=line) for each in found.triggers)
            conditions.append(found.condition)
        else:
            raise Malformed(
                f"schedule={shown(each)} starts nothing",
                'write it as Cron("0 6 * * 1-5"), Asset("lake://main/orders") or OnAssets(…)',
            )
    if not triggers:
        return (), None
    if sum(isinstance(each, OnSchedule) for each in triggers) > 1:
        raise Malformed("the schedule has several crons", "write one that fires at all times meant")
    return tuple(triggers), any_of(conditions)


def _schedule(cron: Cron, rule: Partitioning | None, line: int) -> OnSchedule:
    # Crons are understood by a package that takes its time to be imported.
    from tranche.script.triggers import is_cron

    if cron.cron is None:
        if time_of(rule) is None:
            raise Malformed(
                "Cron() fires at the start of each period, and the job has no periods",
                'write the cron, as in Cron("0 6 * * *"), or give the job keys of time',
            )
        if cron.tz is not None or cron.offset:
            raise Malformed("tz= and offset= belong to a cron", 'write Cron("0 6 * * *", tz=…)')
    elif not isinstance(cron.cron, str) or not is_cron(cron.cron):
        raise Malformed(
            f"{shown(cron.cron)} is no cron",
            'write five fields, as in Cron("0 6 * * 1-5") for 06:00 on weekdays',
        )
    if cron.tz is not None:
        try:
            time_zone(cron.tz)
        except PartitioningError as error:
            raise Malformed(error.what, error.remedy) from None
    if not isinstance(cron.offset, int):
        raise Malformed(f"offset={shown(cron.offset)} is no number", "count fires, as in -12")
    if cron.catchup not in (None, *get_args(Catchup)):
        raise Malformed(f"unknown catchup={shown(cron.catchup)}", 'use "all", "latest" or "none"')
    return OnSchedule(cron.cron, cron.tz, cron.offset, cron.catchup, line)


def retry_of(given: Any) -> Retry | None:
    """How often a step is tried again."""
    if isinstance(given, int) and not isinstance(given, bool):
        given = Retry(given)
    if given is None:
        return None
    whole = isinstance(given, Retry) and isinstance(given.times, int) and given.times > 0
    if not whole or not isinstance(given.delay, int | float) or given.delay < 0:
        raise Malformed(
            f"retry={shown(given)} says nothing", "write retry=3, or Retry(3, delay=10)"
        )
    return cast(Retry, given)


def limit_of(given: Any) -> int:
    if given is None:
        return LIMIT
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise Malformed(f"limit={shown(given)} is no number of keys", "give at least 1")
    return given


def truth_of(what: str, given: Any) -> bool:
    """What is so or not."""
    if not isinstance(given, bool):
        raise Malformed(f"{what}={shown(given)} is neither True nor False", f"write {what}=True")
    return given


def names_of(what: str, given: Any) -> tuple[str, ...]:
    """One text, or several."""
    several = (given,) if isinstance(given, str) else given
    if several is None:
        return ()
    if not isinstance(several, Sequence) or not all(isinstance(n, str) and n for n in several):
        raise Malformed(f"{what}={shown(given)} names nothing", f'write {what}="a" or ("a", "b")')
    if len(set(several)) != len(several):
        raise Malformed(f"{what} names something twice: {', '.join(several)}", "name each once")
    return tuple(several)


def reads_of(given: Any) -> tuple[AssetUri, ...]:
    return tuple(address(text) for text in names_of("reads", given))


def made_by(
    task: Task, job: str, lake: str, *, partitioned: bool, nothing: bool
) -> tuple[Materialize, Output | None]:
    """What a task makes and how; `nothing` if it can only return None."""
    partition_by = names_of("partition_by", task.partition_by)
    if task.io is not None and task.writes is not None:
        raise Malformed(
            "io= and writes= both say where the rows go",
            "keep one of them",
        )
    if task.io is not None:
        return _with_io(task, job, partition_by)
    if task.writes is None and nothing and not _has_strategy(task):
        if partition_by:
            raise Malformed(
                "partition_by= says how rows are kept, and the task returns none",
                "return the rows, or leave it out",
            )
        return Materialize(JobTask(job, task.name), Nothing()), None
    if task.writes is not None and partition_by:
        raise Malformed(
            f"partition_by= goes with io=, and {task.writes} is divided by the keys of the job",
            "leave it out, or say layout= for how its files lie",
        )
    if task.writes is None and partition_by:
        if task.on_schema_change is not None:
            raise Malformed(
                "on_schema_change= goes with writes=; where partition_by= divides a table, columns"
                " that are new come to the others",
                "leave it out",
            )
        if _has_strategy(task):
            raise Malformed(
                "partition_by= already says which rows are replaced",
                "leave key=, append= and history= out, or return a Merge",
            )
        output = Output(kind="iceberg", where=f"lake://{lake}", partition_by=partition_by)
        return Materialize(LakeTable(lake, task.name, job), Replace()), output
    made = _materialize(task, str(task.writes or LakeTable(lake, task.name, job)))
    _check_history(made, partitioned=partitioned)
    append = isinstance(made.strategy, Append)
    return made, Output(kind="lake", mode="append" if append else "overwrite")


def _with_io(task: Task, job: str, partition_by: tuple[str, ...]) -> tuple[Materialize, Output]:
    io = task.io
    if isinstance(io, type):
        raise Malformed(f"io={io.__name__} is a class", f'make one, as in {io.__name__}("…")')
    kind: Kind = _KINDS.get(type(io), "own")
    if kind == "own" and not isinstance(io, IO):
        raise Malformed(
            f"io={shown(io)} is no IO",
            "use IcebergIO, DeltaIO, ParquetIO, CsvIO or JsonIO, or something with write and read",
        )
    if _has_strategy(task):
        raise Malformed(
            "key=, append= and history= go with writes=",
            f'say mode="append" in {type(io).__name__}, or return a Merge',
        )
    if task.on_schema_change is not None:
        raise Malformed(
            "on_schema_change= goes with writes=; an IO takes columns that are new",
            'write writes="lake://…" instead of io=, or leave it out',
        )
    mode: Any = getattr(io, "mode", "overwrite")
    if mode not in get_args(Mode):
        raise Malformed(f"unknown mode={shown(mode)} of the IO", 'use "overwrite" or "append"')
    auto_filter = truth_of("auto_filter", getattr(io, "auto_filter", True))
    if kind == "own":
        _check_own(io)
    where = getattr(io, "where", "") if kind != "own" else ""
    output = Output(
        kind=kind,
        where=where if isinstance(where, str) else "",
        mode=mode,
        partition_by=partition_by,
        auto_filter=auto_filter,
    )
    strategy = Append() if mode == "append" else Replace()
    return Materialize(_asset(kind, where, job, task.name), strategy), output


def _check_own(io: IO) -> None:
    """An IO of the user can be called as it will be."""
    for method, given in ((io.write, ("context", "data")), (io.read, ("context",))):
        try:
            inspect.signature(method).bind(*given)
        except TypeError:
            called = f"{method.__name__}({', '.join(given)})"
            raise Malformed(
                f"{type(io).__name__} cannot be called as io.{called}",
                f"write def {method.__name__}(self, {', '.join(given)})",
            ) from None
        except ValueError:
            # What is not written in Python does not say what it takes.
            continue


def _asset(kind: Kind, where: Any, job: str, task: str) -> AssetUri:
    if kind == "own":
        return JobTask(job, task)
    if not isinstance(where, str) or not where:
        raise Malformed(f"the IO has {shown(where)} for a place", "give it a folder, or a lake")
    if kind == "iceberg":
        return LakeTable(_lake(where), task, job)
    try:
        return below(where, task)
    except BadAddress as error:
        what, _, remedy = str(error).partition("; ")
        raise Malformed(what, remedy or None) from None


def _lake(text: str) -> str:
    """
    >>> _lake("lake://main"), _lake("main")
    ('main', 'main')
    """
    name = text.removeprefix("lake://").rstrip("/")
    try:
        parse_address(f"lake://{name}/t")
    except BadAddress:
        raise Malformed(f"{shown(text)} is no lake", 'write IcebergIO("lake://main")') from None
    return name


def _has_strategy(task: Task) -> bool:
    return any((task.key, task.append, task.history, task.track, task.deletes, task.at))


def _materialize(task: Task, asset: str) -> Materialize:
    """The same as a materialize line would say, so that the same rules hold."""
    if task.writes is not None and not isinstance(task.writes, str):
        raise Malformed(f"writes={shown(task.writes)} is no address", "write lake://<lake>/<table>")
    address(asset)
    key, track = names_of("key", task.key), names_of("track", task.track)
    words = [_quoted(asset)]
    words += ["append"] if task.append else []
    words += ["history"] if task.history else []
    words += [f"key={_quoted(','.join(key))}"] if key else []
    words += [f"track={_quoted(','.join(track))}"] if track else []
    words += [f"deletes={_quoted(str(task.deletes))}"] if task.deletes is not None else []
    words += [f"at={_quoted(str(task.at))}"] if task.at is not None else []
    if key and task.append:
        raise Malformed("append= inserts rows and key= merges them", "keep one of them")
    made, _ = parse_materialize(" ".join(words))
    if isinstance(made.asset, FileSet | JobTask):
        raise Malformed(
            f"{made.asset} is no table of a lake",
            "write lake://<lake>/<table>, or use io=ParquetIO(…) for files",
        )
    return Materialize(made.asset, made.strategy, _policy(task))


def _policy(task: Task) -> Any:
    if task.on_schema_change not in (None, "fail", "warn", "sync", "ignore"):
        raise Malformed(
            f"unknown on_schema_change={shown(task.on_schema_change)}",
            'use "fail", "warn", "sync" or "ignore"',
        )
    return task.on_schema_change


def _check_history(made: Materialize, *, partitioned: bool) -> None:
    if not isinstance(made.strategy, History):
        return
    at_partition = made.strategy.at == "partition"
    if partitioned and not at_partition:
        raise Malformed(
            "history keeps the versions of a whole table, and the job has partitions",
            'add at="partition" to take the time of each version from its key',
        )
    if at_partition and not partitioned:
        raise Malformed('at="partition" in a job without partitions', "give it partitioning=…")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
