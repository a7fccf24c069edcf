-- pipeline
-- materialize lake://main/out
CREATE TEMP VIEW v AS SELECT FROM WHERE;
SELECT count( FROM v;
SELECT 'not closed
-- ===> becomes
unparsed.sql:5: a quote is not closed; close it, or remove what stands there
