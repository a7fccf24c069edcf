-- pipeline
-- dialect duckdb
-- partitioned daily
-- materialize lake://main/x
FROM orders
SELECT id,
    'a {partition} b' AS text,
    $nothing AS nothing
WHERE
    day = '{partition}' AND elsewhere.t.x = 1;
-- ===> becomes
faults_behind.sql:7: the token stands inside the longer literal 'a {partition} b'; write 'a ' || '{partition}' || ' b'
faults_behind.sql:8: $nothing is not declared; add the line $nothing (<type>) at the top
