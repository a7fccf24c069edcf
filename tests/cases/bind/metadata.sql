-- pipeline
-- partitioned daily
SELECT s.snapshot_id, before.total, now.total
FROM main.totals.snapshots AS s
JOIN totals VERSION AS OF 'audit' AS before
JOIN totals AS now
WHERE s.committed_at::date = '{partition}'
-- ===> becomes
SELECT s.snapshot_id, before.total, now.total
FROM `main`.`default`.`totals`.`snapshots` AS s
JOIN `main`.`default`.`totals` VERSION AS OF 'audit' AS before
JOIN `main`.`default`.`totals` VERSION AS OF 1 AS now
WHERE s.committed_at::date = :_tranche_key;
-- :_tranche_key = '2026-05-16'
-- reads lake://main/totals
