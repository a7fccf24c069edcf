"""tranche.toml: every setting, its default, and what is wrong with bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tranche.errors import ConfigError, ProjectNotFound
from tranche.model.project import Lake, Settings, SparkSettings
from tranche.model.storage import Storage
from tranche.projects.config import find_root, load_settings, parse_settings

ROOT = Path("/work/shop")
FULL = """\
[project]
name = "shop"
lake = "cold"

[state]
url = "postgresql+psycopg://u:${PASSWORD}@host/db"

[spark]
remote = "sc://host:15002"
[spark.conf]
"spark.sql.shuffle.partitions" = 4
spark.driver.memory = "2g"
spark.ui.enabled = false

[lakes.main]
[lakes.cold]
format = "delta"
warehouse = "s3a://bucket/${STAGE}/cold"
catalog = { type = "rest", uri = "https://${STAGE}.example" }

[targets.dev.state]
url = "sqlite:///dev.db"
[targets.dev.spark]
master = "local[2]"
[targets.dev.spark.conf]
spark.driver.memory = "1g"
[targets.dev.lakes.cold]
warehouse = "cold-dev"
"""
ENV = {"PASSWORD": "s3cret", "STAGE": "prod"}


def settings(text: str, target: str | None = None, env: dict[str, str] | None = None) -> Settings:
    return parse_settings(text, ROOT, target, ENV if env is None else env)


def test_every_setting_has_a_default() -> None:
    assert settings("") == Settings(
        name="shop",
        root="/work/shop",
        state_url="sqlite:///.tranche/state.db",
        spark=SparkSettings(master="local[*]", remote=None, conf={}),
        lakes={
            "main": Lake(
                name="main", format="iceberg", warehouse="/work/shop/.tranche/warehouse/main"
            )
        },
        default_lake="main",
        storage_folder="/work/shop/.tranche/storage",
    )
    assert settings("").home == "/work/shop/.tranche"
    assert settings("").storage == Storage("/work/shop", "/work/shop/.tranche/storage")


def test_the_dialect_of_scripts() -> None:
    assert settings("").dialect == "spark"
    assert settings('[project]\ndialect = "duckdb"').dialect == "duckdb"
    with pytest.raises(ConfigError) as caught:
        settings('[project]\ndialect = "oracle"')
    assert str(caught.value) == ("tranche.toml:2: project.dialect is 'oracle'; use spark or duckdb")


def test_every_setting_is_read() -> None:
    found = settings(FULL)
    assert found.name == "shop"
    assert found.default_lake == "cold"
    assert found.state_url == "postgresql+psycopg://u:s3cret@host/db"
    assert found.spark == SparkSettings(
        remote="sc://host:15002",
        conf={
            "spark.sql.shuffle.partitions": "4",
            "spark.driver.memory": "2g",
            "spark.ui.enabled": "false",
        },
    )
    assert list(found.lakes) == ["main", "cold"]
    assert found.lakes["cold"] == Lake(
        name="cold",
        format="delta",
        warehouse="s3a://bucket/prod/cold",
        catalog={"type": "rest", "uri": "https://prod.example"},
    )


def test_a_target_overlays_state_spark_and_lakes() -> None:
    found = settings(FULL, "dev")
    assert found.target == "dev"
    assert found.state_url == "sqlite:///dev.db"
    assert found.spark.master == "local[2]"
    assert found.spark.remote is None
    assert found.spark.conf["spark.driver.memory"] == "1g"
    assert found.spark.conf["spark.ui.enabled"] == "false"
    assert found.lakes["cold"].warehouse == "/work/shop/cold-dev"
    assert found.lakes["cold"].format == "delta"
    assert found.lakes["main"] == settings(FULL).lakes["main"]


def test_files_lie_in_a_folder() -> None:
    text = '[storage]\nfolder = "files"\n[targets.prod.storage]\nfolder = "/mnt/${STAGE}"\n'
    assert settings(text).storage.folder == "/work/shop/files"
    assert settings(text, "prod").storage.folder == "/mnt/prod"
    with pytest.raises(ConfigError) as caught:
        settings('[storage]\nfolder = "s3a://bucket/files"\n')
    assert str(caught.value) == (
        "tranche.toml:2: storage.folder is 's3a://bucket/files', and the files of s3:/// addresses"
        " lie in a folder; give a folder, which may be one that is mounted; SQL reads"
        " s3a://<bucket>/… as it is"
    )


def test_a_remote_of_a_target_replaces_the_master() -> None:
    text = '[spark]\nmaster = "local[2]"\n[targets.prod.spark]\nremote = "sc://h"\n'
    assert settings(text, "prod").spark.remote == "sc://h"
    assert settings(text).spark.remote is None


@pytest.mark.parametrize(
    "remote",
    [
        "sc://spark.example.com",
        "sc://127.0.0.1:15002/",
        "sc://[::1]:15002",
        "sc://h:443/;use_ssl=true;token=abcdef",
    ],
)
def test_addresses_of_spark_connect(remote: str) -> None:
    found = settings(f'[spark]\nremote = "{remote}"')
    assert found.spark.remote == remote
    assert "abcdef" not in repr(found)
    assert ("abcdef" in found.secrets) == ("token" in remote)


def test_the_environment_says_where_spark_is() -> None:
    text = '[spark]\nremote = "sc://h"\n[spark.conf]\n"spark.x" = 1\n'
    here = parse_settings(text, ROOT, None, {"TRANCHE_SPARK_MASTER": "local[2]"})
    assert (here.spark.master, here.spark.remote) == ("local[2]", None)
    assert here.spark.conf == {"spark.x": "1"}
    there = parse_settings("", ROOT, None, {"TRANCHE_SPARK_REMOTE": "sc://other"})
    assert there.spark.remote == "sc://other"
    unset = parse_settings(text, ROOT, None, {"TRANCHE_SPARK_REMOTE": ""})
    assert unset.spark.remote == "sc://h"


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        (
            {"TRANCHE_SPARK_MASTER": "local", "TRANCHE_SPARK_REMOTE": "sc://h"},
            "TRANCHE_SPARK_MASTER and TRANCHE_SPARK_REMOTE are both set; set one of them",
        ),
        (
            {"TRANCHE_SPARK_REMOTE": "h"},
            "tranche.toml: TRANCHE_SPARK_REMOTE is no address of Spark Connect; write it as",
        ),
    ],
)
def test_what_the_environment_says_is_checked(environ: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings("", ROOT, None, environ)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("warehouse", "expected"),
    [
        ("w", "/work/shop/w"),
        ("../w", "/work/shop/../w"),
        ("/abs/w", "/abs/w"),
        ("s3a://b/w", "s3a://b/w"),
        ("file:///w", "file:///w"),
        ("file:/w", "file:/w"),
    ],
)
def test_relative_paths_start_at_the_project(warehouse: str, expected: str) -> None:
    assert settings(f'[lakes.main]\nwarehouse = "{warehouse}"').lakes["main"].warehouse == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[project]\nname = \n", "tranche.toml:2: no valid TOML: "),
        ("name = 'x", "tranche.toml:1: no valid TOML: "),
        ("[projct]", "tranche.toml:1: unknown setting 'projct'; did you mean 'project'?"),
        ("\n[zzz]", "tranche.toml:2: unknown setting 'zzz'; use project, state, spark, backfill, server, storage, openlineage, lakes, targets"),
        ("[project]\nnam = 'x'", "tranche.toml:2: unknown setting 'project.nam'; did you mean 'name'?"),
        ("project.nam = 'x'", "tranche.toml:1: unknown setting 'project.nam'; did you mean 'name'?"),
        ("[project]\nname = 5", "tranche.toml:2: project.name is 5; give a text in quotes"),
        ("[project]\nname = ''", "tranche.toml:2: project.name is ''; give a text in quotes"),
        ("project = 5", "tranche.toml:1: project is no table; write [project]"),
        ("[project]\nlake = 'cold'", "tranche.toml:2: the default lake 'cold' is not declared; use main"),
        ("[state]\nurl = '${NOPE}'", "tranche.toml:2: state.url uses the environment variable 'NOPE', which is not set; set it, as in export NOPE=…"),
        ("[spark]\nmaster = 'a'\nremote = 'b'", "tranche.toml:3: spark has a master and a remote; keep one of them"),
        ("[spark]\nremote = 'host:15002'", "tranche.toml:2: spark.remote is no address of Spark Connect; write it as sc://spark.example.com:15002"),
        ("[spark]\nremote = 'sc://h;token=abcdef'", "tranche.toml:2: spark.remote is no address of Spark Connect; write it as"),
        ("[spark]\nconf = 5", "tranche.toml:2: spark.conf is no table; write [spark.conf]"),
        ("[spark.conf]\nui = true", "tranche.toml:2: spark.conf holds 'ui'; its settings begin with 'spark.'"),
        ("[spark.conf]\n'spark.x' = [1]", "tranche.toml:2: spark.conf.spark.x is [1]; give a text, a number, true or false"),
        ("[spark.conf]\nspark.x = '${NOPE}'", "tranche.toml:2: spark.conf.spark.x uses the environment variable 'NOPE'"),
        ("[backfill]\nmax_bytes_per_job = 'lots'", "tranche.toml:2: backfill.max_bytes_per_job is 'lots', which is no size; write it as 64GB or 500MB"),
        ("[backfill]\nmax_bytes_per_job = '0GB'", "tranche.toml:2: backfill.max_bytes_per_job is '0GB', which is no size"),
        ("lakes = 5", "tranche.toml:1: lakes is no table; write [lakes]"),
        ("[lakes]\nmain = 5", "tranche.toml:2: lakes.main is no table; write [lakes.main]"),
        ("[lakes.a]\nformat = 'delta'\n[lakes.b]\nformat = 'hudi'", "tranche.toml:4: unknown format 'hudi' of lakes.b; use iceberg, delta, parquet, ducklake"),
        ("[lakes.a]\nformt = 'x'", "tranche.toml:2: unknown setting 'lakes.a.formt'; did you mean 'format'?"),
        ("[lakes.spark_catalog]", "tranche.toml:1: 'spark_catalog' cannot be the name of a lake; use letters, digits and underscores, and no name of Spark's own"),
        ("[lakes.'a b']", "tranche.toml:1: 'a b' cannot be the name of a lake; use letters, digits and underscores, and no name of Spark's own"),
        ("[lakes.a]\ncatalog = 'rest'", "tranche.toml:2: the catalog of lakes.a is no table of texts; write catalog = { type = \"rest\", uri = \"…\" }"),
        ("[lakes.a]\ncatalog = { type = 'zoo' }", "tranche.toml:2: unknown type 'zoo' of the catalog of lakes.a; use rest, hive, glue, jdbc, or leave catalog out for the embedded one"),
        ("[lakes.a]\nformat = 'ducklake'\nwarehouse = 'x'", "tranche.toml:3: lakes.a is a DuckLake, whose files lie where data says; write data = … instead of warehouse"),
        ("[lakes.a]\nformat = 'ducklake'\ndata = 'gs://b/x'", "tranche.toml:3: lakes.a.data is 'gs://b/x', which is neither a folder nor in a bucket of S3"),
        ("[lakes.a]\nformat = 'ducklake'\ndata = 's3://B_/x'", "tranche.toml:3: lakes.a.data is 's3://B_/x', which is neither a folder nor in a bucket of S3"),
        ("[lakes.a]\nformat = 'ducklake'\ns3 = { region = 'x' }", "tranche.toml:3: lakes.a.s3 says how to reach a bucket, and the files of lakes.a are in a folder"),
        ("[lakes.a]\nformat = 'ducklake'\ndata = 's3://lake/x'\ns3 = { acces_key = 'x' }", "tranche.toml:4: unknown setting 'lakes.a.s3.acces_key'; did you mean 'access_key'?"),
        ("[lakes.a]\nformat = 'ducklake'\ndata = 's3://lake/x'\n[lakes.a.s3]\naccess_key = 'x'", "tranche.toml:4: lakes.a.s3 has a part of what gives access; give access_key and secret_key, or neither"),
        ("[lakes.a]\nformat = 'ducklake'\ndata = 's3://lake/x'\n[lakes.a.s3]\nendpoint = 'minio:9000'", "tranche.toml:5: lakes.a.s3.endpoint is no address of a server"),
        ("[lakes.a]\nformat = 'ducklake'\ndata = 's3://lake/x'\n[lakes.a.s3]\npath_style = 'yes'", "tranche.toml:5: lakes.a.s3.path_style is 'yes'; write true or false"),
        ("[lakes.a]\nformat = 'ducklake'\ndata = 's3://me:hunter2@lake/x'", "tranche.toml:3: lakes.a.data is neither a folder nor in a bucket of S3"),
        ("[lakes.a]\nformat = 'ducklake'\ndata = 's3://lake/a//x'", "tranche.toml:3: lakes.a.data has a part that is empty, '.' or '..'"),
        ("[lakes.a]\nformat = 'ducklake'\ndata = 's3://lake/a/../x'", "tranche.toml:3: lakes.a.data has a part that is empty, '.' or '..'"),
        ("[lakes.a]\nformat = 'ducklake'\ndata = 's3://lake/x'\ns3 = { access_key = 'x', secret_key = 123456789 }", "tranche.toml:4: lakes.a.s3.secret_key is no text; give a text in quotes"),
        ("[lakes.a]\nformat = 'ducklake'\ndata = 's3://lake/x'\n[lakes.b]\nformat = 'ducklake'\ndata = 's3://lake/y'\ns3 = { region = 'x' }", "tranche.toml:7: lakes.a and lakes.b are in the bucket 'lake', and reach it in two ways; give both the same s3 = …"),
        ("[lakes.a]\nformat = 'delta'\ns3 = { region = 'x' }", "tranche.toml:3: lakes.a.s3 is for lakes of the format ducklake, and lakes.a is of delta"),
        ("[lakes.a]\nformat = 'ducklake'\ncatalog = 'mysql:x'", "tranche.toml:3: lakes.a.catalog is no catalog of a DuckLake; write it as \"sqlite:lake.db\""),
        ("[lakes.a]\nformat = 'ducklake'\npartition_column = 'a b'", "tranche.toml:3: lakes.a.partition_column is 'a b'; give the name of a column"),
        ("[lakes.a]\ndata = 'x'", "tranche.toml:2: lakes.a.data is for lakes of the format ducklake, and lakes.a is of iceberg"),
        ("targets = 5", "tranche.toml:1: targets is no table; write [targets.<name>.<table>]"),
        ("[targets.dev.project]\nname = 'x'", "tranche.toml:1: unknown setting 'targets.dev.project'; use state, spark, storage, openlineage, lakes"),
        ("[targets.dev.state]\nulr = 'x'", "tranche.toml:2: unknown setting 'targets.dev.state.ulr'; did you mean 'url'?"),
        ("[targets.dev.lakes.a]\nformt = 'x'", "tranche.toml:2: unknown setting 'targets.dev.lakes.a.formt'; did you mean 'format'?"),
    ],
)  # fmt: skip
def test_bad_settings_are_located(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(text)
    assert str(caught.value).startswith(message)


def test_the_line_of_a_target_is_shown_when_its_setting_is_wrong() -> None:
    text = "[lakes.main]\nformat = 'iceberg'\n[targets.dev.lakes.main]\nformat = 'hudi'\n"
    with pytest.raises(ConfigError, match=r"^tranche\.toml:4: unknown format 'hudi'"):
        settings(text, "dev")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "tranche.toml: no target 'dev' in tranche.toml; the targets are: none is declared"),
        (
            "[targets.prod.state]",
            "tranche.toml: no target 'dev' in tranche.toml; the targets are: prod",
        ),
    ],
)
def test_an_unknown_target(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(text, "dev")
    assert str(caught.value) == message


def test_secrets_do_not_show_in_complaints() -> None:
    text = '[state]\nurl = "${PASSWORD}"\n[lakes.main]\ncatalog = { type = "rest", token = "${PASSWORD}" }\n[zzz]\n'
    with pytest.raises(ConfigError) as caught:
        settings(text)
    assert "s3cret" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    assert load_settings(tmp_path, None, {}).name == tmp_path.name
    (tmp_path / "tranche.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(ConfigError, match=r"^tranche\.toml cannot be read: "):
        load_settings(tmp_path, None, {})


@pytest.mark.parametrize("mark", ["tranche.toml", "pipelines"])
def test_a_project_is_found_from_below(mark: str, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    below = root / "a" / "b"
    below.mkdir(parents=True)
    (root / mark).touch() if "." in mark else (root / mark).mkdir()
    assert find_root(below) == root
    assert find_root(root) == root
    with pytest.raises(
        ProjectNotFound, match=r"no project in .* or above it; go into one, or make"
    ):
        find_root(tmp_path)


def test_a_ducklake_has_a_catalog_and_a_folder() -> None:
    lake = settings("[lakes.a]\nformat = 'ducklake'").lakes["a"]
    assert lake.database == f"sqlite:{ROOT}/.tranche/warehouse/a.ducklake"
    assert (lake.warehouse, lake.data_named) == (f"{ROOT}/.tranche/warehouse/a", False)
    text = "[lakes.a]\nformat = 'ducklake'\ncatalog = 'duckdb:x.db'\ndata = 'file:///d'"
    other = settings(f"{text}\npartition_column = '_wm_partition'").lakes["a"]
    assert (other.database, other.warehouse) == (f"duckdb:{ROOT}/x.db", "/d")
    assert other.data_named and other.partition_column == "_wm_partition"
    secret = settings("[lakes.a]\nformat = 'ducklake'\ncatalog = 'postgres:password=hunter22'")
    assert "hunter22" in secret.secrets and "hunter22" not in repr(secret)
    with pytest.raises(ConfigError, match="write it as") as caught:
        settings("[lakes.a]\nformat = 'ducklake'\ncatalog = 'postgres://me:hunter22@host/x'")
    assert "hunter22" not in str(caught.value)
