"""Golden files: a Python script, then what its header and its syntax tree become."""

from __future__ import annotations

from pathlib import Path

import pytest

from tranche.model.code import Injected, Loaded, Passed, Value
from tranche.script.lakes import Lakes
from tranche.script.python import read_python_script

CASES = sorted((Path(__file__).parents[2] / "cases" / "python").glob("*.py"))
BECOMES = "# ===> becomes\n"


def told(value: Value) -> str:
    match value:
        case Injected(what):
            return f"injected {what}"
        case Loaded(asset, frame):
            return f"rows of {asset} as {frame}"
        case Passed():
            kind = "field" if value.payload else "argument"
            return f"{kind} {value.argument}" + ("" if value.required else ", optional")


def outcome(text: str, name: str, lakes: Lakes) -> str:
    read = read_python_script(name, f"{name}.py", text, lakes)
    if read.script is None:
        return "".join(f"{fault}\n" for fault in read.faults)
    script = read.script
    assert script.code is not None
    lines = [f"{script.code.function} at line {script.code.line}"]
    lines += [f"{each.name} = {told(each.value)}" for each in script.code.parameters]
    lines += [f"reads {asset}" for asset in script.reads]
    lines += [f"writes {asset}" for asset in script.writes]
    lines += [f"warning {warning}" for warning in script.warnings]
    return "".join(f"# {line}\n" for line in lines)


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_a_script_becomes(file: Path, lakes: Lakes) -> None:
    text, becomes, expected = file.read_text(encoding="utf-8").partition(BECOMES)
    assert becomes
    assert outcome(text, file.stem, lakes) == expected
