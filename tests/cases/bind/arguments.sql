-- pipeline
-- partitioned daily
-- materialize lake://main/top
-- $partition (date)
-- $top (int) = 5
-- $least (decimal(10,2)) = 9.99
-- $since (timestamp) = null
-- $country (string) = 'it''s'
SELECT *
FROM orders -- $top of them
WHERE day = $partition AND amount >= $least AND created_at > $since AND country = $country
LIMIT $top;
-- ===> becomes
SELECT *
FROM `main`.`default`.`orders` VERSION AS OF 1 -- $top of them
WHERE day = CAST(:_tranche_argument_partition AS DATE) AND amount >= CAST(:_tranche_argument_least AS DECIMAL(10,2)) AND created_at > CAST(NULL AS TIMESTAMP) AND country = :_tranche_argument_country
LIMIT CAST(:_tranche_argument_top AS INT);
-- :_tranche_argument_partition = '2026-05-16'
-- :_tranche_argument_least = '9.99'
-- :_tranche_argument_country = "it's"
-- :_tranche_argument_top = '5'
-- reads lake://main/orders
-- writes lake://main/top
