# pipeline
# partitioned static keys="us,eu"
# on lake://main/orders
# reads lake://other/orders
# reads lake://main/items
# $limit (int)
import datetime
from decimal import Decimal

from tranche import read_file, write_file


def main(
    partition: int,
    partitions: "list[int]",
    window,
    logical_date: datetime.datetime,
    spark: str,
    run: dict,
    limit: Decimal,
    orders,
    items: dict,
    rates,
    size: int,
    flag: bool | None,
):
    write_file("lake://main/t", b"")
    read_file("lake://main/t")
    write_file(f"s3:///../{partition}.json", b"")
# ===> becomes
faults.py:14: main takes 'partition' as int, and partition is no int; write partition: str
faults.py:15: main takes 'partitions' as list[int], and partitions is no list[int]; write partitions: list[str]
faults.py:16: main takes 'window', and static keys have no time; take partition instead
faults.py:17: main takes 'logical_date', and static keys have no time; take partition instead
faults.py:18: main takes 'spark' as str, and spark is no str; write spark: SparkSession
faults.py:19: main takes 'run' as dict, and run is no dict; write run: tranche.CurrentRun
faults.py:20: main takes 'limit' as Decimal, and $limit (int) is no Decimal; write limit: int
faults.py:21: main takes 'orders', which could be lake://main/orders or lake://other/orders; take spark instead, and read them with it
faults.py:22: main takes the rows of lake://main/items as dict, which is no frame; use pyspark.sql.DataFrame, pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table, as they are imported, or leave the type out for Spark's
faults.py:23: main takes 'rates', which nothing fills; it could be spark, partition, partitions, window, logical_date, run, limit, orders, items; or declare it, with '# $rates (<type>)' or '# reads lake://<lake>/rates'
faults.py:27: write_file takes files, and lake://main/t is a table; return the rows from main, and add '# materialize lake://main/t'
faults.py:28: read_file takes files, and lake://main/t is a table; add '# reads lake://main/t', and a parameter for its rows
faults.py:29: 's3:///../{partition}.json' has a '.' or '..' in its path; write the path without them
