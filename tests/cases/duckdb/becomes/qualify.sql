-- pipeline
-- dialect duckdb
-- materialize lake://main/latest
WITH named AS (
    SELECT * EXCLUDE (note) FROM orders AT (VERSION => 3)
)
FROM named
SELECT *, row_number() OVER latest AS place
WHERE region IS NOT NULL
WINDOW latest AS (PARTITION BY customer ORDER BY placed DESC)
QUALIFY place = 1
-- ===> becomes
WITH named AS (SELECT 
* EXCEPT (note) FROM `main`.`default`.`orders` VERSION AS OF 3) SELECT * EXCEPT (_tranche_kept) FROM (SELECT 


*, CAST(row_number() OVER latest AS BIGINT) AS place, 


place = 1 AS _tranche_kept FROM named WHERE region IS NOT NULL WINDOW latest AS (PARTITION BY customer ORDER BY placed DESC NULLS LAST)) WHERE _tranche_kept;
-- reads lake://main/orders
-- writes lake://main/latest
