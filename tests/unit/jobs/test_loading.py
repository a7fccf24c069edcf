"""Files of jobs in a project: which are imported, how often, and what faults leave behind."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tranche.errors import CodeFailed, ScriptFaults, UnknownTarget
from tranche.jobs import registry
from tranche.model.project import Project
from tranche.planning.graph import build_graph
from tranche.planning.targets import find_target

from .conftest import Folder

SALES = """
from tranche import job, task

@job({options})
def {name}():
    @task
    def extract(): return 1

    @task
    def report(rows): ...

    report(extract())
"""


def sales(name: str = "sales", options: str = "") -> str:
    return SALES.format(name=name, options=options)


def targets(project: Project, text: str) -> tuple[str, ...]:
    return find_target(project, build_graph(project.scripts), text).scripts


def test_a_file_without_jobs_is_not_imported(folder: Folder) -> None:
    folder.write("helpers.py", "raise SystemExit('imported')\nfrom tranche import job\n")
    folder.write("more.py", "def job(): ...\n\n@job\ndef x(): 1 / 0\nraise SystemExit\n")
    assert folder.sound().scripts == ()


@pytest.mark.parametrize(
    "line",
    [
        "from tranche import job, task",
        "from tranche import *",
        "import tranche\njob, task = tranche.job, tranche.task",
        "import tranche as t\njob, task = t.job, t.task",
        "from tranche import job as j, task\njob = j",
    ],
)
def test_however_job_is_imported(folder: Folder, line: str) -> None:
    text = sales().replace("from tranche import job, task", line)
    project = folder.write("shop.py", text).sound()
    assert [script.name for script in project.scripts] == ["sales.extract", "sales.report"]


def test_a_file_is_imported_once_for_each_load(folder: Folder) -> None:
    counting = "import pathlib\npathlib.Path(__file__).with_suffix('.n').open('a').write('x')\n"
    folder.write("shop.py", counting + sales() + sales("other"))
    for _ in range(3):
        folder.sound()
    # Its text is the same, so that it is not imported again by the same process.
    assert (folder.root / "pipelines" / "shop.n").read_text() == "x"
    folder.write("shop.py", counting + sales() + sales("third"))
    assert folder.sound().script("third.extract") is not None
    assert (folder.root / "pipelines" / "shop.n").read_text() == "xx"


def test_jobs_of_a_file_that_another_imports_are_its_own(folder: Folder) -> None:
    folder.write("first.py", sales("first"))
    folder.write("second.py", f"from first import first\n{sales('second')}")
    project = folder.sound()
    assert {script.name: script.path for script in project.scripts} == {
        "first.extract": "pipelines/first.py",
        "first.report": "pipelines/first.py",
        "second.extract": "pipelines/second.py",
        "second.report": "pipelines/second.py",
    }


def test_jobs_may_be_made_by_functions_of_helpers(folder: Folder) -> None:
    helper = "def make(region):" + sales("made", "name=f'sales_{region}'").replace("\n", "\n    ")
    folder.write("helpers.py", helper)
    folder.write("shop.py", "from tranche import job\nfrom helpers import make\nassert job\n")
    (folder.root / "pipelines" / "shop.py").open("a").write("make('eu')\nmake('us')\n")
    names = {script.job for script in folder.sound().scripts}
    assert names == {"sales_eu", "sales_us"}


def test_what_a_file_prints_goes_to_standard_error(folder: Folder) -> None:
    folder.write(
        "shop.py",
        "print('hello')\n" + sales().replace("    @task", "    print('in')\n    @task", 1),
    )
    command = [sys.executable, "-m", "tranche", "check", "--json", "--project", str(folder.root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("{")
    assert done.stderr.split() == ["hello", "in"]


def test_an_import_that_fails_leaves_nothing_behind(folder: Folder) -> None:
    before = set(sys.modules)
    folder.write("shop.py", sales() + "\nimport nowhere\n")
    project = folder.load()
    assert [str(fault) for fault in project.faults] == [
        "pipelines/shop.py:14: importing the file raised ModuleNotFoundError: No module named"
        " 'nowhere'; correct the code; the file is imported to be read"
    ]
    assert {name for name in set(sys.modules) - before if "shop" in name} == set()
    assert project.broken == ("sales", "sales.extract", "sales.report", "shop")
    for target in ("sales", "sales.extract", "shop", "pipelines/shop.py", "pipelines/"):
        with pytest.raises(ScriptFaults):
            targets(project, target)
    folder.write("shop.py", sales())
    assert targets(folder.sound(), "sales") == ("sales.extract", "sales.report")


def test_an_import_that_fails_further_down_says_where(folder: Folder) -> None:
    folder.write("helpers.py", "\n\ndef make():\n    return {}['x']\n\nmake()\n")
    folder.write("shop.py", f"import helpers\n{sales()}")
    assert folder.faults() == [
        "pipelines/shop.py:1: importing the file raised KeyError: 'x', at pipelines/helpers.py:4;"
        " correct the code; the file is imported to be read"
    ]


def test_faults_show_no_secrets(folder: Folder) -> None:
    toml = '[spark.conf]\n"spark.x.password" = "hunter2"\n'
    (folder.root / "tranche.toml").write_text(toml)
    folder.write("shop.py", sales() + "\nraise OSError('hunter2 does not let us in')\n")
    (fault,) = folder.faults()
    assert "OSError: *** does not let us in" in fault


def test_a_file_whose_syntax_is_wrong(folder: Folder) -> None:
    project = folder.write("shop.py", sales() + "\ndef (\n").load()
    assert [fault.place.line for fault in project.faults] == [14]
    assert project.broken == ("shop",)


def test_a_header_and_jobs_exclude_each_other(folder: Folder) -> None:
    folder.write("shop.py", "# what we sell\n# pipeline\n" + sales())
    assert folder.faults() == [
        "pipelines/shop.py:2: the file says 'pipeline', and defines jobs; remove the comment, or"
        " move the jobs to a file of their own"
    ]


def test_texts_of_other_systems(folder: Folder) -> None:
    text = "\ufeff" + sales().replace("return 1", 'return "größe", 1').replace("\n", "\r\n")
    file = folder.root / "pipelines" / "shop.py"
    file.write_bytes(text.encode())
    windows = folder.script("sales.extract")
    file.write_bytes(text.replace("\r\n", "\n").encode())
    assert folder.script("sales.extract").fingerprint == windows.fingerprint


def test_comments_of_files_of_jobs_are_prose(folder: Folder) -> None:
    folder.write("shop.py", "# on weekdays\n# reads orders\n" + sales())
    assert len(folder.sound().scripts) == 2


@pytest.mark.parametrize(
    ("files", "faults"),
    [
        (
            {"sales.sql": "-- pipeline\nSELECT 1 AS a", "shop.py": sales()},
            ["pipelines/shop.py:4: the job 'sales' has its name from pipelines/sales.sql already"],
        ),
        (
            {"a.py": sales(), "b.py": sales()},
            [
                "pipelines/a.py:6: lake://main/sales.extract is written by sales.extract in"
                " pipelines/b.py too",
                "pipelines/b.py:4: the job 'sales' has its name from pipelines/a.py already",
            ],
        ),
        (
            {"a.py": sales(), "sales.report.sql": "-- pipeline\nSELECT 1 AS a"},
            ["pipelines/sales.report.sql: the script 'sales.report' is pipelines/a.py too"],
        ),
    ],
    ids=["a script", "two jobs", "a task"],
)
def test_names_are_shared_with_scripts(
    folder: Folder, files: dict[str, str], faults: list[str]
) -> None:
    for name, text in files.items():
        folder.write(name, text)
    found = folder.faults()
    for fault in faults:
        assert any(each.startswith(fault) for each in found), found


def test_what_a_target_names(folder: Folder) -> None:
    folder.write("shop/jobs.py", sales(options='tags="money"') + sales("other"))
    folder.write("shop/raw.sql", "-- pipeline\n-- materialize lake://main/raw\nSELECT 1 AS a")
    project = folder.sound()
    both = ("sales.extract", "sales.report")
    assert targets(project, "sales") == both
    assert targets(project, "sales.extract") == ("sales.extract",)
    assert targets(project, "job://sales/report") == ("sales.report",)
    assert targets(project, "lake://main/sales.extract") == ("sales.extract",)
    assert targets(project, "tag:money") == both
    assert targets(project, "shop/jobs") == targets(project, "pipelines/shop/jobs.py")
    assert len(targets(project, "shop/jobs")) == 4
    assert len(targets(project, "shop/")) == 5
    for text, hint in (("saels", "did you mean 'sales'?"), ("tag:mony", "the tags are money")):
        with pytest.raises(UnknownTarget) as caught:
            targets(project, text)
        assert caught.value.remedy == hint


def test_the_function_of_a_script_is_the_one_that_it_was_loaded_with(folder: Folder) -> None:
    root = str(folder.root)
    before = folder.write("shop.py", sales()).script("sales.extract")
    assert registry.function_of(before, root)() == 1
    after = folder.write("shop.py", sales().replace("return 1", "return 2")).script("sales.extract")
    assert registry.function_of(before, root)() == 1
    assert registry.function_of(after, root)() == 2
    with pytest.raises(CodeFailed, match="is not there as it was"):
        registry.function_of(after, "elsewhere")


def change(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


TWO = """
from tranche import job, task, Daily, Retry, Cron

def helper(): return 1

@job(partitioning=Daily(start="2024-01-01"), schedule=Cron("0 6 * * *"))
def sales(limit: int = 1):
    factor = 2

    @task(tests=["unique id"])
    def extract(partition, limit):
        '''What it does.'''
        return helper() * factor  # of course

    @task
    def report(rows): ...

    report(extract())
"""


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ("return helper() * factor", "return helper() * 3", ["extract"]),
        ("  # of course", "", []),
        ("'''What it does.'''", "'''It does that.'''", []),
        ('tests=["unique id"]', 'tests=["unique id"], retry=3', []),
        ('start="2024-01-01"', 'start="2025-01-01", lookback=2', []),
        ('"0 6 * * *"', '"0 7 * * *"', []),
        ("def helper(): return 1", "def helper(): return 2", []),
        ("factor = 2", "factor = 3", ["extract", "report"]),
        ("limit: int = 1", "limit: int = 2", ["extract"]),
        ('Daily(start="2024-01-01")', 'Daily(start="2024-01-01", tz="Asia/Tokyo")', ["extract", "report"]),
        ('tests=["unique id"]', 'key="id"', ["extract"]),
        ("def report(rows): ...", "def report(rows, partition): ...", ["report"]),
        ("    report(extract())", "    @task\n    def third(): ...\n    third()\n    report(extract())", []),
    ],
)  # fmt: skip
def test_what_makes_a_task_another(folder: Folder, old: str, new: str, stale: list[str]) -> None:
    def fingerprints(text: str) -> dict[str, str]:
        scripts = folder.write("shop.py", text).sound().scripts
        return {script.name.removeprefix("sales."): script.fingerprint for script in scripts}

    before = fingerprints(TWO)
    after = fingerprints(change(TWO, old, new))
    assert [name for name in before if before[name] != after[name]] == stale


def test_one_folder_has_one_address_however_it_is_spelled(folder: Folder) -> None:
    job = """\
from tranche import ParquetIO, job, task

@job
def {job}():
    @task(io=ParquetIO("{where}"))
    def rows(): return 1

    rows()
"""
    folder.write("one.py", job.format(job="one", where="data"))
    folder.write("two.py", job.format(job="two", where="./data//"))
    assert any(fault.endswith("give one of them another table") for fault in folder.faults())


@pytest.mark.parametrize("how", ['io=IcebergIO("lake://other")', 'io=IcebergIO("lake://duck")'])
def test_rows_that_columns_divide_need_a_format_that_has_them(folder: Folder, how: str) -> None:
    (folder.root / "tranche.toml").write_text(
        '[lakes.main]\n[lakes.other]\nformat = "parquet"\n[lakes.duck]\nformat = "ducklake"\n'
    )
    folder.write(
        "shop.py",
        f"""\
from tranche import IcebergIO, job, task

@job
def shop():
    @task({how}, partition_by="day")
    def rows(): return 1

    rows()
""",
    )
    (fault,) = folder.faults()
    assert fault.startswith(
        "pipelines/shop.py:6: the task 'shop.rows' keeps its rows with IcebergIO"
    )
