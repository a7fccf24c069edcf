-- pipeline
-- dialect duckdb
-- materialize lake://main/x
SELECT 'a\' AS a,
  'never closed
-- ===> becomes
unclosed.sql:5: a quote is not closed; close it, or remove what stands there
