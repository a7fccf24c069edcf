"""Tokens of callers, and backfills that a server works off."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
MOMENT = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "tokens",
        sa.Column("name", NAME, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("revoked_at", MOMENT),
        sa.PrimaryKeyConstraint("name", name="pk_tokens"),
    )
    op.add_column("backfills", sa.Column("server", NAME))


def downgrade() -> None:
    op.drop_column("backfills", "server")
    op.drop_table("tokens")
