"""IOs of users: what they are told, and what becomes of their errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tranche.jobs.calling import in_user_code
from tranche.jobs.context import Active, active
from tranche.jobs.conversion import converted, frame_kind
from tranche.jobs.io import IO, Parts, ReadContext, WriteContext
from tranche.model.code import Code, Loaded
from tranche.model.output import Output
from tranche.model.script import Script
from tranche.model.storage import Storage


def write_own(
    io: IO, script: Script, keys: Sequence[str], data: object, *, storage: Storage | None = None
) -> None:
    """Has the IO of a task keep what it returned for these keys."""
    output, code = _output(script), _code(script)
    context = WriteContext(
        job=str(script.job),
        task=_task(script),
        keys=tuple(keys),
        partition_by=output.partition_by,
        mode=output.mode,
    )
    with active(Active(context.keys, script.partitioning, storage)):
        in_user_code(lambda: io.write(context, data), script.path, io.write, code)


def read_own(
    io: IO,
    maker: Script,
    reader: Script,
    loaded: Loaded,
    keys: Sequence[str],
    parts: Parts | None = None,
    *,
    storage: Storage | None = None,
) -> Any:
    """What the IO of a task has of these keys, for the parameter of another one.

    A frame of another kind is converted, unless Spark's is wanted, which needs a session.
    """
    output, code = _output(maker), _code(reader)
    context = ReadContext(
        job=str(maker.job),
        task=_task(maker),
        keys=tuple(keys),
        partition_by=output.partition_by,
        mode=output.mode,
        all_partitions=loaded.all_partitions,
        parts=parts or {},
        frame=loaded.frame,
    )
    with active(Active(context.keys, maker.partitioning, storage)):
        found = in_user_code(lambda: io.read(context), reader.path, io.read, code)
    if frame_kind(found) is None or loaded.frame == "spark":
        return found
    return converted(found, loaded.frame)


def _task(script: Script) -> str:
    return script.name.removeprefix(f"{script.job}.")


def _code(script: Script) -> Code:
    assert script.code is not None
    return script.code


def _output(script: Script) -> Output:
    return _code(script).output or Output()
