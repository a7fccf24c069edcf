"""A project's scripts: found, read, checked together, and kept."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tranche.model.project import Project
from tranche.projects import cache as cache_module
from tranche.projects.cache import ScriptCache
from tranche.projects.config import load_settings
from tranche.projects.load import load_project
from tranche.script.read import ScriptRead

Make = Callable[[dict[str, str | bytes]], Path]
GOOD = "-- pipeline\n-- partitioned daily\n-- materialize lake://main/{}\nSELECT 1 AS a\n"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def _make(files: dict[str, str | bytes]) -> Path:
        for name, text in files.items():
            path = tmp_path / "pipelines" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return _make


def load(root: Path) -> Project:
    return load_project(load_settings(root, None, {}))


def faults(root: Path) -> list[str]:
    return [str(fault) for fault in load(root).faults]


def test_scripts_are_named_by_their_path(make: Make) -> None:
    root = make(
        {
            "b.sql": GOOD.format("b"),
            "deep/er/a.sql": GOOD.format("a"),
            "p.py": "# pipeline\n# writes lake://main/p\ndef main(): ...\n",
            "helper.sql": "SELECT 1",
            "helper.py": "x = 1",
            "notes.txt": "-- pipeline",
            ".hidden.sql": "-- pipeline\nbroken(",
            ".git/x.sql": "-- pipeline\nbroken(",
        }
    )
    found = load(root)
    assert found.faults == ()
    assert [script.name for script in found.scripts] == ["b", "deep/er/a", "p"]
    script = found.script("deep/er/a")
    assert script is not None and script.path == "pipelines/deep/er/a.sql"
    assert found.script("nope") is None


def test_a_project_without_scripts(tmp_path: Path) -> None:
    assert load(tmp_path).scripts == ()


def test_a_hidden_folder_above_the_project_hides_nothing(tmp_path: Path) -> None:
    root = tmp_path / ".work" / "shop"
    (root / "pipelines").mkdir(parents=True)
    (root / "pipelines" / "a.sql").write_text(GOOD.format("a"))
    assert [script.name for script in load(root).scripts] == ["a"]


def test_faults_of_all_scripts_come_together_sorted_by_place(make: Make) -> None:
    root = make(
        {
            "z.sql": "-- pipeline\n-- partitioned dayly\nSELECT 1",
            "a.sql": "-- pipeline\n-- retry x\nSELECT FROM WHERE",
            "latin.sql": "-- pipeline\n-- caf\xe9\nSELECT 1".encode("latin-1"),
            "one.sql": GOOD.format("same"),
            "two.sql": GOOD.format("same"),
            "test.sql": GOOD.format("t").replace(
                "SELECT", "-- data_test uniqe\n-- data_test no/such\nSELECT"
            ),
            "out.sql": GOOD.format("o").replace("SELECT", "-- data_test ../a\nSELECT"),
            "good.sql": GOOD.format("good"),
        }
    )
    found = load(root)
    assert [str(fault) for fault in found.faults] == [
        "pipelines/a.sql:2: 'retry' needs a number of tries; write it as retry 3 delay=10s",
        "pipelines/a.sql:3: the statement does not parse at 'WHERE': Expected table name; correct the SQL",
        "pipelines/latin.sql:2: no UTF-8 text; save it as UTF-8",
        "pipelines/one.sql:3: lake://main/same is written by pipelines/two.sql too; let one script write it, or give one of them another table",
        "pipelines/out.sql:4: no data test and no script is called '../a'; make pipelines/../a.sql, or use unique, not_null, accepted_values, relationships",
        "pipelines/test.sql:4: no data test and no script is called 'uniqe'; did you mean 'unique', which takes a column?",
        "pipelines/test.sql:5: no data test and no script is called 'no/such'; make pipelines/no/such.sql, or use unique, not_null, accepted_values, relationships",
        "pipelines/two.sql:3: lake://main/same is written by pipelines/one.sql too; let one script write it, or give one of them another table",
        "pipelines/z.sql:2: unknown kind 'dayly' in 'partitioned'; did you mean 'daily'?",
    ]  # fmt: skip
    assert found.broken == ("a", "latin", "one", "out", "test", "two", "z")
    assert [script.name for script in found.scripts] == ["good"]


def test_a_script_whose_deadline_means_nothing_is_left_out(make: Make) -> None:
    late = '-- pipeline\n-- on lake://main/src map=all deadline="06:00"\nSELECT 1 AS a\n'
    found = load(make({"a.sql": GOOD.format("a"), "late.sql": late}))
    assert [script.name for script in found.scripts] == ["a"]
    (fault,) = found.faults
    assert str(fault.place) == "pipelines/late.sql:2"
    assert fault.what.endswith("and late has no partitions")


def test_a_data_test_may_be_a_script(make: Make) -> None:
    root = make(
        {
            "a.sql": GOOD.format("a").replace(
                "SELECT", "-- data_test tests/x\n-- data_test y.sql\nSELECT"
            ),
            "tests/x.sql": "SELECT 1 WHERE false",
        }
    )
    (root / "y.sql").write_text("SELECT 1 WHERE false")
    assert faults(root) == []


def test_two_scripts_of_one_name(make: Make) -> None:
    root = make({"a.sql": GOOD.format("a"), "a.py": "# pipeline\ndef main(): ...\n"})
    assert faults(root) == [
        "pipelines/a.sql: the script 'a' is pipelines/a.py too; rename one of the two files"
    ]


def test_a_file_that_cannot_be_read(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make({"a.sql": GOOD.format("a")})

    def denied(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    assert faults(root) == [
        "pipelines/a.sql: cannot be read: Permission denied; check its permissions"
    ]


def test_a_hit_parses_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "a.sql": GOOD.format("a"),
        "bad.sql": "-- pipeline\n-- retry x\nSELECT 1",
        "c.sql": "-- pipeline\n-- on lake://main/x\n-- on lake://main/y\n"
        '-- on schedule "@daily"\n-- trigger lake://main/x & (schedule | lake://main/y)\nSELECT 1',
    }
    root = make(texts)
    first = load(root)
    assert (
        str(first.scripts[1].annotations.condition) == "lake://main/x & (schedule | lake://main/y)"
    )

    def forbidden(*_: object) -> ScriptRead:
        raise AssertionError("parsed again")

    monkeypatch.setattr("tranche.script.sql.read_sql_script", forbidden)
    assert load(root) == first


def test_a_changed_file_is_read_again_and_old_readings_fall_out(make: Make) -> None:
    root = make({"a.sql": GOOD.format("a"), "b.sql": GOOD.format("b")})
    load(root)
    make({"a.sql": GOOD.format("other")})
    (root / "pipelines/b.sql").unlink()
    assert [str(script.asset) for script in load(root).scripts] == ["lake://main/other"]
    _, values = pickle.loads((root / ".tranche/cache/scripts").read_bytes())
    assert len(values) == 1


def test_other_lakes_mean_another_reading(make: Make) -> None:
    root = make({"a.sql": GOOD.format("a")})
    load(root)
    (root / "tranche.toml").write_text("[lakes.cold]\n")
    assert faults(root) == ["pipelines/a.sql:3: unknown lake 'main'; the lakes are cold"]


class Bomb:
    """A value that runs a command when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.marker,)


def reached(name: str) -> bytes:
    """A pickle that asks for something that a module of the model has merely imported."""
    module = "tranche.model.asset"
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n."


@pytest.mark.parametrize(
    "damage", ["truncated", "empty", "text", "bomb", "import", "other", "folder"]
)
def test_a_damaged_cache_is_read_as_none_and_runs_nothing(damage: str, make: Make) -> None:
    root = make({"a.sql": GOOD.format("a")})
    first = load(root)
    file = root / ".tranche/cache/scripts"
    marker = root / "ran"
    whole = file.read_bytes()
    if damage == "folder":
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes(
            {
                "truncated": whole[: len(whole) // 2],
                "empty": b"",
                "text": b"no pickle",
                "bomb": pickle.dumps(Bomb(marker)),
                "import": reached("re"),
                "other": pickle.dumps([1, 2, 3]),
            }[damage]
        )
    assert load(root) == first
    assert not marker.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("tranche.model.asset", "re"),
        ("tranche.model.asset", "dataclass"),
        ("tranche.model.asset", "parse_address"),
        ("tranche.model.asset", "LakeTable.__init__"),
        ("tranche.projects.load", "load_project"),
    ],
)
def test_only_values_of_the_model_are_loaded(module: str, name: str) -> None:
    import io

    loader = cache_module._OnlyModel(io.BytesIO(b""))
    with pytest.raises(pickle.UnpicklingError, match="does not belong into the cache"):
        loader.find_class(module, name)
    assert loader.find_class("tranche.model.asset", "LakeTable").__name__ == "LakeTable"


def test_a_place_that_cannot_be_written_costs_only_time(make: Make) -> None:
    root = make({"a.sql": GOOD.format("a")})
    (root / ".tranche").write_text("a file where a folder should be")
    assert len(load(root).scripts) == 1
    assert len(load(root).scripts) == 1


def test_a_failed_write_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ScriptCache(tmp_path / "cache" / "scripts", "b")
    cache.put("k", ScriptRead(None))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    cache.save()
    assert list((tmp_path / "cache").iterdir()) == []


SCRIPT = """\
-- pipeline
-- on lake://main/t{before}
-- partitioned daily tz="Europe/Paris" start="2026-01-01"
-- materialize lake://main/t{n} key=id
-- data_test unique id
-- $least (decimal(10,2)) = 1.5
CREATE TEMPORARY VIEW v AS SELECT * FROM main.t{before} WHERE day = '{{partition}}';
WITH latest AS (
    SELECT *, row_number() OVER (PARTITION BY id ORDER BY ts DESC) AS n FROM v
)
SELECT l.id, l.amount::decimal(10,2) AS amount, count(*) AS n, sum(o.amount) AS total
FROM latest AS l JOIN other{n} AS o ON o.id = l.id
WHERE l.n = 1 AND l.amount > $least AND o.day = '{{partition}}'
GROUP BY ALL;
"""
PROBE = """\
import sys, time
started = time.process_time()
from pathlib import Path
from tranche.projects.config import load_settings
from tranche.projects.load import load_project
project = load_project(load_settings(Path(sys.argv[1]), None, {}))
assert len(project.scripts) == 200, project.faults[:3]
heavy = sorted({name.partition(".")[0] for name in sys.modules} & {"sqlglot", "pyspark", "croniter"})
print(time.process_time() - started, ",".join(heavy))
"""


def test_two_hundred_scripts_load_fast_and_the_second_time_without_parsers(make: Make) -> None:
    root = make({f"f{n % 10}/s{n}.sql": SCRIPT.format(n=n, before=n - 1) for n in range(1, 201)})

    def run() -> tuple[float, str]:
        done = subprocess.run(
            [sys.executable, "-c", PROBE, str(root)], capture_output=True, text=True, check=True
        )
        seconds, _, heavy = done.stdout.strip().partition(" ")
        return float(seconds), heavy

    # Of the processor, not of the clock: others may be at work here too.
    cold, parsers = run()
    assert parsers == "croniter,sqlglot"
    assert cold < 3
    warm, parsers = run()
    assert parsers == ""
    assert warm < 0.8
