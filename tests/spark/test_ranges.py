"""Many keys from one query: the rows are those of the keys one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tranche.lakes.engine import SparkEngine
from tranche.lakes.execution import Execution
from tranche.lakes.ranging import range_rows
from tranche.model.plan import SliceKey
from tranche.ports import Work
from tranche.script.ranges.ranged import only_key_by_key

from .corpus import CASES, KEYS, script, statements

if TYPE_CHECKING:
    from .conftest import Bench


@pytest.fixture(scope="module")
def tables(engine: SparkEngine, root: Any) -> Bench:
    from .conftest import Bench

    bench = Bench(engine, root, "corpus")
    for schema in ("corpus", "default"):
        bench.sql(f"CREATE NAMESPACE IF NOT EXISTS main.{schema}")
    for statement in statements():
        bench.sql(statement)
    return bench


def for_keys(work: Work, keys: tuple[str, ...]) -> Work:
    """The same work for several keys."""
    rule = work.step.script.partitioning
    assert rule is not None
    slice_ = tuple(
        SliceKey(partition=key, ordinal=rule.ordinal(key), inputs=work.step.inputs) for key in keys
    )
    return replace(work, step=replace(work.step, slice=slice_), past=())


def collected(execution: Execution, rows: Any, *more: str) -> list[str]:
    return [repr((*row, *more)) for row in rows.collect()]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if number % 3 else [])
        for number, name in enumerate(CASES)
    ],
)
def test_rows_are_those_of_each_key(tables: Bench, name: str) -> None:
    work = tables.work(script(CASES[name]), partition=KEYS[0])
    query = work.step.script.query
    assert query is not None
    assert only_key_by_key(work.step.script) is None
    with tables.engine.attempt(for_keys(work, KEYS)) as trial:
        assert isinstance(trial, Execution)
        trial.session.udf.register("twice", lambda x: None if x is None else x * 2, "double")
        trial.session.udf.register("next_key", lambda key: f"{key}!", "string")
        one_by_one: list[str] = []
        whole = trial.values
        single = replace(work.step, slice=work.step.slice[:1])
        several, trial.step = trial.step, single
        for key in KEYS:
            trial.values = replace(whole, key=key)
            one_by_one += collected(trial, trial.sql(query), key)
        trial.step, trial.values = several, whole
        together = range_rows(trial, query, KEYS)
        assert sorted(collected(trial, together)) == sorted(one_by_one)
