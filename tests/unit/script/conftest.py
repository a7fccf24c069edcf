"""Reading scripts, as the tests of this folder do it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tranche.model.script import Script
from tranche.script.lakes import Lakes
from tranche.script.read import ScriptRead
from tranche.script.sql import read_sql_script

# Lets the tests of this folder share `lineage_cases`.
sys.path.insert(0, str(Path(__file__).parent))

Read = Callable[[str], ScriptRead]


@pytest.fixture
def lakes() -> Lakes:
    return Lakes(frozenset({"main", "other"}), "main")


@pytest.fixture
def read(lakes: Lakes) -> Read:
    return lambda text: read_sql_script("s", "s.sql", text, lakes)


@pytest.fixture
def script(read: Read) -> Callable[[str], Script]:
    """The script of a text without faults."""

    def _script(text: str) -> Script:
        found = read(text)
        assert [str(fault) for fault in found.faults] == []
        assert found.script is not None
        return found.script

    return _script


@pytest.fixture
def faults(read: Read) -> Callable[[str], list[str]]:
    """The messages about a text, of which there is no script then."""

    def _faults(text: str) -> list[str]:
        found = read(text)
        assert found.script is None
        return [str(fault) for fault in found.faults]

    return _faults
