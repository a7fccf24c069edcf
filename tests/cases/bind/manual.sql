-- pipeline
-- partitioned daily
-- materialize manual lake://main/totals
CREATE TABLE IF NOT EXISTS totals (day DATE, total DOUBLE) USING iceberg PARTITIONED BY (day);
ALTER TABLE totals WRITE ORDERED BY day;
DELETE FROM main.totals WHERE day = '{partition}';
INSERT INTO totals SELECT d.day, sum(d.amount) FROM other.raw.orders AS d WHERE d.day = $partition GROUP BY 1;
MERGE WITH SCHEMA EVOLUTION INTO totals t USING late l ON t.day = l.day WHEN MATCHED THEN UPDATE SET *;
CALL main.system.rewrite_data_files(table => 'default.totals');
INSERT OVERWRITE DIRECTORY 'out' USING csv SELECT * FROM main.default.totals;
-- ===> becomes
CREATE TABLE IF NOT EXISTS `main`.`default`.`totals` (day DATE, total DOUBLE) USING iceberg PARTITIONED BY (day);
ALTER TABLE `main`.`default`.`totals` WRITE ORDERED BY day;
DELETE FROM `main`.`default`.`totals` WHERE day = :_tranche_key;
-- :_tranche_key = '2026-05-16'
INSERT INTO `main`.`default`.`totals` SELECT d.day, sum(d.amount) FROM `other`.`raw`.`orders` AS d WHERE d.day = :_tranche_key GROUP BY 1;
-- :_tranche_key = '2026-05-16'
MERGE WITH SCHEMA EVOLUTION INTO `main`.`default`.`totals` t USING `main`.`default`.`late` l ON t.day = l.day WHEN MATCHED THEN UPDATE SET *;
CALL main.system.rewrite_data_files(table => 'default.totals');
INSERT OVERWRITE DIRECTORY 'out' USING csv SELECT * FROM main.default.totals;
-- reads lake://other/raw.orders
-- reads lake://main/late
-- writes lake://main/totals
-- warning manual.sql:10: the statement goes to Spark as it stands, because Tranche cannot read it; write out its tables as <lake>.<schema>.<table>
