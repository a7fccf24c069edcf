"""From a job to scripts: each task becomes one, joined by triggers to those that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from tranche.errors import Fault
from tranche.jobs.arguments import arguments_of, check_given, check_taken, parameters_of
from tranche.jobs.binding import Binding, Bound
from tranche.jobs.conversion import RETURNED
from tranche.jobs.declared import Body, Call, Function, Job, Task, run_body
from tranche.jobs.faults import Faults, first_line_of
from tranche.jobs.fingerprint import fingerprint
from tranche.jobs.merge import WITHOUT_ON
from tranche.jobs.options import (
    is_name,
    limit_of,
    made_by,
    names_of,
    reads_of,
    retry_of,
    rule_of,
    triggers_of,
    truth_of,
    unknown_option,
)
from tranche.jobs.proxies import Given
from tranche.jobs.source import Sources, blind_merges, is_ordinary, returns_nothing
from tranche.jobs.surroundings import surroundings
from tranche.model.argument import Argument
from tranche.model.asset import AssetUri, JobTask, LakeTable
from tranche.model.code import Code, Loaded, Parameter, Passed
from tranche.model.condition import Asset, Condition, all_of
from tranche.model.data_test import DataTest, Relationship
from tranche.model.layout import Transform
from tranche.model.mapping import Identity
from tranche.model.output import Output
from tranche.model.partitioning import Composite, Partitioning, TimePartitioning
from tranche.model.script import Annotations, Retry, Script
from tranche.model.strategy import History, Materialize, Nothing
from tranche.model.trigger import OnAsset, Trigger
from tranche.script.data_tests import parse_data_test
from tranche.script.defining import made_assets, unique
from tranche.script.lakes import Lakes
from tranche.script.materialize import parse_layout
from tranche.script.python_names import FRAMES
from tranche.script.python_types import KNOWN

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class JobRead:
    """The scripts of a job, unless it has faults."""

    name: str
    tasks: tuple[str, ...]
    """The names of its scripts, also of those with faults."""
    scripts: tuple[Script, ...] = ()
    faults: tuple[Fault, ...] = ()
    functions: Mapping[str, Task] = field(default_factory=dict)
    """The task of each script, by its name."""


@dataclass(frozen=True, slots=True)
class _Top:
    """What holds for all tasks of a job."""

    rule: Partitioning | None
    triggers: tuple[Trigger, ...]
    condition: Condition | None
    retry: Retry | None
    limit: int
    tags: tuple[str, ...]
    arguments: Mapping[str, Argument]
    around: tuple[str, ...]
    """What its body has besides its tasks."""


def read_job(job: Job, path: str, root: str, lakes: Lakes, sources: Sources) -> JobRead:
    """Runs the body of a job, and makes scripts of what it calls. `path` is the file's."""
    return _Reader(job, path, lakes, sources, Faults(path, root)).read()


@dataclass(slots=True)
class _Reader:
    job: Job
    path: str
    lakes: Lakes
    sources: Sources
    faults: Faults
    assets: dict[str, AssetUri] = field(default_factory=dict)
    """What each task makes that has been read."""
    kept: dict[AssetUri, tuple[str, Output | None]] = field(default_factory=dict)
    """The task that makes each asset, and how it keeps it."""

    def read(self) -> JobRead:
        job, faults = self.job, self.faults
        _check_name("job", job.name, job.function, faults)
        for name in job.unknown:
            faults.tried(partial(unknown_option, job, name), job.function)
        known = self.sources.of(job.function)
        if known is not None and not is_ordinary(known[1]):
            # Called, it would not do what is in its body.
            faults.of(
                job.function,
                known[1].lineno,
                f"the job {job.name!r} is no ordinary function",
                "let it call its tasks: no async def, no yield",
            )
            return JobRead(job.name, (), (), tuple(sorted(set(faults.found))))
        line = first_line_of(job.function)
        rule = faults.tried(lambda: rule_of(job.partitioning), job.function)
        started = faults.tried(lambda: triggers_of(job.schedule, rule, line), job.function)
        triggers, condition = started or ((), None)
        arguments = arguments_of(job, self.sources, faults)
        check_given(job, arguments, faults, scheduled=bool(triggers))
        body, error = run_body(job, {name: Given(name) for name in parameters_of(job)})
        if error is not None:
            faults.raised(job.name, job.function, error)
        _check_calls(body, faults, complete=error is None)
        top = _Top(
            rule,
            triggers,
            condition,
            faults.tried(lambda: retry_of(job.retry), job.function),
            faults.tried(lambda: limit_of(job.limit), job.function) or 1,
            faults.tried(lambda: names_of("tags", job.tags), job.function) or (),
            arguments,
            tuple(surroundings(body, self.sources)),
        )
        made = [(self.script(body, call, top), call.task) for call in body.calls]
        scripts = {script.name: (script, task) for script, task in made if script is not None}
        if not faults.found:
            taken = {a.name for script, _ in scripts.values() for a in script.annotations.arguments}
            check_taken(job, arguments, taken, faults)
        names = tuple(f"{job.name}.{call.task.name}" for call in body.calls)
        if faults.found:
            return JobRead(job.name, names, (), tuple(sorted(set(faults.found))))
        return JobRead(
            job.name,
            names,
            tuple(script for script, _ in scripts.values()),
            (),
            {name: task for name, (_, task) in scripts.items()},
        )

    def script(self, body: Body, call: Call, top: _Top) -> Script | None:
        task, job = call.task, self.job
        before = len(self.faults.found)
        _check_name("task", task.name, task.function, self.faults)
        for name in task.unknown:
            self.tried(task, partial(unknown_option, task, name))
        nothing = self.check_function(task)
        made, output = self.made(task, top, nothing)
        # Those after it are checked as if it were right.
        self.assets[task.name] = made.asset
        self.kept[made.asset] = f"{job.name}.{task.name}", output
        self.check_returned(task, output)
        for option in ("append", "history", "all_partitions"):
            self.tried(task, partial(truth_of, option, getattr(task, option)))
        bound = self.bound(body, call, top)
        reads = self.tried(task, lambda: reads_of(task.reads)) or ()
        retry = self.tried(task, lambda: retry_of(task.retry))
        tests = self.tests(task)
        layout = self.tried(task, lambda: _layout(task)) or ()
        self.check_table(task, made, tests, layout)
        loaded = [p.value.asset for p in bound.parameters if isinstance(p.value, Loaded)]
        all_reads = tuple(dict.fromkeys((*loaded, *reads)))
        self.check_lakes(task, [made.asset, *all_reads, *_targets(tests)])
        if len(self.faults.found) > before:
            return None
        triggers, condition, rule = self.triggers(bound, call, top)
        passed = [p.value.argument for p in bound.parameters if isinstance(p.value, Passed)]
        code = Code(
            function=f"{job.name}.{task.name}",
            line=self.def_line(task),
            parameters=tuple(map(self.handed_over, bound.parameters)),
            output=output,
        )
        annotations = Annotations(
            partitioning=rule,
            materialize=made,
            triggers=triggers,
            condition=condition,
            layout=layout,
            data_tests=tests,
            arguments=tuple(top.arguments[name] for name in dict.fromkeys(passed)),
            retry=retry or top.retry,
            reads=reads,
            lines=(
                ("materialize", first_line_of(task.function)),
                ("partitioned", first_line_of(job.function)),
                ("trigger", first_line_of(job.function)),
            ),
        )
        return Script(
            name=f"{job.name}.{task.name}",
            path=self.path,
            language="python",
            annotations=annotations,
            code=code,
            job=job.name,
            tags=top.tags,
            limit=1 if _in_order(made, output) else top.limit,
            reads=all_reads,
            writes=unique(made_assets(annotations)),
            fingerprint=fingerprint(task.function, annotations, code, top.around, self.sources),
        )

    def handed_over(self, parameter: Parameter) -> Parameter:
        """The parameter with how what it takes is kept."""
        value = parameter.value
        if not isinstance(value, Loaded) or value.asset not in self.kept:
            return parameter
        maker, output = self.kept[value.asset]
        return replace(parameter, value=replace(value, maker=maker, output=output))

    def tried(self, task: Task, check: Callable[[], _T]) -> _T | None:
        return self.faults.tried(check, task.function, f"the task {task.name!r}: ")

    def check_function(self, task: Task) -> bool:
        """Whether a task can only return None; a function that does its work later is no task."""
        known = self.sources.of(task.function)
        if known is None:
            return False
        if not is_ordinary(known[1]):
            self.faults.of(
                task.function,
                known[1].lineno,
                f"the task {task.name!r} is no ordinary function",
                "let it return all rows: no async def, no yield",
            )
        for line in blind_merges(*known):
            self.faults.of(task.function, line, *WITHOUT_ON)
        return returns_nothing(known[1])

    def check_returned(self, task: Task, output: Output | None) -> None:
        """What a task is annotated to return is rows, unless an IO of the user keeps it."""
        known = self.sources.of(task.function)
        if known is None or output is None or output.kind == "own":
            return
        said = known[0].names.annotation(known[1].returns)
        if said is not None and said.name in KNOWN - FRAMES.keys():
            self.faults.of(
                task.function,
                known[1].lineno,
                f"the task {task.name!r} is annotated to return {said.text}, and only rows can be"
                " kept",
                f"return {RETURNED}, or keep it with an IO of your own",
            )

    def made(self, task: Task, top: _Top, nothing: bool) -> tuple[Materialize, Output | None]:
        found = self.tried(
            task,
            lambda: made_by(
                task,
                self.job.name if is_name(self.job.name) else "job",
                self.lakes.default,
                partitioned=top.rule is not None,
                nothing=nothing,
            ),
        )
        return found or (Materialize(JobTask(self.job.name, task.name), Nothing()), None)

    def bound(self, body: Body, call: Call, top: _Top) -> Bound:
        task, faults = call.task, self.faults
        known = self.sources.of(task.function)
        return Binding(
            body=body,
            call=call,
            assets={name: asset for name, asset in self.assets.items() if name != task.name},
            arguments={name: argument.type for name, argument in top.arguments.items()},
            partitioning=top.rule,
            source=known[0] if known is not None else None,
            at_call=lambda what, remedy: faults.at(call.file, call.line, what, remedy),
            at_task=lambda what, remedy: faults.of(
                task.function, self.def_line(task), what, remedy
            ),
        ).bound()

    def triggers(
        self, bound: Bound, call: Call, top: _Top
    ) -> tuple[tuple[Trigger, ...], Condition | None, Partitioning | None]:
        """What starts a task: the results that it takes, all of the same key; else what starts the
        job.

        The keys of a run are found at the top, so that those after it look back no further.
        """
        if not bound.upstream:
            return top.triggers, top.condition, top.rule
        assets = [self.assets[name] for name in bound.upstream]
        mapper = Identity() if top.rule is not None else None
        triggers = tuple(OnAsset(asset, mapper, line=call.line) for asset in assets)
        return triggers, all_of(map(Asset, assets)), _handed_down(top.rule)

    def tests(self, task: Task) -> tuple[DataTest, ...]:
        line = first_line_of(task.function)
        given = self.tried(task, lambda: names_of("tests", task.tests)) or ()
        found = [self.tried(task, partial(parse_data_test, text, line)) for text in given]
        return tuple(test for test in found if test is not None)

    def check_table(
        self,
        task: Task,
        made: Materialize,
        tests: tuple[DataTest, ...],
        layout: tuple[Transform, ...],
    ) -> None:
        """Data tests and layouts are for tables of lakes."""
        if isinstance(made.asset, LakeTable):
            return
        for given, word in ((tests, "tests="), (layout, "layout=")):
            if given:
                self.faults.of(
                    task.function,
                    first_line_of(task.function),
                    f"the task {task.name!r}: {word} needs a table of a lake, and it makes"
                    f" {made.asset}",
                    'say writes="lake://…", or leave it out',
                )

    def check_lakes(self, task: Task, assets: list[AssetUri]) -> None:
        for asset in dict.fromkeys(assets):
            if isinstance(asset, LakeTable) and asset.lake not in self.lakes.names:
                what, remedy = self.lakes.unlike(asset.lake)
                line = first_line_of(task.function)
                self.faults.of(task.function, line, f"the task {task.name!r}: {what}", remedy)

    def def_line(self, task: Task) -> int:
        known = self.sources.of(task.function)
        return known[1].lineno if known is not None else first_line_of(task.function)


def _check_name(what: str, name: object, function: Function, faults: Faults) -> None:
    if not is_name(name):
        faults.of(
            function,
            first_line_of(function),
            f"{name!r} is no name of a {what}",
            "use letters, digits and underscores",
        )


def _check_calls(body: Body, faults: Faults, *, complete: bool) -> None:
    """Each task is called once, and there are some."""
    job = body.job
    for call in body.again:
        first = next(each for each in body.calls if each.task.name == call.task.name)
        if call.task is first.task:
            what = f"the task {call.task.name!r} is called twice, first at line {first.line}"
            remedy = "keep what the first call returns, and hand that over"
        else:
            what = f"two tasks of the job are called {call.task.name!r}"
            remedy = "rename one of them, or give it name=…"
        faults.at(call.file, call.line, what, remedy)
    if not complete:
        # A body that broke off has not come to all of its calls.
        return
    called = {call.task for call in (*body.calls, *body.again)}
    for task in body.defined:
        if task not in called:
            faults.of(
                task.function,
                first_line_of(task.function),
                f"the task {task.name!r} is never called in the job {job.name!r}",
                "call it in the body of the job, or remove it",
            )
    if not body.calls and not body.defined:
        faults.of(
            job.function,
            first_line_of(job.function),
            f"the job {job.name!r} has no tasks",
            "call functions with @task in its body",
        )


def _handed_down(rule: Partitioning | None) -> Partitioning | None:
    """The partitioning of a task that gets its keys from others: it looks back to none by itself."""
    match rule:
        case TimePartitioning():
            return replace(rule, lookback=0, gaps=None)
        case Composite():
            return Composite(**{name: _handed_down(part) for name, part in rule.dimensions})  # type: ignore[arg-type]
        case _:
            return rule


def _in_order(made: Materialize, output: Output | None) -> bool:
    """Whether keys must be written one after the other: versions of a history, and rows that take
    the place of all that is there, of which those of the last key stay."""
    return isinstance(made.strategy, History) or (output is not None and output.replaces_all)


def _layout(task: Task) -> tuple[Transform, ...]:
    if not task.layout:
        return ()
    return parse_layout(", ".join(names_of("layout", task.layout)))


def _targets(tests: tuple[DataTest, ...]) -> list[AssetUri]:
    rules = [test.rule for test in tests]
    return [rule.target.asset for rule in rules if isinstance(rule, Relationship)]
