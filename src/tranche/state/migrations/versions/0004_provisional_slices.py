"""Slices that were built without something that they had waited for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


TABLES = ("materializations", "partitions")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(
            table,
            sa.Column("provisional", sa.Boolean, nullable=False, server_default=sa.false()),
        )


def downgrade() -> None:
    for name in TABLES:
        with op.batch_alter_table(name) as table:
            table.drop_column("provisional")
