"""Runs, steps, attempts and their claims, and the ledger of materializations.

The types are written out: a migration stays what it was when `tables` moves on.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
MOMENT = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
JSON = sa.JSON().with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("id", NAME, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("fire_time", MOMENT, nullable=False),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("finished_at", MOMENT),
        sa.Column("partition", sa.Text),
        sa.Column("payload", JSON),
        sa.Column("arguments", JSON, nullable=False),
        sa.Column("error", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index("ix_runs_started_at_id", "runs", ["started_at", "id"])
    running = sa.text("status = 'running'")
    op.create_index(
        "ix_runs_running",
        "runs",
        ["started_at", "id"],
        sqlite_where=running,
        postgresql_where=running,
    )
    op.create_table(
        "steps",
        sa.Column("run", NAME, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("script", sa.Text, nullable=False),
        sa.Column("asset", sa.Text),
        sa.Column("partition", sa.Text),
        sa.Column("ordinal", MOMENT),
        sa.Column("strategy", sa.Text),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("rows", sa.BigInteger),
        sa.Column("snapshot", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("started_at", MOMENT),
        sa.Column("finished_at", MOMENT),
        sa.PrimaryKeyConstraint("run", "position", name="pk_steps"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_steps_runs"),
    )
    op.create_table(
        "attempts",
        sa.Column("id", NAME, nullable=False),
        sa.Column("run", NAME, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("finished_at", MOMENT),
        sa.Column("error", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_attempts"),
        sa.ForeignKeyConstraint(
            ["run", "position"], ["steps.run", "steps.position"], name="fk_attempts_steps"
        ),
        sa.UniqueConstraint("run", "position", "number", name="uq_attempts_run_position_number"),
    )
    op.create_table(
        "claims",
        sa.Column("asset", NAME, nullable=False),
        sa.Column("partition", NAME, nullable=False),
        sa.Column("partition_hash", NAME, nullable=False),
        sa.Column("run", NAME, nullable=False),
        sa.Column("attempt", NAME, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("asset", "partition_hash", name="pk_claims"),
        sa.ForeignKeyConstraint(["attempt"], ["attempts.id"], name="fk_claims_attempts"),
    )
    op.create_index("ix_claims_attempt", "claims", ["attempt"])
    op.create_table(
        "staged",
        sa.Column("attempt", NAME, nullable=False),
        sa.Column("materializations", JSON, nullable=False),
        sa.PrimaryKeyConstraint("attempt", name="pk_staged"),
        sa.ForeignKeyConstraint(["attempt"], ["attempts.id"], name="fk_staged_attempts"),
    )
    op.create_table(
        "materializations",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("id", NAME, nullable=False),
        sa.Column("once", NAME, nullable=False),
        sa.Column("asset", NAME, nullable=False),
        sa.Column("partition", NAME, nullable=False),
        sa.Column("partition_hash", NAME, nullable=False),
        sa.Column("ordinal", MOMENT),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("attempt", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("finished_at", MOMENT, nullable=False),
        sa.Column("rows", sa.BigInteger),
        sa.Column("digest", sa.Text),
        sa.Column("snapshot", sa.Text),
        sa.Column("inputs", JSON, nullable=False),
        sa.Column("tests", JSON, nullable=False),
        sa.Column("error", sa.Text),
        sa.PrimaryKeyConstraint("seq", name="pk_materializations"),
        sa.UniqueConstraint("id", name="uq_materializations_id"),
        sa.UniqueConstraint("once", name="uq_materializations_once"),
    )
    op.create_index(
        "ix_materializations_key",
        "materializations",
        ["asset", "partition_hash", "finished_at", "seq"],
    )
    op.create_table(
        "violations",
        sa.Column("materialization", NAME, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("sample", JSON, nullable=False),
        sa.PrimaryKeyConstraint("materialization", "position", name="pk_violations"),
        sa.ForeignKeyConstraint(
            ["materialization"], ["materializations.id"], name="fk_violations_materializations"
        ),
    )
    op.create_table(
        "uses",
        sa.Column("asset", NAME, nullable=False),
        sa.Column("snapshot", NAME, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("asset", "snapshot", name="pk_uses"),
    )
    op.create_table(
        "schemas",
        sa.Column("asset", NAME, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("columns", JSON, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("asset", "version", name="pk_schemas"),
    )
    op.create_table(
        "partitions",
        sa.Column("asset", NAME, nullable=False),
        sa.Column("partition", NAME, nullable=False),
        sa.Column("partition_hash", NAME, nullable=False),
        sa.Column("partition_head", NAME, nullable=False),
        sa.Column("ordinal", MOMENT),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("succeeded_at", MOMENT),
        sa.Column("materialization", sa.Text),
        sa.Column("rows", sa.BigInteger),
        sa.Column("snapshot", sa.Text),
        sa.Column("digest", sa.Text),
        sa.Column("fingerprint", sa.Text),
        sa.PrimaryKeyConstraint("asset", "partition_hash", name="pk_partitions"),
    )
    op.create_index("ix_partitions_order", "partitions", ["asset", "ordinal", "partition_head"])
    op.create_index("ix_partitions_status", "partitions", ["asset", "status"])


def downgrade() -> None:
    op.drop_table("partitions")
    op.drop_table("schemas")
    op.drop_table("uses")
    op.drop_table("violations")
    op.drop_table("materializations")
    op.drop_table("staged")
    op.drop_table("claims")
    op.drop_table("attempts")
    op.drop_table("steps")
    op.drop_table("runs")
