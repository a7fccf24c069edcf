"""tranche.toml: every setting has a default that works."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast, get_args

from tranche.errors import ConfigError, Place, ProjectNotFound
from tranche.model.duration import parse_duration
from tranche.model.project import Lake, LakeFormat, Settings, SparkSettings
from tranche.model.script import Dialect
from tranche.model.size import parse_size
from tranche.projects.config_ducklake import read_ducklake
from tranche.projects.config_openlineage import read_openlineage
from tranche.projects.secrets import secrets_of

CONFIG = "tranche.toml"
PIPELINES = "pipelines"

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_NAME = re.compile(r"[^\W\d]\w*")
_RESERVED_LAKES = ("spark_catalog", "system", "session", "global_temp")
_TABLES: dict[str, tuple[str, ...]] = {
    "project": ("name", "lake", "dialect"),
    "state": ("url",),
    "spark": ("master", "remote", "conf"),
    "backfill": ("max_bytes_per_job",),
    "server": ("hosts",),
    "storage": ("folder",),
    "openlineage": ("namespace", "transport", "code"),
    "lakes.*": ("format", "warehouse", "catalog", "retention", "data", "partition_column", "s3"),
}
_TOP = (
    *("project", "state", "spark", "backfill", "server", "storage", "openlineage"),
    *("lakes", "targets"),
)
_OVERLAID = ("state", "spark", "storage", "openlineage")
"""The tables of a target, besides lakes."""
_HEADER = re.compile(r"\s*\[\[?([^\]]+)\]")
_SETTING = re.compile(
    r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*="
)
_PART = re.compile(r"\"[^\"]*\"|'[^']*'|[\w-]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_CONNECT = re.compile(r"sc://([^/;\s:@\[\]]+|\[[0-9a-fA-F:]+\])(:\d+)?(/(;[^=;\s]+=[^=;\s]*)*)?")
_CATALOGS = ("rest", "hive", "glue", "jdbc")
_SPARK_VARIABLES = {"master": "TRANCHE_SPARK_MASTER", "remote": "TRANCHE_SPARK_REMOTE"}
"""What the environment may say instead of the file: on another machine, Spark is elsewhere."""


def find_root(start: Path) -> Path:
    """The project that a folder belongs to: the nearest one at or above it."""
    folder = start.resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / CONFIG).is_file() or (candidate / PIPELINES).is_dir():
            return candidate
    raise ProjectNotFound(
        f"no project in {folder} or above it",
        f"go into one, or make one with 'tranche init'; a project has a {CONFIG} or a"
        f" {PIPELINES} folder",
    )


def load_settings(root: Path, target: str | None, environ: Mapping[str, str]) -> Settings:
    """Reads tranche.toml, overlays a target, and fills in every default."""
    path = root / CONFIG
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{CONFIG} cannot be read: {error}", "check its permissions") from None
    return parse_settings(text, root, target, environ)


def parse_settings(
    text: str, root: Path, target: str | None, environ: Mapping[str, str]
) -> Settings:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found[1]) if found else max(1, len(text.splitlines()))
        raise ConfigError(
            f"no valid TOML: {error}",
            "correct it; a text needs quotes, a table needs [brackets]",
            place=Place(CONFIG, line),
        ) from None
    return _Reader(text, root, target, environ).settings(tables)


class _Reader:
    """Checks one file's settings; each complaint names the line."""

    def __init__(
        self, text: str, root: Path, target: str | None, environ: Mapping[str, str]
    ) -> None:
        self.text = text
        self.root = root
        self.target = target
        self.environ = environ
        self.secrets: set[str] = set()

    def error(self, what: str, remedy: str, name: str) -> ConfigError:
        """A complaint about a setting; a target's own line comes before that of the base.

        What stands in a table on one line has that line.
        """
        lines = setting_lines(self.text)
        line = None
        while line is None and name:
            line = lines.get(f"targets.{self.target}.{name}", lines.get(name))
            name = name.rpartition(".")[0]
        return ConfigError(what, remedy, place=Place(CONFIG, line))

    def settings(self, tables: dict[str, Any]) -> Settings:
        self.check_names(tables, _TOP, "")
        merged = self.overlaid(tables)
        project = self.table(merged, "project")
        lakes = self.lakes(merged)
        default = self.default_lake(project, lakes)
        state = self.table(merged, "state")
        url = self.string(state, "state.url", "sqlite:///.tranche/state.db")
        spark = self.spark(merged)
        name = self.string(project, "project.name", self.root.name or "project")
        return Settings(
            name=name,
            root=str(self.root),
            state_url=url,
            spark=spark,
            lakes=lakes,
            default_lake=default,
            dialect=self.dialect(project),
            target=self.target,
            most_bytes=self.most_bytes(self.table(merged, "backfill")),
            hosts=self.hosts(self.table(merged, "server")),
            storage_folder=self.storage(self.table(merged, "storage")),
            openlineage=read_openlineage(self, self.table(merged, "openlineage"), name),
            secrets=frozenset(self.secrets),
        )

    def dialect(self, project: dict[str, Any]) -> Dialect:
        """The SQL of scripts that do not say which it is."""
        match self.string(project, "project.dialect", "spark"):
            case "spark":
                return "spark"
            case "duckdb":
                return "duckdb"
            case other:
                raise self.error(
                    f"project.dialect is {other!r}", "use spark or duckdb", "project.dialect"
                )

    def most_bytes(self, table: dict[str, Any]) -> int:
        name = "backfill.max_bytes_per_job"
        text = self.string(table, name, "64GB")
        size = parse_size(text)
        if not size:
            raise self.error(
                f"{name} is {text!r}, which is no size", "write it as 64GB or 500MB", name
            )
        return size

    def storage(self, table: dict[str, Any]) -> str:
        name = "storage.folder"
        folder = self.string(table, name, ".tranche/storage")
        if _URI.match(folder):
            raise self.error(
                f"{name} is {folder!r}, and the files of s3:/// addresses lie in a folder",
                "give a folder, which may be one that is mounted; SQL reads s3a://<bucket>/… as it"
                " is",
                name,
            )
        return str(self.root / folder)

    def hosts(self, table: dict[str, Any]) -> tuple[str, ...]:
        name, value = "server.hosts", table.get("hosts", [])
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            raise self.error(
                f"{name} is {value!r}", 'write it as hosts = ["tranche.example.org"]', name
            )
        return tuple(self.expanded(each, name) for each in value)

    def overlaid(self, tables: dict[str, Any]) -> dict[str, Any]:
        """The tables with the target's settings in place of the base's."""
        targets = tables.get("targets", {})
        if not isinstance(targets, dict) or not all(isinstance(t, dict) for t in targets.values()):
            raise self.error("targets is no table", "write [targets.<name>.<table>]", "targets")
        for name, overlay in targets.items():
            self.check_overlay(overlay, f"targets.{name}")
        if self.target is None:
            return tables
        if self.target not in targets:
            known = ", ".join(targets) or "none is declared"
            raise ConfigError(
                f"no target {self.target!r} in {CONFIG}",
                f"the targets are: {known}",
                place=Place(CONFIG),
            )
        overlay = targets[self.target]
        base = _without_other_transport(_without_other_spark(tables, overlay), overlay)
        return _merged(base, overlay)

    def check_overlay(self, overlay: dict[str, Any], where: str) -> None:
        """A target that nobody chose may not hold a wrong name either."""
        self.check_names(overlay, (*_OVERLAID, "lakes"), where)
        for name in _OVERLAID:
            self.check_names(self.mapping(overlay, name, where), _TABLES[name], f"{where}.{name}")
        lakes = self.mapping(overlay, "lakes", where)
        for lake in lakes:
            table = self.mapping(lakes, lake, f"{where}.lakes")
            self.check_names(table, _TABLES["lakes.*"], f"{where}.lakes.{lake}")

    def mapping(self, tables: dict[str, Any], name: str, where: str = "") -> dict[str, Any]:
        full = f"{where}.{name}" if where else name
        table = tables.get(name, {})
        if not isinstance(table, dict):
            raise self.error(f"{full} is no table", f"write [{full}]", full)
        return table

    def table(self, tables: dict[str, Any], name: str) -> dict[str, Any]:
        table = self.mapping(tables, name)
        self.check_names(table, _TABLES[name], name)
        return table

    def check_names(self, table: dict[str, Any], known: tuple[str, ...], where: str) -> None:
        for name in table:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join(known)}"
                full = f"{where}.{name}" if where else name
                raise self.error(f"unknown setting {full!r}", hint, full)

    def string(self, table: dict[str, Any], name: str, default: str) -> str:
        value = table.get(name.rpartition(".")[2], default)
        if not isinstance(value, str) or not value:
            said = "no text" if any(secrets_of(name, str(value))) else repr(value)
            raise self.error(f"{name} is {said}", "give a text in quotes", name)
        return self.expanded(value, name)

    def expanded(self, text: str, name: str) -> str:
        def value(match: re.Match[str]) -> str:
            variable = match[1]
            if variable not in self.environ:
                raise self.error(
                    f"{name} uses the environment variable {variable!r}, which is not set",
                    f"set it, as in export {variable}=…",
                    name,
                )
            self.secrets.update(secrets_of(variable, self.environ[variable]))
            return self.environ[variable]

        found = _VARIABLE.sub(value, text)
        self.secrets.update(secrets_of(name, found))
        return found

    def spark(self, tables: dict[str, Any]) -> SparkSettings:
        table = self.table(tables, "spark")
        given = {
            name: self.environ[variable]
            for name, variable in _SPARK_VARIABLES.items()
            if self.environ.get(variable)
        }
        if len(given) > 1:
            both = " and ".join(_SPARK_VARIABLES.values())
            raise ConfigError(f"{both} are both set", "set one of them")
        if given:
            table = {**_without(table, _SPARK_VARIABLES), **given}
        if "master" in table and "remote" in table:
            raise self.error("spark has a master and a remote", "keep one of them", "spark.remote")
        return SparkSettings(
            master=self.string(table, "spark.master", "local[*]"),
            remote=self.remote(table) if "remote" in table else None,
            conf=self.conf(table),
        )

    def remote(self, table: dict[str, Any]) -> str:
        given = self.environ.get(_SPARK_VARIABLES["remote"])
        name = _SPARK_VARIABLES["remote"] if given else "spark.remote"
        remote = self.string(table, "spark.remote", "")
        # It may hold a token, and is not shown.
        if not _CONNECT.fullmatch(remote):
            raise self.error(
                f"{name} is no address of Spark Connect",
                "write it as sc://spark.example.com:15002, with ;name=value after a slash",
                name,
            )
        return remote

    def conf(self, table: dict[str, Any]) -> dict[str, str]:
        flat = {}
        for key, value in _flattened(self.mapping(table, "conf", "spark")):
            name = f"spark.conf.{key}"
            if not key.startswith("spark."):
                raise self.error(
                    f"spark.conf holds {key!r}", "its settings begin with 'spark.'", name
                )
            if not isinstance(value, str | int | float):
                raise self.error(
                    f"{name} is {value!r}", "give a text, a number, true or false", name
                )
            text = str(value).lower() if isinstance(value, bool) else str(value)
            flat[key] = self.expanded(text, name)
        return flat

    def lakes(self, tables: dict[str, Any]) -> dict[str, Lake]:
        table = self.mapping(tables, "lakes") or {"main": {}}
        lakes = {name: self.lake(name, self.mapping(table, name, "lakes")) for name in table}
        self.check_buckets(lakes.values())
        return lakes

    def check_buckets(self, lakes: Iterable[Lake]) -> None:
        """Spark has one way to each bucket."""
        first: dict[str, Lake] = {}
        for lake in lakes:
            if lake.bucket is None:
                continue
            other = first.setdefault(lake.bucket.name, lake)
            if other.bucket != lake.bucket:
                raise self.error(
                    f"lakes.{other.name} and lakes.{lake.name} are in the bucket"
                    f" {lake.bucket.name!r}, and reach it in two ways",
                    "give both the same s3 = …, or each a bucket",
                    f"lakes.{lake.name}.s3",
                )

    def lake(self, name: str, table: dict[str, Any]) -> Lake:
        where = f"lakes.{name}"
        if not _NAME.fullmatch(name) or name.lower() in _RESERVED_LAKES:
            raise self.error(
                f"{name!r} cannot be the name of a lake",
                "use letters, digits and underscores, and no name of Spark's own",
                where,
            )
        self.check_names(table, _TABLES["lakes.*"], where)
        format_ = self.string(table, f"{where}.format", "iceberg")
        known = get_args(LakeFormat)
        if format_ not in known:
            raise self.error(
                f"unknown format {format_!r} of {where}",
                f"use {', '.join(known)}",
                f"{where}.format",
            )
        if format_ == "ducklake":
            return read_ducklake(self, name, table)
        for setting in ("data", "partition_column", "s3"):
            if setting in table:
                raise self.error(
                    f"{where}.{setting} is for lakes of the format ducklake, and {where} is of"
                    f" {format_}",
                    "take it back; where files lie is said by warehouse",
                    f"{where}.{setting}",
                )
        warehouse = self.string(table, f"{where}.warehouse", f".tranche/warehouse/{name}")
        if not _URI.match(warehouse):
            warehouse = str(self.root / warehouse)
        return Lake(
            name=name,
            format=cast(LakeFormat, format_),
            warehouse=warehouse,
            catalog=self.catalog(where, table.get("catalog")),
            retention=self.retention(table, where),
        )

    def retention(self, table: dict[str, Any], where: str) -> timedelta:
        name = f"{where}.retention"
        text = self.string(table, name, "7d")
        length = parse_duration(text)
        if length is None:
            raise self.error(
                f"{name} is {text!r}, which is no length of time", "write it as 7d or 36h", name
            )
        return length

    def catalog(self, where: str, value: object) -> dict[str, str] | None:
        if value is None:
            return None
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise self.error(
                f"the catalog of {where} is no table of texts",
                'write catalog = { type = "rest", uri = "…" }',
                f"{where}.catalog",
            )
        if value.get("type") not in _CATALOGS:
            raise self.error(
                f"unknown type {value.get('type')!r} of the catalog of {where}",
                f"use {', '.join(_CATALOGS)}, or leave catalog out for the embedded one",
                f"{where}.catalog",
            )
        return {key: self.expanded(text, f"{where}.catalog.{key}") for key, text in value.items()}

    def default_lake(self, project: dict[str, Any], lakes: Mapping[str, Lake]) -> str:
        default = "main" if "main" in lakes else next(iter(lakes))
        name = self.string(project, "project.lake", default)
        if name not in lakes:
            raise self.error(
                f"the default lake {name!r} is not declared",
                f"use {', '.join(lakes)}",
                "project.lake",
            )
        return name


def setting_lines(text: str) -> dict[str, int]:
    """The line of each table and setting by its full name, as far as the text shows it.

    >>> setting_lines("[lakes.main]\\nformat = 'iceberg'\\n")
    {'lakes': 1, 'lakes.main': 1, 'lakes.main.format': 2}
    """
    lines: dict[str, int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        setting = _SETTING.match(line)
        if header is not None:
            table = path = _dotted(header[1])
        elif setting is not None:
            path = (*table, *_dotted(setting[1]))
        else:
            continue
        for size in range(1, len(path) + 1):
            lines.setdefault(".".join(path[:size]), number)
    return lines


def _dotted(name: str) -> tuple[str, ...]:
    return tuple(part.strip("\"' \t") for part in _PART.findall(name))


def _without_other_spark(base: dict[str, Any], overlay: dict[str, Any]) -> dict[str, Any]:
    """A target that names a master does away with the base's remote, and the reverse."""
    chosen, old = overlay.get("spark", {}), base.get("spark", {})
    if not isinstance(old, dict) or not {"master", "remote"} & chosen.keys():
        return base
    return {**base, "spark": _without(old, ("master", "remote"))}


def _without_other_transport(base: dict[str, Any], overlay: dict[str, Any]) -> dict[str, Any]:
    """A target that names a type of transport has none of the base's options."""
    chosen, old = overlay.get("openlineage", {}).get("transport"), base.get("openlineage")
    if not isinstance(chosen, dict) or "type" not in chosen or not isinstance(old, dict):
        return base
    return {**base, "openlineage": _without(old, ("transport",))}


def _without(table: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in names}


def _merged(base: dict[str, Any], overlay: dict[str, Any]) -> dict[str, Any]:
    """The base with the overlay's values in place of its own, table by table."""
    result = dict(base)
    for key, value in overlay.items():
        old = result.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        result[key] = _merged(old, value) if both else value  # type: ignore[arg-type]
    return result


def _flattened(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """`spark.sql.x = 1` is a nested table to TOML and one setting to Spark."""
    flat: list[tuple[str, Any]] = []
    for key, value in table.items():
        name = f"{prefix}{key}"
        flat += _flattened(value, f"{name}.") if isinstance(value, dict) else [(name, value)]
    return flat


def environment() -> Mapping[str, str]:
    return os.environ
