-- pipeline
-- partitioned daily
-- materialize lake://main/report
ATTACH 'lake://other' AS crm;
SET spark.sql.shuffle.partitions = 4;
DECLARE VARIABLE last DATE;
SET VAR last = (SELECT max(day) FROM orders WHERE day < '{partition}');
CREATE TEMPORARY VIEW customers AS SELECT * FROM crm.customers WHERE day = '{partition}';;

WITH orders AS (SELECT * FROM orders WHERE day = "{partition}")
SELECT /*+ BROADCAST(c) */ c.tier, count(*) AS orders, ';' AS mark /* -- ; */
FROM orders JOIN customers c ON c.id = orders.customer_id
LEFT JOIN main.raw.refunds ON main.raw.refunds.order_id = orders.id
GROUP BY ALL
-- ===> becomes
SET spark.sql.shuffle.partitions = 4;
DECLARE VARIABLE last DATE;
SET VAR last = (SELECT max(day) FROM `main`.`default`.`orders` VERSION AS OF 1 WHERE day < :_tranche_key);
-- :_tranche_key = '2026-05-16'
CREATE TEMPORARY VIEW customers AS SELECT * FROM `other`.`default`.`customers` VERSION AS OF 1 WHERE day = :_tranche_key;
-- :_tranche_key = '2026-05-16'
WITH orders AS (SELECT * FROM `main`.`default`.`orders` VERSION AS OF 1 WHERE day = :_tranche_key)
SELECT /*+ BROADCAST(c) */ c.tier, count(*) AS orders, ';' AS mark /* -- ; */
FROM orders JOIN customers c ON c.id = orders.customer_id
LEFT JOIN `main`.`raw`.`refunds` VERSION AS OF 1 ON `main`.`raw`.`refunds`.order_id = orders.id
GROUP BY ALL;
-- :_tranche_key = '2026-05-16'
-- reads lake://main/orders
-- reads lake://other/customers
-- reads lake://main/raw.refunds
-- writes lake://main/report
