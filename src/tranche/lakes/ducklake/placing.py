"""Where the files of a table go, as its lake wants it."""

from __future__ import annotations

import re

from tranche.lakes.ducklake.catalog import META, Catalog
from tranche.lakes.ducklake.metadata import joined

_PLAIN = re.compile("[A-Za-z0-9_-]+")


def new_folder(catalog: Catalog, schema: str, table: str) -> str:
    """The folder of a table that is made now."""
    with catalog.using():
        known = catalog.asked(
            f"SELECT path, path_is_relative FROM {META}.ducklake_schema"
            " WHERE lower(schema_name) = lower(?) AND end_snapshot IS NULL",
            (schema,),
        )
        above, relative = known[0] if known else (schema, True)
        root = joined(catalog.folder, str(above), relative)
        return joined(root, table)


def is_foreseen(catalog: Catalog, schema: str, table: str) -> bool:
    """Whether DuckLake calls the folder of a new table, and of its schema, as these are called.

    Names with other signs get folders with a number for a name, which nobody knows beforehand.
    """
    with catalog.using():
        known = catalog.asked(
            f"SELECT 1 FROM {META}.ducklake_schema"
            " WHERE lower(schema_name) = lower(?) AND end_snapshot IS NULL",
            (schema,),
        )
    new = (table,) if known else (schema, table)
    return all(_PLAIN.fullmatch(name) for name in new)


def wants_folders(catalog: Catalog, schema: str, table: str) -> bool:
    """Whether folders are called after values: the table says so, else its schema, else the lake."""
    rows = catalog.rows(
        f"SELECT m.scope, m.value FROM {META}.ducklake_metadata m"
        f" LEFT JOIN {META}.ducklake_schema s ON m.scope = 'schema' AND m.scope_id = s.schema_id"
        f" LEFT JOIN {META}.ducklake_table t ON m.scope = 'table' AND m.scope_id = t.table_id"
        " WHERE m.key = 'hive_file_pattern' AND (m.scope IS NULL"
        " OR (lower(s.schema_name) = lower(?) AND s.end_snapshot IS NULL)"
        " OR (lower(t.table_name) = lower(?) AND t.end_snapshot IS NULL AND t.schema_id IN"
        f" (SELECT schema_id FROM {META}.ducklake_schema WHERE lower(schema_name) = lower(?))))",
        (schema, table, schema),
    )
    said = {scope: str(value).lower() != "false" for scope, value in rows}
    return bool(said.get("table", said.get("schema", said.get(None, True))))
