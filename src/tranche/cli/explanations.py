"""What `explain` shows."""

from __future__ import annotations

from collections.abc import Iterator

from tranche.cli.output import Output, shown
from tranche.cli.stories import WIDTH, show_facts, show_verdict
from tranche.errors import Place
from tranche.model.asset import JobTask
from tranche.model.explanation import Explanation, FilesView, SentStatement
from tranche.model.partitioning import Dynamic, time_of
from tranche.model.partitioning_zone import time_zone
from tranche.model.scan import Scan
from tranche.views.explanation import explanation_view

_UNITS = ("B", "kB", "MB", "GB", "TB")


def show_explanation(explanation: Explanation, output: Output) -> None:
    if output.json:
        output.value(explanation_view(explanation))
        return
    for warning in explanation.warnings:
        output.warn(warning)
    story = explanation.story
    if story is not None:
        show_verdict(story, output)
    for line in _about(explanation):
        output.line(line)
    if story is not None:
        show_facts(story, output)
    for statement in explanation.statements:
        output.line()
        output.line(f"-- {explanation.step.script.path}:{statement.line}", "dim")
        output.line(f"{statement.text.strip()};")
        for line in _beside(statement):
            output.line(line, "dim")
    if explanation.scans is not None:
        output.line()
        _show_scans(explanation.scans, output)


def _about(explanation: Explanation) -> Iterator[str]:
    step = explanation.step
    if step.script.asset is None:
        yield f"{step.script.name} materializes nothing and returns its rows"
    else:
        how = "" if isinstance(step.script.asset, JobTask) else f" by {step.strategy}"
        yield f"{step.script.asset}{how}"
    if step.script.code is not None:
        code = step.script.code
        yield f"calls {code.function} of {Place(step.script.path, code.line)}"
    if step.partition is not None:
        yield f"partition {shown(step.partition)}, {_key_from(explanation)}"
    if step.verdict != "run":
        yield f"it would not run: {step.reason}"
    told = explanation.story.facts.needs if explanation.story is not None else ()
    for each in step.inputs:
        if any(need.asset == str(each.asset) for need in told):
            continue
        key = "" if each.partition is None else f" {shown(each.partition)}"
        yield f"{'reads':<{WIDTH if told else 6}}{each.asset}{key}"


def _key_from(explanation: Explanation) -> str:
    partitioning = explanation.step.script.partitioning
    times = time_of(partitioning)
    if explanation.key_from == "time" and times is not None:
        local = explanation.request.fire_time.astimezone(time_zone(times.tz))
        lag = f", less a lag of {times.lag}" if times.lag else ""
        return f"the period of {local.isoformat(timespec='seconds')} in {times.tz}{lag}"
    if isinstance(partitioning, Dynamic) and explanation.key_from != "given":
        return f"from the {explanation.key_from} at {partitioning.key}"
    return "as given"


def _beside(statement: SentStatement) -> Iterator[str]:
    """The values of a statement's markers, and the views over files that it names."""
    for name, value in statement.parameters:
        yield f"   :{name} = {value!r}"
    for view in statement.files:
        yield f"   {view.name} = {_files(view)}"


def _files(view: FilesView) -> str:
    options = "".join(f", {name} => {value!r}" for name, value in view.options)
    return f"read_{view.format}({view.path!r}{options})"


def _show_scans(scans: tuple[Scan, ...], output: Output) -> None:
    if not scans:
        output.line("the SELECT reads no table and no files")
        return
    output.table(
        ("scan", "files", "partitions", "rows", "bytes", "file bytes", "pushed filters"),
        (
            (
                scan.source,
                "?" if scan.files is None else str(scan.files),
                "" if scan.partitions is None else str(scan.partitions),
                "?" if scan.rows is None else scan.rows,
                "?" if scan.bytes is None else sized(scan.bytes),
                "?" if scan.file_bytes is None else sized(scan.file_bytes),
                ", ".join(scan.filters),
            )
            for scan in scans
        ),
    )


def sized(number: int) -> str:
    """
    >>> sized(999), sized(1055), sized(27_000_000)
    ('999 B', '1.1 kB', '27.0 MB')
    """
    size = float(number)
    unit = _UNITS[0]
    for unit in _UNITS:
        if size < 999.5 or unit == _UNITS[-1]:
            break
        size /= 1000
    return f"{number} B" if unit == "B" else f"{size:.1f} {unit}"
