"""What stands for the sets of columns that are read of a slice, beside what stands for its rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Text on SQLite, where a column declared as JSON turns large integers into floats.
    kept = sa.JSON().with_variant(sa.Text(), "sqlite")
    op.add_column("materializations", sa.Column("column_digests", kept))


def downgrade() -> None:
    with op.batch_alter_table("materializations") as table:
        table.drop_column("column_digests")
