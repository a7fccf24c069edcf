-- pipeline
-- partitioned daily
-- materialize lake://main/raw_orders
-- $folder (string) = data/orders
SELECT o.order_id, o.amount, r.rate
FROM read_json($folder || '/' || '{partition}' || '.json', schema => 'order_id long, amount double') AS o
JOIN read_csv('data/rates/*.csv', header => true) AS r ON r.day = DATE '{partition}';
-- ===> becomes
SELECT o.order_id, o.amount, r.rate
FROM <json data/orders/2026-05-16.json {'schema': 'order_id long, amount double'}> AS o
JOIN <csv data/rates/*.csv {'header': 'true'}> AS r ON r.day = CAST(:_tranche_key AS DATE);
-- :_tranche_key = '2026-05-16'
-- reads file:$folder/{partition}.json
-- reads file:data/rates/*.csv
-- writes lake://main/raw_orders
