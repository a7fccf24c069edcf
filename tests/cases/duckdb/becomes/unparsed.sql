-- pipeline
-- dialect duckdb
-- materialize lake://main/x
SELECT id,
  (1 + AS x
FROM orders;
-- ===> becomes
unparsed.sql:5: the statement does not parse as DuckDB's SQL at 'AS': Required keyword: 'expression' missing for <class 'sqlglot.expressions.core.Add'>; correct it
