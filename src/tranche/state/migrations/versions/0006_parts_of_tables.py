"""The parts of tables that are laid out by columns of their rows, and which keys were written to each."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "parts",
        sa.Column("asset", NAME, nullable=False),
        sa.Column("part_hash", NAME, nullable=False),
        sa.Column("part", sa.Text, nullable=False),
        sa.Column("partition", NAME, nullable=False),
        sa.Column("partition_hash", NAME, nullable=False),
        sa.PrimaryKeyConstraint("asset", "part_hash", "partition_hash", name="pk_parts"),
    )
    op.create_index("ix_parts_key", "parts", ["asset", "partition_hash"])


def downgrade() -> None:
    op.drop_table("parts")
