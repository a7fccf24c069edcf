# pipeline
# partitioned dynamic key="$.tenant_id"
import pandas as pd


def main(partition: str, tenant_id, region: str = "eu", partitoin=None, rows: pd.DataFrame = None):
    ...
# ===> becomes
payload.py:6: main takes 'partitoin', which nothing fills; did you mean 'partition'? it could be spark, partition, partitions, window, logical_date, run; or declare it, with '# $partitoin (<type>)' or '# reads lake://<lake>/partitoin'
payload.py:6: main takes 'rows', which nothing fills; it could be spark, partition, partitions, window, logical_date, run; or declare it, with '# $rows (<type>)' or '# reads lake://<lake>/rows'
