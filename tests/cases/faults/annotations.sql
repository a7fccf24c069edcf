-- pipeline
-- on lake://main/orders mapp=all
-- partitioned dayly
-- materialize lake://mian/out upsert
-- layout buckets(8, a)
-- data_test uniqe id
-- column total
-- retry often
-- dialect oracle
-- $top (number)
-- trigger any
SELECT 1
-- partitioned daily
-- ===> becomes
annotations.sql:2: unknown option 'mapp' in 'on'; did you mean 'map'?
annotations.sql:3: unknown kind 'dayly' in 'partitioned'; did you mean 'daily'?
annotations.sql:4: unknown strategy 'upsert' in 'materialize'; use key=<col> for merge, append, or history; replace is the default
annotations.sql:5: unknown transform 'buckets' in 'layout'; did you mean 'bucket'?
annotations.sql:6: unknown test 'uniqe' in 'data_test'; did you mean 'unique'?
annotations.sql:7: 'column' does not parse; write column <out> <- <uri>.<col>[, <uri>.<col> …]
annotations.sql:8: 'retry' needs a number of tries; write it as retry 3 delay=10s
annotations.sql:9: unknown dialect 'oracle'; use spark or duckdb
annotations.sql:10: unknown type 'number' of $top; use string, tinyint, smallint, int, bigint, float, double, decimal(p,s), date, timestamp, timestamp_ntz, boolean
annotations.sql:11: 'trigger any' is what holds without the line; leave it out, or write trigger all, or trigger (lake://main/a & lake://main/b) | lake://main/c
annotations.sql:13: the annotation 'partitioned' stands below the first statement; move it into the comment block at the top; if this is prose, begin it with another word
