"""Runs are found by how they ended, and by the asset that one of their steps makes."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_runs_status", "runs", ["status", "started_at", "id"])
    op.create_index("ix_steps_asset", "steps", ["asset", "run"])


def downgrade() -> None:
    op.drop_index("ix_steps_asset", "steps")
    op.drop_index("ix_runs_status", "runs")
