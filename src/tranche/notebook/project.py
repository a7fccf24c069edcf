"""`tranche.project(".")`: a project that shows itself in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tranche import service
from tranche.errors import Fault, TrancheError
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.notebook.asset import asset_html
from tranche.notebook.graph import MOST, graph
from tranche.notebook.markup import Markup, element, joined
from tranche.notebook.paint import FAINT, badge, code, line, note, sheet, trouble
from tranche.ports import Clock, StateReader
from tranche.service.overview import Overview, Standing, overview
from tranche.views.plain import counted

_FAULTS = 20
_STANDINGS: tuple[Standing, ...] = ("failed", "running", "stale", "fresh", "never", "source")


@dataclass(frozen=True, slots=True, repr=False)
class ShownProject:
    """The scripts of a project as they were when it was opened, and how its assets stand whenever
    it is shown. Nothing is kept open, and nothing runs."""

    _project: Project
    _clock: Clock = service.now

    @property
    def name(self) -> str:
        return self._project.settings.name

    @property
    def assets(self) -> tuple[str, ...]:
        """The addresses of all that scripts make."""
        return tuple(str(script.asset) for script in self._project.scripts if script.asset)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is wrong in scripts, which are left out then."""
        return self._project.faults

    def asset(self, name: str) -> ShownAsset:
        """An asset by its address, its table or its script."""
        with service.open_partitions(self._project) as state:
            found = service.find_made(self._project, name, state)
        return ShownAsset(str(found), self._project, self._clock)

    __getitem__ = asset

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.assets)

    def __repr__(self) -> str:
        return f"project {self.name!r}: {_told(self._project)}"

    def _repr_html_(self) -> str:
        return sheet(
            line(
                element("span", self.name, style={"font-weight": "600"}),
                element("span", f"  {_told(self._project)}", style=FAINT),
                **{"font-size": "14px"},
            ),
            _faults(self.faults),
            _looked_at(self._project, lambda state: _graph(self._project, state)),
        )


def shown_project(folder: Path, target: str | None = None) -> ShownProject:
    """The project that a folder belongs to, with its scripts as they are now."""
    return ShownProject(service.open_project(folder, target))


@dataclass(frozen=True, slots=True, repr=False)
class ShownAsset:
    """An asset, and how it stands whenever it is shown."""

    address: str
    _project: Project
    _clock: Clock = service.now

    @property
    def status(self) -> dict[str, int]:
        """How many partitions stand where, as far as any was tried."""
        with service.open_partitions(self._project) as state:
            return state.outcomes([self.address])[self.address]

    def __repr__(self) -> str:
        script = self._script
        if script is None:
            return f"asset {self.address!r}"
        made, rule = script.annotations.materialize, script.partitioning
        kind = "one table" if rule is None else rule.kind
        strategy = made.strategy.name if made is not None else "none"
        return f"asset {self.address!r}: {strategy}, {kind}"

    @property
    def _script(self) -> Script | None:
        scripts = self._project.scripts
        return next((each for each in scripts if str(each.asset) == self.address), None)

    def _repr_html_(self) -> str:
        return sheet(
            _looked_at(
                self._project,
                lambda state: asset_html(self._project, self.address, state, self._clock),
            )
        )


def _looked_at(project: Project, shown: Callable[[StateReader], Markup]) -> Markup:
    """What the state tells, or why it cannot: a notebook would show a traceback of the error."""
    try:
        with service.open_state(project, create=False) as state:
            return shown(state)
    except TrancheError as error:
        return trouble(str(error))


def _told(project: Project) -> str:
    assets = sum(script.asset is not None for script in project.scripts)
    told = [counted(len(project.scripts), "script"), counted(assets, "asset")]
    if project.faults:
        told.append(counted(len(project.faults), "fault"))
    return ", ".join(told)


def _faults(faults: Sequence[Fault]) -> Markup:
    more = len(faults) - _FAULTS
    return joined(
        [trouble(str(fault)) for fault in faults[:_FAULTS]],
        note(f"… and {more:,} more; ", code("tranche check"), " lists them all")
        if more > 0
        else "",
    )


def _graph(project: Project, state: StateReader) -> Markup:
    found = overview(project, state)
    if not found.nodes:
        if project.faults:
            return note("Every script has faults, so that there is nothing to draw.")
        return note(
            "There is no script in this project yet. Write one in ",
            code("pipelines/"),
            ", or see ",
            code("tranche demo"),
            ".",
        )
    return joined(_legend(found), _drawn(found), _first_step(found))


def _legend(found: Overview) -> Markup:
    counts = dict.fromkeys(_STANDINGS, 0)
    for node in found.nodes:
        counts[node.standing] += 1
    return line(*(badge(each, number) for each, number in counts.items() if number))


def _drawn(found: Overview) -> Markup:
    if len(found.nodes) > MOST:
        return note(f"{len(found.nodes):,} assets and sources are too many for one picture.")
    return graph(found)


def _first_step(found: Overview) -> Markup:
    assets = [node for node in found.nodes if node.kind == "asset"]
    if not assets or any(node.standing != "never" for node in assets):
        return Markup()
    first = min(assets, key=lambda node: (node.spot.layer, node.spot.row)).script
    name = first.name if first is not None else ""
    return note("Nothing was run yet; ", code(f"tranche run {name}"), " makes a first partition.")
