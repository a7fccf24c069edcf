"""A project and what it needs, opened for as long as they are used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tranche.model.project import Project, Settings
from tranche.model.script import Script
from tranche.ports import Engine, PartitionReader, StateStore, StoryReader
from tranche.projects.config import environment, find_root, load_settings
from tranche.projects.load import load_project

if TYPE_CHECKING:
    from tranche.openlineage.columns import ColumnOrigins


def now() -> datetime:
    """The clock of the outside world."""
    return datetime.now(UTC)


def open_project(start: Path, target: str | None = None) -> Project:
    """The project that a folder belongs to, read and checked."""
    return load_project(open_settings(start, target))


def open_settings(start: Path, target: str | None = None) -> Settings:
    """The settings of the project that a folder belongs to, without its scripts."""
    return load_settings(find_root(start), target, environment())


@contextmanager
def open_state(project: Project, *, create: bool) -> Iterator[StateStore]:
    """The state of a project. Whatever runs with it is watched by whom the settings name."""
    from tranche.state.opening import open_store

    settings = project.settings
    store = open_store(settings.state_url, create=create, root=Path(settings.root))
    try:
        with _watched(store, project):
            yield store
    finally:
        store.close()


@contextmanager
def _watched(store: StateStore, project: Project) -> Iterator[None]:
    settings = project.settings
    if settings.openlineage is None:
        yield
        return
    from tranche.openlineage.watching import Lineage

    columns_of = partial(_origins, project)
    store.watcher = lineage = Lineage(settings, settings.openlineage, columns_of=columns_of)
    try:
        yield
    finally:
        lineage.close()


def _origins(project: Project, script: Script) -> ColumnOrigins | None:
    """What the columns of a script are made of. It is asked for when a run may have ended already,
    and its state with it."""
    from tranche.openlineage.columns import origins_of
    from tranche.service.lineage import project_lineage

    alone = replace(project, scripts=(script,))
    with open_partitions(project) as reader:
        return origins_of(project_lineage(alone, reader).of(script))


@contextmanager
def open_partitions(project: Project, *, timeout: float | None = None) -> Iterator[PartitionReader]:
    """Where keys and columns stand, and nothing else of the state: opened faster than all of it."""
    from tranche.state.opening import open_partitions as opened

    settings = project.settings
    patience = {} if timeout is None else {"timeout": timeout}
    reader = opened(settings.state_url, root=Path(settings.root), **patience)
    try:
        yield reader
    finally:
        reader.close()


@contextmanager
def open_story(project: Project) -> Iterator[StoryReader]:
    """What is known of single keys, opened as fast as where they stand."""
    from tranche.state.opening import open_story as opened

    settings = project.settings
    reader = opened(settings.state_url, root=Path(settings.root))
    try:
        yield reader
    finally:
        reader.close()


@contextmanager
def open_engine(
    project: Project, *, debug: bool = False, noting: bool = False, archiving: bool = False
) -> Iterator[Engine]:
    # Spark is imported only by commands that touch data.
    from tranche.lakes.engine import SparkEngine

    engine = SparkEngine(project.settings, debug=debug, noting=noting, archiving=archiving)
    try:
        yield engine
    finally:
        engine.close()
