"""What callers ask for in the bodies of their requests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from tranche.model.backfill import MOST_KEYS, BackfillRequest
from tranche.model.plan import Request
from tranche.ports import Clock
from tranche.run.runner import PATIENCE
from tranche.web.served import Id

_DAY = 86_400.0


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("it is outside the years 1 to 9999 in UTC") from None


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RunBody(_Body):
    """A run: a target with a key, or a past run that is repeated."""

    target: str | None = Field(None, description="A script, an asset's address, or a folder.")
    partition: str | None = Field(None, description="The key, whatever the time.")
    payload: dict[str, Any] | None = Field(
        None, description="JSON in which a dynamic key is looked up."
    )
    arguments: dict[str, str] = Field({}, description="Values for a script's $names.")
    at: Moment | None = Field(None, description="As if it had fired then.")
    like: Id | None = Field(None, description="A past run that is repeated.")
    only: bool = Field(False, description="Run nothing downstream.")
    exact: bool = Field(False, description="Just this key, without lookback.")
    patience: float = Field(PATIENCE, ge=0, le=_DAY, description="Seconds to wait for other runs.")
    dry_run: bool = Field(False, description="Answer with the plan and do nothing.")

    def request(self, clock: Clock) -> Request:
        return Request(
            target=self.target or "",
            fire_time=clock() if self.at is None else self.at,
            partition=self.partition,
            payload=self.payload,
            arguments=self.arguments,
            only=self.only,
            exact=self.exact,
            scheduled=self.at is not None,
        )


class BackfillBody(_Body):
    """A backfill: an asset, and which keys of it."""

    target: str = Field(description="An asset or a script.")
    start: str | None = Field(None, description="The first key, or a date.")
    end: str | None = Field(None, description="The last key, or a date.")
    keys: list[str] = Field([], description="These keys.")
    dimensions: dict[str, list[str]] = Field({}, description="Keys of dimensions, by their name.")
    all: bool = Field(False, description="Also keys that have succeeded already.")
    stale: bool = Field(False, description="Also keys whose script or inputs have changed since.")
    exact: bool = Field(False, description="Just these keys, without lookback.")
    reverse: bool = Field(False, description="The latest keys first.")
    only: bool = Field(False, description="Run nothing downstream.")
    per_key: bool = Field(False, description="One job for each key.")
    max_keys_per_job: int = Field(MOST_KEYS, ge=1, description="How many keys one job has at most.")
    overlap: Literal["fail", "exclude"] = Field("fail", description="Keys of other backfills.")
    arguments: dict[str, str] = Field({}, description="Values for a script's $names.")
    yes: bool = Field(False, description="Also if these are more than a million keys.")
    dry_run: bool = Field(False, description="Answer with the plan and do nothing.")

    def request(self, clock: Clock) -> BackfillRequest:
        return BackfillRequest(
            target=self.target,
            at=clock(),
            start=self.start,
            end=self.end,
            keys=tuple(self.keys),
            dimensions={name: tuple(keys) for name, keys in self.dimensions.items()},
            every=self.all,
            stale=self.stale,
            exact=self.exact,
            reverse=self.reverse,
            only=self.only,
            one_by_one=self.per_key,
            most_keys=self.max_keys_per_job,
            arguments=self.arguments,
            overlap=self.overlap,
        )


class EventBody(_Body):
    """Something new in an asset."""

    asset: str = Field(description="The asset's address.")
    partition: str | None = Field(None, description="The key that is new; all if absent.")
    payload: dict[str, Any] | None = Field(None, description="JSON that is kept with the event.")


class AssetBody(_Body):
    """An asset or a script."""

    asset: str
