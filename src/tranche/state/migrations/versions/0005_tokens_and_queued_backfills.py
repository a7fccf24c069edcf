"""Tokens of callers, backfills that a server works off, and keys that runs reserve."""

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
    op.drop_index("ix_pending_claimed", "pending")
    _index("ix_pending_held", "status IN ('claimed', 'reserved')")


def downgrade() -> None:
    op.drop_index("ix_pending_held", "pending")
    _index("ix_pending_claimed", "status = 'claimed'")
    op.drop_column("backfills", "server")
    op.drop_table("tokens")


def _index(name: str, condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, "pending", ["run"], sqlite_where=where, postgresql_where=where)
