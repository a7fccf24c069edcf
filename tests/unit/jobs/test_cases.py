"""Golden files: `tests/cases/jobs/*.txt` are files of jobs, then the scripts or the faults that they
must become."""

from __future__ import annotations

from pathlib import Path

import pytest

from tranche.model.code import Injected, Loaded, Passed, Value
from tranche.model.project import Project
from tranche.model.script import Script

from .conftest import Folder

FILES = sorted((Path(__file__).parents[2] / "cases" / "jobs").glob("*.txt"))
BECOMES = "# ===> becomes\n"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_of_jobs_becomes(folder: Folder, file: Path) -> None:
    text, becomes, expected = file.read_text(encoding="utf-8").partition(BECOMES)
    assert becomes
    project = folder.write(f"{file.stem}.py", text).load()
    assert _outcome(project) == expected


def _outcome(project: Project) -> str:
    if project.faults:
        return "".join(f"{fault}\n" for fault in project.faults)
    return "\n".join("".join(f"{line}\n" for line in _lines(s)) for s in project.scripts)


def _lines(script: Script) -> list[str]:
    assert script.code is not None
    told = script.annotations
    rule = told.partitioning
    made = told.materialize
    assert made is not None
    lines = [f"{script.name} at {script.path}:{script.code.line}"]
    lines += [f"  keys {rule.describe()}"] if rule else []
    lines += [f"  makes {made.asset} by {made.strategy.name}"]
    lines += [f"  kept {script.code.output}"] if script.code.output else []
    lines += [f"  takes {p.name}: {_value(p.value)}" for p in script.code.parameters]
    lines += [f"  reads {asset}" for asset in script.reads]
    lines += [f"  when {told.condition}"] if told.condition is not None else []
    lines += [f"  argument {a.name} {a.type} = {a.default}" for a in told.arguments]
    lines += [f"  test {test}" for test in told.data_tests]
    lines += [f"  layout {transform}" for transform in told.layout]
    lines += [f"  retry {told.retry.times} {told.retry.delay}"] if told.retry else []
    lines += [f"  tags {', '.join(script.tags)}"] if script.tags else []
    lines += [f"  limit {script.limit}"]
    return lines


def _value(value: Value) -> str:
    match value:
        case Injected(what):
            return f"{what} of the run"
        case Passed():
            return f"the argument {value.argument}"
        case Loaded():
            whole = " with all keys" if value.all_partitions else ""
            return f"{value.asset}{whole} as {value.frame}"
