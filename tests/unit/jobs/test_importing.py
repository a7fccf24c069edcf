"""Scripts as modules, with the modules beside them."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from tranche.errors import CodeFailed, SourceMissing
from tranche.jobs.importing import function_of, imported
from tranche.model.code import Code


def write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def module(root: Path, path: str, text: str) -> ModuleType:
    write(root, path, text)
    return imported(str(root), path)


def test_a_script_is_imported_once_and_again_when_its_text_changes(tmp_path: Path) -> None:
    first = module(tmp_path, "pipelines/s.py", "x = 1\n")
    assert first.x == 1 and first.__file__ == str(tmp_path / "pipelines/s.py")
    assert imported(str(tmp_path), "pipelines/s.py") is first
    second = module(tmp_path, "pipelines/s.py", "x = 2\n")
    assert (first.x, second.x) == (1, 2)


def test_modules_beside_it_and_of_the_project_are_found(tmp_path: Path) -> None:
    write(tmp_path, "pipelines/a/near.py", "N = 1\n")
    write(tmp_path, "pipelines/shared.py", "from a import near\nS = near.N + 1\n")
    write(tmp_path, "common/__init__.py", "from .deep import D\n")
    write(tmp_path, "common/deep.py", "D = 3\n")
    before, paths = set(sys.modules), list(sys.path)
    found = module(
        tmp_path,
        "pipelines/a/s.py",
        "import near\nfrom shared import S\nfrom common import D\n"
        "def later():\n    import late\n    return late.L\n",
    )
    assert (found.near.N, found.S, found.D) == (1, 2, 3)
    write(tmp_path, "pipelines/a/late.py", "L = 4\n")
    assert found.later() == 4
    # Nothing of it is left where other projects would find it.
    left = {name for name in set(sys.modules) - before if not name.startswith("_tranche_")}
    assert not left & {"near", "shared", "common", "common.deep", "late", "a"}
    assert sys.path == paths


def test_a_script_does_not_stand_in_for_what_is_installed(tmp_path: Path) -> None:
    found = module(
        tmp_path, "pipelines/colorsys.py", "import colorsys\nhls = colorsys.rgb_to_hls\n"
    )
    assert found.hls(0, 0, 0) == (0.0, 0.0, 0.0)


def test_projects_and_folders_do_not_mix(tmp_path: Path) -> None:
    found = []
    for root, folder in (("one", "a"), ("one", "b"), ("two", "a")):
        path = f"pipelines/{folder}/s.py"
        write(tmp_path / root, f"pipelines/{folder}/helpers.py", f"W = '{root} {folder}'\n")
        text = "import helpers\ndef later():\n    import helpers as h\n    return h.W\n"
        found.append(module(tmp_path / root, path, text))
    assert [each.helpers.W for each in found] == ["one a", "one b", "two a"]
    assert [each.later() for each in found] == ["one a", "one b", "two a"]


def test_a_module_beside_it_that_changes_is_imported_again_for_all(tmp_path: Path) -> None:
    write(tmp_path, "pipelines/helpers.py", "N = 1\n")
    for name in ("s", "t"):
        assert module(tmp_path, f"pipelines/{name}.py", "from helpers import N\n").N == 1
    write(tmp_path, "pipelines/helpers.py", "N = 22\n")
    for name in ("s", "t"):
        assert imported(str(tmp_path), f"pipelines/{name}.py").N == 22


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n\n1 / 0\n", "pipelines/s.py:3: importing the file raised ZeroDivisionError: division by zero; "),
        ("x = 1\nimport broken\n", "pipelines/s.py:2: importing the file raised KeyError: 'gone'; "),
        ("import nowhere_at_all\n", "pipelines/s.py:1: importing the file raised ModuleNotFoundError: No module named 'nowhere_at_all'; "),
        ("raise SystemExit(1)\n", "pipelines/s.py:1: importing the file raised SystemExit: 1; "),
    ],
)  # fmt: skip
def test_what_goes_wrong_has_a_line_of_the_script(text: str, message: str, tmp_path: Path) -> None:
    write(tmp_path, "pipelines/broken.py", "{}['gone']\n")
    with pytest.raises(CodeFailed) as caught:
        module(tmp_path, "pipelines/s.py", text)
    assert str(caught.value).startswith(message)
    # It can be mended.
    assert module(tmp_path, "pipelines/s.py", "y = 1\n").y == 1


def test_a_script_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match=r"pipelines/s.py cannot be read"):
        imported(str(tmp_path), "pipelines/s.py")


def test_the_function_may_not_be_something_else(tmp_path: Path) -> None:
    found = module(
        tmp_path, "pipelines/s.py", "def main(): return 1\nclass job:\n    task = main\n"
    )
    assert function_of(found, Code(function="main", line=1), "s.py")() == 1
    assert function_of(found, Code(function="job.task", line=1), "s.py")() == 1
    gone = module(tmp_path, "pipelines/s.py", "def main(): return 1\nmain = 3\n")
    with pytest.raises(CodeFailed, match=r"s.py:1: main is no function once the file was imported"):
        function_of(gone, Code(function="main", line=1), "s.py")


def test_classes_with_texts_for_types_work(tmp_path: Path) -> None:
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass A:\n    x: int\n"
        "def later():\n    @dataclass\n    class B:\n        y: A\n    return B(A(1))\n"
    )
    assert module(tmp_path, "pipelines/s.py", text).later().y.x == 1


def test_threads_import_at_the_same_time(tmp_path: Path) -> None:
    for n in range(8):
        write(tmp_path, f"pipelines/f{n}/helpers.py", f"N = {n}\n")
        write(tmp_path, f"pipelines/f{n}/s.py", "import helpers\nN = helpers.N\n")
    found: dict[int, int] = {}

    def load(n: int) -> None:
        found[n] = imported(str(tmp_path), f"pipelines/f{n}/s.py").N

    threads = [threading.Thread(target=load, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: n for n in range(8)}
