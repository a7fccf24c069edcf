"""Steps, attempts and entries of slices that have several keys, and backfills."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
MOMENT = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
JSON = sa.JSON().with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "backfills",
        sa.Column("id", NAME, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("asset", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("finished_at", MOMENT),
        sa.Column("run", sa.Text),
        sa.Column("keys", JSON, nullable=False),
        sa.Column("options", JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_backfills"),
    )
    op.create_index("ix_backfills_created_at", "backfills", ["created_at", "id"])
    op.add_column("steps", sa.Column("keys", sa.Integer, nullable=False, server_default="1"))
    op.add_column(
        "attempts", sa.Column("part", sa.Text, nullable=False, server_default=sa.text("''"))
    )
    op.add_column("materializations", sa.Column("seconds", sa.Double))


def downgrade() -> None:
    op.drop_table("backfills")
    with op.batch_alter_table("materializations") as table:
        table.drop_column("seconds")
    with op.batch_alter_table("attempts") as table:
        table.drop_column("part")
    with op.batch_alter_table("steps") as table:
        table.drop_column("keys")
