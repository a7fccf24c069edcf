"""A loaded project: its settings and its scripts, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from tranche.errors import Fault
from tranche.model.script import Dialect, Script
from tranche.model.storage import Storage

LakeFormat: TypeAlias = Literal["iceberg", "delta", "parquet", "ducklake"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A bucket of S3, or of a store that answers as S3 does."""

    name: str
    endpoint: str | None = None
    """The store, if it is not that of AWS."""
    region: str | None = None
    access_key: str | None = field(default=None, repr=False)
    """None if the environment tells, or the machine's role."""
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    path_style: bool = False
    """Whether the name stands in the path of addresses, and not before the host."""

    @property
    def told_region(self) -> str | None:
        """Stores of others have none, and are told one all the same; AWS may be asked."""
        return self.region or (None if self.endpoint is None else "us-east-1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """Tables in one format and one catalog. The catalog is embedded when none is named."""

    name: str
    format: LakeFormat = "iceberg"
    warehouse: str
    catalog: Mapping[str, str] | None = field(default=None, repr=False)
    retention: timedelta = timedelta(days=7)
    """For how long one can look back at what tables were, once upkeep was done."""
    database: str | None = field(default=None, repr=False)
    """Where the catalog of a DuckLake is, as in `sqlite:/data/lake.db`; it may hold a password."""
    data_named: bool = True
    """Whether somebody says where the files are; a DuckLake knows that by itself if it is there."""
    partition_column: str | None = None
    """What the tables of a DuckLake call the column of the key, if not as Tranche does."""
    bucket: Bucket | None = None
    """Where the files of a DuckLake are, if `warehouse` is an address such as `s3://name/folder`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """How to reach Spark."""

    master: str = "local[*]"
    remote: str | None = field(default=None, repr=False)
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLineageSettings:
    """Where run events go, and what they tell."""

    namespace: str
    """What the names of jobs are unique in."""
    transport: Mapping[str, Any] | None = field(default=None, repr=False)
    """As the client takes it; None if its environment says where events go."""
    code: bool = True
    """Whether they hold the texts of scripts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What tranche.toml says, with every default filled in and the paths of lakes absolute."""

    name: str
    root: str
    state_url: str = field(repr=False)
    """As written: a relative SQLite file lies in `root`."""
    spark: SparkSettings
    lakes: Mapping[str, Lake]
    default_lake: str
    dialect: Dialect = "spark"
    """The SQL of scripts that do not say which it is."""
    task_formats: frozenset[str] = frozenset()
    """The formats in which tasks keep rows, besides those of lakes."""
    target: str | None = None
    most_bytes: int = 64 * 2**30
    """How much one job of a backfill reads at most, as far as that can be told beforehand."""
    storage_folder: str | None = None
    """Where the files of `s3:///` addresses lie; in the folder of Tranche's own if nobody says."""
    hosts: tuple[str, ...] = ()
    """The names under which a server of it is reached, besides those of its own machine."""
    openlineage: OpenLineageSettings | None = None
    """Where run events go; None if nowhere."""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """Values that must not show in any message."""

    @property
    def home(self) -> str:
        """The folder for everything that Tranche makes by itself."""
        return f"{self.root}/.tranche"

    @property
    def storage(self) -> Storage:
        """Where the files of addresses lie."""
        return Storage(self.root, self.storage_folder or f"{self.home}/storage")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The settings, the scripts without faults, and the faults of the others."""

    settings: Settings
    scripts: tuple[Script, ...]
    faults: tuple[Fault, ...] = ()
    broken: tuple[str, ...] = ()
    """The names of the scripts that have faults, and of jobs and their files."""
    broken_in: Mapping[str, str] = field(default_factory=dict)
    """The file of each of these, where it does not have the name."""

    def script(self, name: str) -> Script | None:
        return next((script for script in self.scripts if script.name == name), None)
