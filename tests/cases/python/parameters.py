#!/usr/bin/env python
# pipeline
# partitioned daily tz="Europe/Paris"
# on lake://main/raw.orders
# reads lake://main/customers
# reads lake://main/items
# reads lake://other/rates
# reads s3:///raw/{partition}/visits.json
# materialize lake://main/scores key=id
# $limit (int) = 10
# $since (date)
from __future__ import annotations

import datetime as dt
from datetime import datetime
from typing import TYPE_CHECKING, Optional

import pandas as pd
import polars

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

    import tranche

Lazy = polars.LazyFrame


def main(
    spark: SparkSession,
    partition: Optional[str],
    window: "tranche.Window",
    logical_date: datetime | None,
    run: tranche.CurrentRun,
    limit: int,
    since: dt.date,
    orders: DataFrame,
    customers: pd.DataFrame,
    items: "polars.DataFrame | None",
    rates: Lazy,
    *,
    visits,
    **others,
):
    return scores(orders)
# ===> becomes
# main at line 30
# spark = injected spark
# partition = injected partition
# window = injected window
# logical_date = injected logical_date
# run = injected run
# limit = argument limit
# since = argument since
# orders = rows of lake://main/raw.orders as spark
# customers = rows of lake://main/customers as pandas
# items = rows of lake://main/items as polars
# rates = rows of lake://other/rates as lazy
# visits = rows of s3:///raw/{partition}/visits.json as spark
# reads lake://main/customers
# reads lake://main/items
# reads lake://other/rates
# reads s3:///raw/{partition}/visits.json
# reads lake://main/raw.orders
# writes lake://main/scores
