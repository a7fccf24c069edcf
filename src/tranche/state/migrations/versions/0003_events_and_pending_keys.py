"""Events from outside, keys that are pending, and how far both have been looked at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
MOMENT = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
JSON = sa.JSON().with_variant(sa.Text(), "sqlite")
NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "events",
        sa.Column("seq", NUMBER, nullable=False),
        sa.Column("id", NAME, nullable=False),
        sa.Column("asset", NAME, nullable=False),
        sa.Column("partition", NAME, nullable=False),
        sa.Column("partition_hash", NAME, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("payload", JSON),
        sa.Column("retracted_at", MOMENT),
        sa.PrimaryKeyConstraint("seq", name="pk_events"),
        sa.UniqueConstraint("id", name="uq_events_id"),
    )
    op.create_index("ix_events_asset", "events", ["asset", "seq"])
    op.create_table(
        "turns",
        sa.Column("name", NAME, nullable=False),
        sa.Column("seq", sa.BigInteger),
        sa.Column("until", MOMENT),
        sa.PrimaryKeyConstraint("name", name="pk_turns"),
    )
    op.create_table(
        "pauses",
        sa.Column("consumer", NAME, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("consumer", name="pk_pauses"),
    )
    op.create_table(
        "rejections",
        sa.Column("consumer", NAME, nullable=False),
        sa.Column("event", NAME, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("consumer", "event", name="pk_rejections"),
    )
    op.create_index("ix_rejections_at", "rejections", ["at"])
    op.create_table(
        "pending",
        sa.Column("consumer", NAME, nullable=False),
        sa.Column("partition", NAME, nullable=False),
        sa.Column("partition_hash", NAME, nullable=False),
        sa.Column("ordinal", MOMENT),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        sa.Column("fire_time", MOMENT, nullable=False),
        sa.Column("asked_by", JSON, nullable=False),
        sa.Column("lacking", JSON, nullable=False),
        sa.Column("look_at", MOMENT),
        sa.Column("server", NAME),
        sa.Column("run", NAME),
        sa.Column("again", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("consumer", "partition_hash", name="pk_pending"),
    )
    op.create_index("ix_pending_order", "pending", ["consumer", "ordinal"])
    op.create_index("ix_pending_look_at", "pending", ["look_at"])
    for name, columns, status in (
        ("ix_pending_ready", ["consumer", "since"], "ready"),
        ("ix_pending_claimed", ["run"], "claimed"),
    ):
        only = sa.text(f"status = '{status}'")
        op.create_index(name, "pending", columns, sqlite_where=only, postgresql_where=only)


def downgrade() -> None:
    for table in ("pending", "rejections", "pauses", "turns", "events"):
        op.drop_table(table)
