"""Where the columns of assets come from, as it was seen when steps ran."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
JSON = sa.JSON().with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "lineages",
        sa.Column("asset", NAME, nullable=False),
        sa.Column("fingerprint", NAME, nullable=False),
        sa.Column("lineage", JSON, nullable=False),
        sa.PrimaryKeyConstraint("asset", "fingerprint", name="pk_lineages"),
    )


def downgrade() -> None:
    op.drop_table("lineages")
