"""The tables of the store."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from tranche.state.checks import as_utc, spoilt


class Moment(TypeDecorator[datetime]):
    """A time in UTC: timestamptz on PostgreSQL, text of a fixed width on SQLite, so that it sorts.

    Text, since SQLite has no type for times, and people look into these files.
    """

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        kept = Text() if dialect.name == "sqlite" else DateTime(timezone=True)
        return dialect.type_descriptor(kept)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        moment = as_utc(value)
        if dialect.name == "sqlite":
            return moment.isoformat(timespec="microseconds")
        return moment

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        try:
            return as_utc(datetime.fromisoformat(value) if isinstance(value, str) else value)
        except (ValueError, AttributeError):
            raise spoilt(value, "a time") from None


class Json(TypeDecorator[Any]):
    """A JSON value; None is NULL.

    On SQLite it is text: a column declared as JSON turns a large integer into a float there.
    """

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        kept = Text() if dialect.name == "sqlite" else JSON(none_as_null=True)
        return dialect.type_descriptor(kept)

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        if value is None or dialect.name != "sqlite":
            return value
        return json.dumps(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        if value is None or dialect.name != "sqlite":
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise spoilt(value, "JSON") from None


# PostgreSQL would sort by the database's locale; SQLite and Python sort by code point.
Name = Text().with_variant(Text(collation="C"), "postgresql")


class Key(TypeDecorator[str]):
    """A key; '' stands for the one key of an asset without partitions, since no key is empty.

    A primary key cannot hold NULL, and two NULLs would be two partitions.
    """

    impl = Name
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str:
        return value or ""

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return value or None


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    }
)

RUNNING = "status = 'running'"
"""Written out in the index and in the question, which would not match with a bound value."""

runs = Table(
    "runs",
    metadata,
    Column("id", Name, primary_key=True),
    Column("target", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("fire_time", Moment, nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("finished_at", Moment),
    Column("partition", Text),
    Column("payload", Json),
    Column("arguments", Json, nullable=False),
    Column("error", Text),
    Index("ix_runs_started_at_id", "started_at", "id"),
    Index("ix_runs_status", "status", "started_at", "id"),
    # Every run asks for those that have not ended, and they are few however many there were.
    Index(
        "ix_runs_running",
        "started_at",
        "id",
        sqlite_where=text(RUNNING),
        postgresql_where=text(RUNNING),
    ),
)

steps = Table(
    "steps",
    metadata,
    Column("run", Name, ForeignKey("runs.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("script", Text, nullable=False),
    Column("asset", Text),
    Column("partition", Text),
    Column("ordinal", Moment),
    Column("strategy", Text),
    Column("status", Text, nullable=False),
    Column("rows", BigInteger),
    Column("snapshot", Text),
    Column("keys", Integer, nullable=False, server_default="1"),
    Column("error", Text),
    Column("started_at", Moment),
    Column("finished_at", Moment),
    PrimaryKeyConstraint("run", "position"),
    Index("ix_steps_asset", "asset", "run"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("id", Name, primary_key=True),
    Column("run", Name, nullable=False),
    Column("position", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("finished_at", Moment),
    Column("error", Text),
    Column("part", Text, nullable=False, server_default=text("''")),
    ForeignKeyConstraint(["run", "position"], ["steps.run", "steps.position"]),
    UniqueConstraint("run", "position", "number"),
)

claims = Table(
    "claims",
    metadata,
    Column("asset", Name, nullable=False),
    Column("partition", Key, nullable=False),
    Column("partition_hash", Name, nullable=False),
    Column("run", Name, nullable=False),
    Column("attempt", Name, ForeignKey("attempts.id"), nullable=False),
    Column("at", Moment, nullable=False),
    PrimaryKeyConstraint("asset", "partition_hash"),
    Index("ix_claims_attempt", "attempt"),
)

# Beside the attempts: SQLite writes a whole row anew when its status changes.
staged = Table(
    "staged",
    metadata,
    Column("attempt", Name, ForeignKey("attempts.id"), primary_key=True),
    Column("materializations", Json, nullable=False),
)

# The ledger has no foreign keys to runs and attempts: what a table was built from stays true when
# old runs are removed, or when an entry is restored from the table's own metadata.
materializations = Table(
    "materializations",
    metadata,
    # Tells which of two entries of the same microsecond came later. SQLite counts by itself only
    # in a column whose type is exactly INTEGER.
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("id", Name, nullable=False),
    # Stands for attempt, asset and key together: an attempt enters a key once.
    Column("once", Name, nullable=False),
    Column("asset", Name, nullable=False),
    Column("partition", Key, nullable=False),
    Column("partition_hash", Name, nullable=False),
    Column("ordinal", Moment),
    Column("status", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("attempt", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("finished_at", Moment, nullable=False),
    Column("rows", BigInteger),
    Column("digest", Text),
    # What stands for sets of columns; NULL if nobody has gone over any.
    Column("column_digests", Json),
    Column("snapshot", Text),
    Column("inputs", Json, nullable=False),
    Column("tests", Json, nullable=False),
    Column("error", Text),
    Column("seconds", Double),
    Column("provisional", Boolean, nullable=False, server_default=false()),
    UniqueConstraint("id"),
    UniqueConstraint("once"),
    Index("ix_materializations_key", "asset", "partition_hash", "finished_at", "seq"),
)

# The rows that broke a test, apart from the log, which is read far more often.
violations = Table(
    "violations",
    metadata,
    Column("materialization", Name, ForeignKey("materializations.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("sample", Json, nullable=False),
    PrimaryKeyConstraint("materialization", "position"),
)

# The snapshots of tables that entries of the log name: their own, and those of their inputs.
uses = Table(
    "uses",
    metadata,
    Column("asset", Name, nullable=False),
    Column("snapshot", Name, nullable=False),
    # When the latest of these entries was.
    Column("at", Moment, nullable=False),
    PrimaryKeyConstraint("asset", "snapshot"),
)

# The parts of tables that are laid out by columns of their rows, each with the keys that were
# written to it last, together. A part is as long as its values are, so that its hash stands for it.
parts = Table(
    "parts",
    metadata,
    Column("asset", Name, nullable=False),
    Column("part_hash", Name, nullable=False),
    Column("part", Text, nullable=False),
    Column("partition", Key, nullable=False),
    Column("partition_hash", Name, nullable=False),
    PrimaryKeyConstraint("asset", "part_hash", "partition_hash"),
    Index("ix_parts_key", "asset", "partition_hash"),
)

schemas = Table(
    "schemas",
    metadata,
    Column("asset", Name, nullable=False),
    Column("version", Integer, nullable=False),
    Column("columns", Json, nullable=False),
    Column("run", Text, nullable=False),
    Column("at", Moment, nullable=False),
    PrimaryKeyConstraint("asset", "version"),
)

lineages = Table(
    "lineages",
    metadata,
    Column("asset", Name, nullable=False),
    Column("fingerprint", Name, nullable=False),
    Column("lineage", Json, nullable=False),
    PrimaryKeyConstraint("asset", "fingerprint"),
)

# A backfill is durable: whoever goes on with it takes its keys from here.
backfills = Table(
    "backfills",
    metadata,
    Column("id", Name, primary_key=True),
    Column("target", Text, nullable=False),
    Column("asset", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("finished_at", Moment),
    Column("run", Text),
    # Who works on it, if a server does.
    Column("server", Name),
    Column("keys", Json, nullable=False),
    Column("options", Json, nullable=False),
    Index("ix_backfills_created_at", "created_at", "id"),
)

# What comes from outside. What runs publish stands in the ledger, and is an event too.
events = Table(
    "events",
    metadata,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("id", Name, nullable=False),
    Column("asset", Name, nullable=False),
    Column("partition", Key, nullable=False),
    Column("partition_hash", Name, nullable=False),
    Column("at", Moment, nullable=False),
    Column("payload", Json),
    Column("retracted_at", Moment),
    UniqueConstraint("id"),
    Index("ix_events_asset", "asset", "seq"),
)

# How far the log and the events have been looked at, and when schedules have.
turns = Table(
    "turns",
    metadata,
    Column("name", Name, primary_key=True),
    Column("seq", BigInteger),
    Column("until", Moment),
)

# Scripts whose keys wait, whatever they have.
pauses = Table(
    "pauses",
    metadata,
    Column("consumer", Name, primary_key=True),
    Column("at", Moment, nullable=False),
)

# Events of which a script can make nothing.
rejections = Table(
    "rejections",
    metadata,
    Column("consumer", Name, nullable=False),
    Column("event", Name, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Moment, nullable=False),
    PrimaryKeyConstraint("consumer", "event"),
    Index("ix_rejections_at", "at"),
)

# Of what callers show, only a hash is kept.
tokens = Table(
    "tokens",
    metadata,
    Column("name", Name, primary_key=True),
    Column("role", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("revoked_at", Moment),
)

READY = "status = 'ready'"
HELD = "status IN ('claimed', 'reserved')"

pending = Table(
    "pending",
    metadata,
    Column("consumer", Name, nullable=False),
    Column("partition", Key, nullable=False),
    Column("partition_hash", Name, nullable=False),
    Column("ordinal", Moment),
    Column("status", Text, nullable=False),
    Column("since", Moment, nullable=False),
    Column("fire_time", Moment, nullable=False),
    Column("asked_by", Json, nullable=False),
    Column("lacking", Json, nullable=False),
    Column("look_at", Moment),
    Column("server", Name),
    Column("run", Name),
    Column("again", Boolean, nullable=False),
    PrimaryKeyConstraint("consumer", "partition_hash"),
    Index("ix_pending_order", "consumer", "ordinal"),
    Index("ix_pending_look_at", "look_at"),
    Index(
        "ix_pending_ready",
        "consumer",
        "since",
        sqlite_where=text(READY),
        postgresql_where=text(READY),
    ),
    Index(
        "ix_pending_held",
        "run",
        sqlite_where=text(HELD),
        postgresql_where=text(HELD),
    ),
)

PROVISIONAL = "provisional"

partitions = Table(
    "partitions",
    metadata,
    Column("asset", Name, nullable=False),
    Column("partition", Key, nullable=False),
    Column("partition_hash", Name, nullable=False),
    Column("partition_head", Name, nullable=False),
    Column("ordinal", Moment),
    Column("status", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Column("error", Text),
    # When the latest success was; it and what follows stay as they are when a later attempt fails.
    Column("succeeded_at", Moment),
    Column("materialization", Text),
    Column("rows", BigInteger),
    Column("snapshot", Text),
    Column("digest", Text),
    Column("fingerprint", Text),
    Column("provisional", Boolean, nullable=False, server_default=false()),
    PrimaryKeyConstraint("asset", "partition_hash"),
    Index("ix_partitions_order", "asset", "ordinal", "partition_head"),
    Index("ix_partitions_status", "asset", "status"),
    Index(
        "ix_partitions_provisional",
        "asset",
        sqlite_where=text(PROVISIONAL),
        postgresql_where=text(PROVISIONAL),
    ),
)
