"""Tables of DuckLake: Spark writes and reads the files, DuckDB's extension keeps the catalog."""
