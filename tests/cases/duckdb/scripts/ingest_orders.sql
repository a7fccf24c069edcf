-- pipeline
-- on schedule
-- partitioned daily
-- materialize ducklake://main/raw_orders
-- Pull one day of orders from the shop API. `'{partition}'` is replaced
-- with the run's partition value, e.g. '2026-05-16'.
SELECT *
FROM shop_api_orders()
WHERE created_at::DATE = '{partition}';
