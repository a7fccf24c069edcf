-- pipeline
-- dialect duckdb
-- partitioned daily
-- materialize ducklake://main/daily key=id
-- $cutoff (timestamp) = 2026-01-01T00:00:00
ATTACH 'ducklake://other' AS dl;
SET threads = 4;
CREATE TEMP TABLE big AS
  FROM dl.orders
  SELECT *
  WHERE amount > 10;

SELECT
    id,
    "Customer Name" AS name,

    -- a remark; with a semicolon
    placed + INTERVAL 1 DAY AS due,
    'it''s \ here' AS text
FROM big
WHERE placed::DATE = '{partition}'
  AND placed >= $cutoff
  AND name LIKE 'a\%'
ORDER BY id DESC
LIMIT 3;
-- ===> becomes
CREATE TEMPORARY VIEW big AS SELECT 

* FROM `other`.`default`.`orders` VERSION AS OF 1 WHERE 
amount > 10;
SELECT 
id, 
`Customer Name` AS name, coalesce(


placed, CAST(NULL AS TIMESTAMP_NTZ)) + INTERVAL '1' DAY AS due, 
'it\'s \\ here' AS text FROM 
big WHERE CAST(
placed AS DATE) = :_tranche_key AND 
placed >= CAST(:_tranche_argument_cutoff AS TIMESTAMP_NTZ) AND 
name LIKE 'a\\\\%' ORDER BY 
id DESC NULLS LAST LIMIT 
3;
-- :_tranche_key = '2026-05-16'
-- :_tranche_argument_cutoff = '2026-01-01T00:00:00'
-- reads lake://other/orders
-- writes lake://main/daily
