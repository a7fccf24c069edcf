"""The form in which values enter a store, so that every store gives back the same.

What cannot be kept faithfully everywhere (a time without a zone, a NUL in a key) is a mistake of
the caller and raises ValueError. Free text such as an error message, and the rows that broke a data
test, are made storable instead: the record of a failure must not fail because of what the failure
said.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tranche.errors import StateError
from tranche.model.backfill import Backfill
from tranche.model.columns import Columns, SchemaVersion
from tranche.model.data_test import DataTestResult
from tranche.model.event import Event
from tranche.model.partitioning_text import shown
from tranche.model.rows import Rows
from tranche.model.run import Attempt, Claim, Input, KeyParts, Materialization, Run, StepRecord

# Long enough for anyone, and short enough that PostgreSQL can index them together.
LONGEST_ID = 200
LONGEST_ASSET = 500
LONGEST_KEY = 1000

DEEPEST = 100
"""How many lists and objects of JSON lie in each other."""
MOST_CONFLICTS = 20
"""How many claims of others are told at most: enough to say who is in the way."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def as_utc(moment: datetime) -> datetime:
    """
    >>> from datetime import timedelta, timezone
    >>> as_utc(datetime(2026, 5, 1, 2, tzinfo=timezone(timedelta(hours=2)))).isoformat()
    '2026-05-01T00:00:00+00:00'
    """
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise ValueError(f"{moment!r} has no time zone")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{moment!r} is outside the years 1 to 9999 in UTC") from error


def optional_utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else as_utc(moment)


def checked_text(text: str, what: str, longest: int | None = None) -> str:
    """Text that identifies something: kept as it is, or not at all."""
    if not text:
        raise ValueError(f"{what} is empty")
    if longest is not None and len(text) > longest:
        raise ValueError(f"{what} has {len(text)} characters, more than {longest}: {text[:40]!r}…")
    if text != readable(text):
        raise ValueError(f"{what} {text!r} has a NUL or half of a surrogate pair")
    return text


def checked_id(text: str, what: str) -> str:
    return checked_text(text, what, LONGEST_ID)


def checked_asset(asset: str) -> str:
    return checked_text(asset, "asset", LONGEST_ASSET)


def checked_key(key: str | None) -> str | None:
    return None if key is None else checked_text(key, "key", LONGEST_KEY)


def checked_slice(keys: str | None) -> str | None:
    return None if keys is None else checked_text(keys, "key")


def checked_limit(limit: int) -> int:
    # SQLite takes a negative limit for none at all.
    if limit < 0:
        raise ValueError(f"limit {limit} is negative")
    return limit


def readable(text: str) -> str:
    r"""Free text without what PostgreSQL cannot keep: NUL, and halves of surrogate pairs.

    >>> readable("a\x00b") == "a\ufffdb"
    True
    """
    return _UNSTORABLE.sub("\ufffd", text)


def optional_readable(text: str | None) -> str | None:
    return None if text is None else readable(text)


def plain_json(value: Any) -> Any:
    """The value as it comes back from JSON: lists for tuples, text for the keys of objects."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"not a JSON value: {error}") from error
    kept = json.loads(text)
    if not _is_flat(kept):
        raise ValueError(f"lists and objects lie more than {DEEPEST} deep in each other")
    return kept


def _is_flat(value: Any) -> bool:
    """Whether it can be read again by whoever has called a few functions more by then."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            part
            for each in level
            if isinstance(each, dict | list)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
    return not level


def plain_value(value: Any) -> Any:
    """A value of a sample: None, text, a truth, a number, or lists and objects of these.

    Decimals stay what they are. Whatever else there may be is shown as text.

    >>> plain_value({"price": Decimal("1.10"), "when": (float("nan"), datetime(2026, 5, 1))})
    {'price': Decimal('1.10'), 'when': ['nan', '2026-05-01 00:00:00']}
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, Decimal) and value.is_finite():
        return value
    if isinstance(value, Mapping):
        return {readable(str(name)): plain_value(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(part) for part in value]
    return readable(str(value))


def plain_rows(rows: Rows) -> Rows:
    return Rows(
        plain_columns(rows.columns),
        tuple(tuple(plain_value(value) for value in row) for row in rows.values),
        rows.more,
    )


def plain_columns(columns: Columns) -> Columns:
    return tuple((readable(name), readable(type_)) for name, type_ in columns)


def checked_run(run: Run) -> Run:
    return replace(
        run,
        id=checked_id(run.id, "run"),
        target=readable(run.target),
        fire_time=as_utc(run.fire_time),
        started_at=as_utc(run.started_at),
        finished_at=optional_utc(run.finished_at),
        # What was asked for may be a range of keys, here and in a step, so no limit of length.
        partition=checked_slice(run.partition),
        payload=plain_json(run.payload),
        arguments=plain_json(dict(run.arguments)),
        error=optional_readable(run.error),
    )


def checked_backfill(backfill: Backfill) -> Backfill:
    return replace(
        backfill,
        id=checked_id(backfill.id, "backfill"),
        target=readable(backfill.target),
        asset=checked_asset(backfill.asset),
        created_at=as_utc(backfill.created_at),
        finished_at=optional_utc(backfill.finished_at),
        run=optional_readable(backfill.run),
        keys=tuple(checked_text(key, "key", LONGEST_KEY) for key in backfill.keys),
        options=plain_json(dict(backfill.options)),
    )


def checked_event(event: Event) -> Event:
    return replace(
        event,
        id=checked_id(event.id, "event"),
        asset=checked_asset(event.asset),
        partition=checked_key(event.partition),
        at=as_utc(event.at),
        payload=plain_json(event.payload),
        retracted_at=optional_utc(event.retracted_at),
    )


def checked_step(step: StepRecord) -> StepRecord:
    return replace(
        step,
        run=checked_id(step.run, "run"),
        script=readable(step.script),
        asset=None if step.asset is None else checked_asset(step.asset),
        partition=checked_slice(step.partition),
        ordinal=optional_utc(step.ordinal),
        strategy=optional_readable(step.strategy),
        snapshot=optional_readable(step.snapshot),
        error=optional_readable(step.error),
        started_at=optional_utc(step.started_at),
        finished_at=optional_utc(step.finished_at),
    )


def checked_steps(run: Run, steps: Sequence[StepRecord]) -> tuple[StepRecord, ...]:
    for step in steps:
        if step.run != run.id:
            raise ValueError(f"step {step.position} is of run {step.run!r}, not {run.id!r}")
    if len({step.position for step in steps}) < len(steps):
        raise ValueError(f"run {run.id!r} has two steps at one position")
    return tuple(checked_step(step) for step in steps)


def checked_attempt(attempt: Attempt) -> Attempt:
    return replace(
        attempt,
        id=checked_id(attempt.id, "attempt"),
        run=checked_id(attempt.run, "run"),
        started_at=as_utc(attempt.started_at),
        finished_at=optional_utc(attempt.finished_at),
        error=optional_readable(attempt.error),
    )


def checked_materialization(entry: Materialization) -> Materialization:
    return replace(
        entry,
        id=checked_id(entry.id, "materialization"),
        asset=checked_asset(entry.asset),
        partition=checked_key(entry.partition),
        ordinal=optional_utc(entry.ordinal),
        run=checked_id(entry.run, "run"),
        attempt=checked_id(entry.attempt, "attempt"),
        fingerprint=readable(entry.fingerprint),
        started_at=as_utc(entry.started_at),
        finished_at=as_utc(entry.finished_at),
        digest=optional_readable(entry.digest),
        column_digests={
            readable(set_): tuple(map(readable, each))
            for set_, each in entry.column_digests.items()
        },
        snapshot=optional_readable(entry.snapshot),
        inputs=tuple(checked_input(given) for given in entry.inputs),
        tests=tuple(checked_test(result) for result in entry.tests),
        error=optional_readable(entry.error),
    )


def checked_parts(given: Sequence[KeyParts]) -> tuple[KeyParts, ...]:
    return tuple(
        KeyParts(checked_asset(key.asset), checked_key(key.partition), tuple(key.parts))
        for key in given
    )


def checked_materializations(entries: Sequence[Materialization]) -> tuple[Materialization, ...]:
    """Each id once, and each key of an attempt once; the first counts, as it does across calls."""
    ids: set[str] = set()
    entered: set[tuple[str, str, str | None]] = set()
    kept = []
    for given in entries:
        entry = checked_materialization(given)
        place = (entry.attempt, entry.asset, entry.partition)
        if entry.id not in ids and place not in entered:
            ids.add(entry.id)
            entered.add(place)
            kept.append(entry)
    return tuple(kept)


def checked_test(result: DataTestResult) -> DataTestResult:
    """A test that nothing violated has no sample."""
    shown = result.sample if result.violations else None
    sample = None if shown is None else plain_rows(shown)
    return replace(result, test=readable(result.test), sample=sample)


def without_samples(entry: Materialization) -> Materialization:
    return replace(entry, tests=tuple(replace(result, sample=None) for result in entry.tests))


def checked_claims(
    attempt: Attempt, asset: str | None, keys: Sequence[str | None]
) -> tuple[Claim, ...]:
    """What the attempt claims, each key once."""
    if asset is None:
        return ()
    asset = checked_asset(asset)
    return tuple(
        Claim(
            asset=asset,
            partition=key,
            run=attempt.run,
            attempt=attempt.id,
            at=attempt.started_at,
        )
        for key in dict.fromkeys(map(checked_key, keys))
    )


def checked_capture(
    step: StepRecord, attempt: Attempt | None, columns: Columns
) -> SchemaVersion | None:
    """The captured columns as the first version of the step's asset; None if there are none."""
    if not columns:
        return None
    at = step.finished_at or (None if attempt is None else attempt.finished_at)
    if step.asset is None:
        raise ValueError(f"step {step.position} of run {step.run!r} has columns and no asset")
    if at is None:
        raise ValueError(f"step {step.position} of run {step.run!r} has columns and no end")
    return SchemaVersion(
        asset=step.asset, version=1, columns=plain_columns(columns), run=step.run, at=at
    )


def checked_input(given: Input) -> Input:
    return replace(
        given,
        asset=checked_asset(given.asset),
        partition=checked_key(given.partition),
        materialization=optional_readable(given.materialization),
        snapshot=optional_readable(given.snapshot),
    )


def spoilt(value: object, wanted: str) -> StateError:
    """
    >>> print(spoilt("2026-99-99", "a time"))
    the state has '2026-99-99' where it should have a time; put back a copy of it
    """
    return StateError(
        f"the state has {shown(value)} where it should have {wanted}", "put back a copy of it"
    )
