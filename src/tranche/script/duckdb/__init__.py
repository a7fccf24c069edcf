"""Scripts in DuckDB's SQL, as Spark SQL that gives DuckDB's rows.

`translating` turns the text of a script into one of Spark SQL, statement by statement and line by
line. Everything behind it (holes, names, ranges, lineage) knows Spark SQL only.
"""
