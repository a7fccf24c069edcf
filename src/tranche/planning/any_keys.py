"""Jobs without partitioning, for keys that whoever asks for them names."""

from __future__ import annotations

from dataclasses import replace

from tranche.model.asset import AssetUri
from tranche.model.mapping import Identity
from tranche.model.partitioning import Dynamic
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.model.trigger import OnAsset, Trigger

_ANY = Dynamic("$.partition")
"""Any text is a key."""


def with_any_keys(project: Project, job: str) -> Project:
    """The project with a job that takes keys as they are, and hands them down."""
    made = {asset for each in project.scripts if each.job == job for asset in each.writes}
    scripts = tuple(
        _keyed(script, made) if script.job == job else script for script in project.scripts
    )
    return replace(project, scripts=scripts)


def _keyed(script: Script, made: set[AssetUri]) -> Script:
    def handed_down(trigger: Trigger) -> Trigger:
        if isinstance(trigger, OnAsset) and trigger.asset in made:
            return replace(trigger, mapper=Identity())
        return trigger

    annotations = script.annotations
    triggers = tuple(map(handed_down, annotations.triggers))
    return replace(script, annotations=replace(annotations, partitioning=_ANY, triggers=triggers))
