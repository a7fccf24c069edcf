-- pipeline
-- on lake://main/raw_orders
-- partitioned daily tz="Europe/Paris" start="2026-01-01"
-- materialize lake://main/orders_daily key=order_id
-- data_test unique order_id
-- One day of orders: '{partition}' is the day.
SELECT order_id, status, amount, created_at
FROM raw_orders
WHERE created_at::date = '{partition}';
-- ===> becomes
SELECT order_id, status, amount, created_at
FROM `main`.`default`.`raw_orders` VERSION AS OF 1
WHERE created_at::date = :_tranche_key;
-- :_tranche_key = '2026-05-16'
-- reads lake://main/raw_orders
-- writes lake://main/orders_daily
