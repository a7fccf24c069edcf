"""The version of the tables that this code reads and writes."""

from __future__ import annotations

HEAD = "0009"
VERSION_TABLE = "tranche_version"
"""Not Alembic's usual name: on PostgreSQL another application may keep its own beside ours."""
