-- pipeline
-- materialize lake://main/out
CREATE TEMP VIEW v AS SELECT FROM WHERE;
SELECT count(*
FROM v;
-- ===> becomes
statements.sql:3: the statement does not parse at 'WHERE': Expected table name; correct the SQL
statements.sql:5: the statement does not parse at 'FROM': Expecting ); correct the SQL
