"""Runs the migrations over the connection that `upgrade` holds, inside its transaction."""

from __future__ import annotations

from alembic import context

from tranche.state.schema import VERSION_TABLE
from tranche.state.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    # SQLite cannot alter most of a table in place.
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
