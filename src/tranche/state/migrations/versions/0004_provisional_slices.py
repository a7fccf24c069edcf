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
    only = sa.text("provisional")
    op.create_index(
        "ix_partitions_provisional",
        "partitions",
        ["asset"],
        sqlite_where=only,
        postgresql_where=only,
    )


def downgrade() -> None:
    op.drop_index("ix_partitions_provisional", "partitions")
    for name in TABLES:
        with op.batch_alter_table(name) as table:
            table.drop_column("provisional")
