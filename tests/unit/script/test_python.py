"""Python scripts: their header, without running them."""

from __future__ import annotations

import warnings

import pytest

from tranche.model.asset import LakeTable
from tranche.model.partitioning import Daily
from tranche.script.lakes import Lakes
from tranche.script.python import read_python_script
from tranche.script.read import ScriptRead

MAIN = "def main(): return None or 1\n"
HEAD = "#!/usr/bin/env python\n# pipeline\n# partitioned daily\n# materialize lake://main/a\n"


def test_a_header_is_read_and_nothing_is_run(lakes: Lakes) -> None:
    text = HEAD + "# reads lake://main/b\n# writes lake://other/c\nraise SystemExit('ran')\n" + MAIN
    for source in (text, "\ufeff" + text.replace("\n", "\r\n")):
        found = read_python_script("s", "s.py", source, lakes).script
        assert found is not None
        assert found.language == "python"
        assert found.partitioning == Daily()
        assert found.reads == (LakeTable("main", "b"),)
        assert found.writes == (LakeTable("main", "a"), LakeTable("other", "c"))


@pytest.mark.parametrize(
    "text", ["", "import this\n", "# prose\nx = 1  # retry 3\n# on schedule\n"]
)
def test_other_modules_are_no_scripts(text: str, lakes: Lakes) -> None:
    assert read_python_script("s", "s.py", text, lakes) == ScriptRead(None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# pipeline\n\ndef f(:\n", "s.py:3: the code does not parse: invalid syntax; correct the Python"),
        ("# pipeline\nx = (1,\n", "s.py:2: the code does not parse: "),
        ("# pipeline\nx = '''\n\n", "s.py:2: the code does not parse: "),
        ("# pipeline\nreturn 1\n", "s.py:2: the code does not parse: 'return' outside function"),
        ("# pipeline\nif x:\n    y\n  z\n", "s.py:4: the code does not parse: "),
        ("# pipeline\ndef main(): ...\n# materialize lake://main/a\n", "s.py:3: the annotation 'materialize' stands below the first statement"),
        ("# pipeline\n# reads lake://mian/a\ndef main(): ...\n", "s.py:2: unknown lake 'mian'; did you mean 'main'?"),
        ("# pipeline\n# on lake://mian/a\ndef main(): ...\n", "s.py:2: unknown lake 'mian'; did you mean 'main'?"),
    ],
)  # fmt: skip
def test_faults_are_located(text: str, message: str, lakes: Lakes) -> None:
    [fault] = read_python_script("s", "s.py", text, lakes).faults
    assert str(fault).startswith(message)


def test_warnings_of_the_users_code_are_not_ours(lakes: Lakes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_python_script("s", "s.py", HEAD + "x = '\\d'\n" + MAIN, lakes).script


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("x = 1\n", "x = 1  # a remark\n\n# another\n", True),
        ("x = 1\n", "x = 2\n", False),
        ("x = '''a\nb'''\n", "x = '''a\n\nb'''\n", False),
        ("x = '# a'\n", "x = '# b'\n", False),
    ],
)
def test_what_defines_the_rows_is_the_code(
    before: str, after: str, same: bool, lakes: Lakes
) -> None:
    def fingerprint(text: str) -> str:
        found = read_python_script("s", "s.py", HEAD + text + MAIN, lakes).script
        assert found is not None
        return found.fingerprint

    assert (fingerprint(before) == fingerprint(after)) is same


def test_what_code_writes_by_itself_is_manual(lakes: Lakes) -> None:
    text = "# pipeline\n# writes s3:///a.json\n# writes lake://main/t\n" + MAIN
    found = read_python_script("s", "s.py", text, lakes).script
    assert found is not None
    assert str(found.asset) == "s3:///a.json"
    assert not found.managed
    assert [str(asset) for asset in found.writes] == ["s3:///a.json", "lake://main/t"]
