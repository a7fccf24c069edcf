-- pipeline
-- dialect duckdb
-- partitioned daily
-- materialize ducklake://main/raw
-- $place (s3object) = s3:///elsewhere/x.parquet
SELECT id, day
FROM read_json(
    's3:///lake/raw/' || '{partition}' || '/orders.json',
    format = 'array',
    columns = {'id': 'BIGINT', 'day': 'DATE', 'tags': 'VARCHAR[]'}
)
UNION ALL
SELECT id, day FROM read_parquet($place, union_by_name = true)
UNION ALL
SELECT id, day FROM 'data/old.parquet';
-- ===> becomes
SELECT id, day FROM 
<json s3:///lake/raw/2026-05-16/orders.json {'schema': '`id` bigint, `day` date, `tags` array<string>', 'multiLine': 'true', 'mode': 'FAILFAST'}> UNION ALL SELECT 




id, day FROM <parquet s3:///elsewhere/x.parquet {'mergeSchema': 'true'}> UNION ALL SELECT 

id, day FROM <parquet data/old.parquet {}>;
-- reads s3:///lake/raw/{partition}/orders.json
-- reads file:$place
-- reads file:data/old.parquet
-- writes lake://main/raw
