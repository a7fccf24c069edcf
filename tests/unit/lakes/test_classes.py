from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from tranche.lakes.classes import ClassArchive

OPTIONS = "spark.driver.defaultJavaOptions"
MORE = "spark.driver.extraJavaOptions"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Spark's own settings, which have nothing to say."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    (tmp_path / "conf").mkdir()
    return tmp_path / "conf" / "spark-defaults.conf"


def written(settings: dict[str, str]) -> Path:
    """The file that the JVM is told to write as it ends."""
    found = re.search('"-XX:ArchiveClassesAtExit=([^"]+)"', settings[OPTIONS])
    assert found is not None
    path = Path(found[1])
    path.write_bytes(b"classes")
    return path


def settle(path: Path) -> None:
    os.utime(path, (time.time() - 60, time.time() - 60))


def test_one_process_makes_it_and_the_next_uses_it(tmp_path: Path) -> None:
    archive = ClassArchive(tmp_path)
    assert archive.settings({}, make=False) == {}
    made = written(archive.settings({}, make=True))
    # The JVM might be writing still.
    assert archive.settings({}, make=False) == {}
    settle(made)
    assert archive.settings({}, make=True) == {OPTIONS: f'"-XX:SharedArchiveFile={archive.file}"'}
    assert archive.file.read_bytes() == b"classes"
    assert not made.exists()


def test_two_that_made_it_at_once(tmp_path: Path) -> None:
    archive = ClassArchive(tmp_path)
    made = [written(archive.settings({}, make=True)) for _ in range(2)]
    for path in made:
        settle(path)
    archive.settings({}, make=False)
    assert list(archive.folder.iterdir()) == [archive.file]


def test_what_was_given_stays_behind_it(tmp_path: Path) -> None:
    archive = ClassArchive(tmp_path)
    settle(written(archive.settings({}, make=True)))
    found = archive.settings({OPTIONS: "-Xss4m"}, make=True)
    assert found == {OPTIONS: f'"-XX:SharedArchiveFile={archive.file}" -Xss4m'}


@pytest.mark.parametrize("name", [OPTIONS, MORE])
@pytest.mark.parametrize("own", ["-Xshare:off", "-XX:SharedArchiveFile=/x", "-Xss4m -Xshare:auto"])
def test_who_sees_to_it_is_left_alone(tmp_path: Path, name: str, own: str) -> None:
    assert ClassArchive(tmp_path).settings({name: own}, make=True) == {}


def test_defaults_of_spark_are_not_hidden(tmp_path: Path, elsewhere: Path) -> None:
    elsewhere.write_text(f"{OPTIONS} -Da=b\n")
    assert ClassArchive(tmp_path).settings({}, make=True) == {}
    elsewhere.write_text("spark.master local\n")
    assert OPTIONS in ClassArchive(tmp_path).settings({}, make=True)


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "classes").write_text("a file where the folder should be")
    assert ClassArchive(tmp_path).settings({}, make=True) == {}


def test_a_folder_that_options_cannot_spell(tmp_path: Path) -> None:
    assert ClassArchive(tmp_path / 'a"b').settings({}, make=True) == {}
    assert OPTIONS in ClassArchive(tmp_path / "a b").settings({}, make=True)


def test_only_the_last_ones_are_kept(tmp_path: Path) -> None:
    archive = ClassArchive(tmp_path)
    made = written(archive.settings({}, make=True))
    for number in range(5):
        old = archive.folder / f"{number}.jsa"
        old.touch()
        os.utime(old, (number, number))
    settle(made)
    archive.settings({}, make=False)
    assert {path.name for path in archive.folder.iterdir()} == {
        "3.jsa",
        "4.jsa",
        archive.file.name,
    }


def test_another_spark_has_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = ClassArchive(tmp_path).file
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (tmp_path / "jars").mkdir()
    assert ClassArchive(tmp_path).file != here
