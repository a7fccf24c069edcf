"""Connections to a Spark that runs elsewhere, without one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tranche.errors import EngineUnavailable
from tranche.lakes.remote import _MODE, Remote
from tranche.projects.config import parse_settings


def remote(root: Path, url: str) -> Remote:
    settings = parse_settings(f'[spark]\nremote = "{url}"\n', root, None, {})
    return Remote(settings, url)


def test_the_client_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql.connect.session", None)
    with pytest.raises(EngineUnavailable, match=r"install tranche\[connect\]"):
        remote(tmp_path, "sc://127.0.0.1:9").connect({}, {})


def test_nobody_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(_MODE, raising=False)
    monkeypatch.setattr("tranche.lakes.remote._QUICK", 1)
    nobody = remote(tmp_path, "sc://localhost:9/;token=hunter2")
    with pytest.raises(EngineUnavailable) as caught:
        nobody.connect({}, {})
    assert str(caught.value).startswith("the Spark at localhost:9 does not answer; see that")
    assert caught.value.transient
    assert not nobody.is_connected and not nobody.is_up()
    # PySpark is one for a Spark of this process again.
    assert _MODE not in os.environ


COLLECTED = """\
import gc, sys
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator
from tranche.lakes import remote

session = SparkSession.builder.remote("sc://localhost:9").create()
getattr(remote, sys.argv[1])(session)
type(session)._default_session = type(session)._active_session.session = None
ExecutePlanResponseReattachableIterator.shutdown = lambda: print("it waits")
del session
gc.collect()
"""


@pytest.mark.parametrize("end", ["_stop", "_close"])
def test_a_session_that_was_ended_is_collected_without_a_word(end: str) -> None:
    # What PySpark is for one process, it stays.
    done = subprocess.run(
        [sys.executable, "-c", COLLECTED, end], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
