"""Events for scripts that have faults, and pauses of scripts that are gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tranche.errors import UnknownTarget
from tranche.model.project import Project
from tranche.projects.config import parse_settings
from tranche.service import triggering
from tranche.testing import MemoryStore

PROJECT = Project(settings=parse_settings("", Path("/p"), None, {}), scripts=())


def test_an_event_that_may_be_for_a_script_with_faults_is_kept() -> None:
    store = MemoryStore()
    with pytest.raises(UnknownTarget, match="no script makes, reads or waits for"):
        triggering.emit(PROJECT, "lake://main/feed", store, partition="a")
    broken = replace(PROJECT, broken=("tenants",))
    found = triggering.emit(broken, "lake://main/feed", store, partition="a")
    assert found.unheard == ("tenants",)
    assert [event.asset for event in store.events(limit=9)] == ["lake://main/feed"]
    with pytest.raises(UnknownTarget):
        triggering.emit(broken, "feed", store)


def test_a_script_that_is_gone_can_be_resumed() -> None:
    store = MemoryStore()
    store.pause("lake://main/gone", at=datetime(2026, 5, 16, tzinfo=UTC))
    assert triggering.resume(PROJECT, "lake://main/gone", store) == "lake://main/gone"
    with pytest.raises(UnknownTarget):
        triggering.resume(PROJECT, "lake://main/gone", store)
