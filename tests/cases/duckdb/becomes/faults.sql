-- pipeline
-- dialect duckdb
-- partitioned daily
-- materialize lake://main/x
SET default_order = 'DESC';
SELECT
    id,
    median(amount)
      AS middle,
    'a {partition} b' AS text
FROM orders;
-- ===> becomes
faults.sql:5: the setting default_order is not translated; leave it out
faults.sql:8: the function median is not translated: its interpolation rounds in another way; use row_number and pick the row
