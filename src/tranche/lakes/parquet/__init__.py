"""Tables that are folders of Parquet files."""
