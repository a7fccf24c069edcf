"""Connections to a Spark that runs elsewhere, without one."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tranche.errors import EngineUnavailable
from tranche.lakes.remote import _MODE, Remote, _close, _stop
from tranche.project.config import parse_settings


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


@pytest.mark.parametrize("end", [_stop, _close])
def test_a_session_that_was_ended_is_collected_without_a_word(
    end: Callable[[Any], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator

    session = remote(tmp_path, "sc://localhost:9")._connected("sc://localhost:9")
    end(session)
    waited: list[None] = []
    monkeypatch.setattr(
        ExecutePlanResponseReattachableIterator, "shutdown", lambda: waited.append(None)
    )
    del session
    gc.collect()
    assert waited == []
