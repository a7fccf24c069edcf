"""DuckDB with the extensions that its packages bring; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tranche.errors import EngineUnavailable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_INSTALL = "pip install 'tranche[ducklake]'"
_SETTINGS = (
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    # A name in a statement must not be taken for a variable of ours.
    "SET python_enable_replacements = false",
    # Calendar values of a layout are those of UTC, whoever writes.
    "SET TimeZone = 'UTC'",
    # A commit that finds another one before it is made anew by us, who first look what that was.
    "SET ducklake_max_retry_count = 0",
)


def opened(extensions: Sequence[str]) -> DuckDBPyConnection:
    """A DuckDB in memory that has these extensions."""
    try:
        import duckdb
    except ImportError:
        raise _missing("duckdb") from None
    found = [extension_file(name, duckdb.__version__) for name in extensions]
    connection = duckdb.connect()
    for file in found:
        connection.execute(f"LOAD {literal(str(file))}")
    for setting in _SETTINGS:
        connection.execute(setting)
    return connection


def extension_file(name: str, version: str) -> Path:
    """Where the package of an extension has it."""
    spec = find_spec(f"duckdb_extension_{name}")
    package = f"duckdb-extension-{name.replace('_', '-')}"
    if spec is None or spec.origin is None:
        raise _missing(package)
    file = Path(spec.origin).parent / "extensions" / f"v{version}" / f"{name}.duckdb_extension"
    if not file.exists():
        raise EngineUnavailable(
            f"the package {package} is for another version of DuckDB than {version}, which is"
            " installed",
            _INSTALL,
        )
    return file


def identifier(name: str) -> str:
    """A name as DuckDB takes it.

    >>> identifier('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as DuckDB takes it.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def _missing(package: str) -> EngineUnavailable:
    return EngineUnavailable(f"a DuckLake needs the package {package}", _INSTALL)
