# pipeline
# materialize lake://main/t
def main(
    partition,
    logical_date,
    spark,
    /,
    limit=3,
):
    def inner():
        return limit
# ===> becomes
unpartitioned.py:3: main returns nothing, and its rows are to be written; return a frame; or write by yourself, with materialize manual <address>
unpartitioned.py:4: main takes 'partition' by position only, and is called by names; remove the / behind it
unpartitioned.py:4: main takes 'partition', and the script has no partitions; add a partitioned line, or leave the parameter out
unpartitioned.py:5: main takes 'logical_date' by position only, and is called by names; remove the / behind it
unpartitioned.py:5: main takes 'logical_date', and the script has no partitions; add a partitioned line, or leave the parameter out
unpartitioned.py:6: main takes 'spark' by position only, and is called by names; remove the / behind it
unpartitioned.py:8: main takes 'limit', which nothing fills; it could be spark, partition, partitions, window, logical_date, run; or declare it, with '# $limit (<type>)' or '# reads lake://<lake>/limit'
