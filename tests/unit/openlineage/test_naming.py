"""How datasets are called, by where they lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from tranche.model.asset import parse_address
from tranche.openlineage.naming import dataset_name
from tranche.projects.config import parse_settings

TOML = """\
[lakes.main]
[lakes.cold]
format = "delta"
warehouse = "s3a://bucket/cold/"
[lakes.flat]
format = "parquet"
warehouse = "abfss://box@account.dfs.core.windows.net/flat"
[lakes.shared]
warehouse = "s3a://bucket/shared"
catalog = { type = "rest", uri = "https://me:secret@catalog.example.com/v1/?token=secret" }
[lakes.hive]
warehouse = "hdfs://name:8020/warehouse"
catalog = { type = "hive", uri = "thrift://hive.example.com:9083" }
[lakes.glue]
warehouse = "s3://bucket/glue"
catalog = { type = "glue", "glue.id" = "1234", "client.region" = "eu-west-1" }
[lakes.glued]
warehouse = "s3://bucket/glued"
catalog = { type = "glue" }
[lakes.jdbc]
warehouse = "gs://bucket/jdbc"
catalog = { type = "jdbc", uri = "jdbc:postgresql://me:secret@db/lake" }
"""
SETTINGS = parse_settings(TOML, Path("/shop"), None, {})


@pytest.mark.parametrize(
    ("address", "namespace", "name", "other"),
    [
        (
            "lake://main/orders",
            "file",
            "/shop/.tranche/warehouse/main/default/orders",
            ("file:/shop/.tranche/warehouse/main", "default.orders"),
        ),
        (
            "lake://cold/raw.orders",
            "s3://bucket",
            "cold/raw/orders",
            ("s3://bucket/cold", "raw.orders"),
        ),
        (
            "lake://flat/orders",
            "abfss://box@account.dfs.core.windows.net",
            "flat/default/orders",
            ("abfss://box@account.dfs.core.windows.net/flat", "default.orders"),
        ),
        ("lake://shared/orders", "https://catalog.example.com/v1", "default.orders", None),
        ("lake://hive/orders", "hive://hive.example.com:9083", "default.orders", None),
        ("lake://glue/raw.orders", "arn:aws:glue:eu-west-1:1234", "table/raw/orders", None),
        (
            "lake://glued/orders",
            "s3://bucket",
            "glued/default/orders",
            ("s3://bucket/glued", "default.orders"),
        ),
        (
            "lake://jdbc/orders",
            "gs://bucket",
            "jdbc/default/orders",
            ("gs://bucket/jdbc", "default.orders"),
        ),
        ("lake://gone/orders", "lake://gone", "default.orders", None),
        ("file:data/{partition}.json", "file", "/shop/data/{partition}.json", None),
        ("file:///data/orders.csv", "file", "/data/orders.csv", None),
        ("s3:///raw/{partition}/a.json", "file", "/shop/.tranche/storage/raw/{partition}/a.json", None),
        ("s3a://bucket/raw/orders", "s3://bucket", "raw/orders", None),
        ("gs://bucket/raw#1?x", "gs://bucket", "raw#1?x", None),
        ("hdfs://name:8020/raw/orders", "hdfs://name:8020", "/raw/orders", None),
        ("file:../outside.csv", "file", "../outside.csv", None),
        ("job://sales/report", "shop", "sales.report", None),
    ],
)  # fmt: skip
def test_names(address: str, namespace: str, name: str, other: tuple[str, str] | None) -> None:
    found = dataset_name(parse_address(address), SETTINGS, "shop")
    assert found.first == (namespace, name)
    assert found.others == (() if other is None else (other,))
    assert "secret" not in str(found)
