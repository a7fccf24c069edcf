-- pipeline
-- materialize lake://main/out
SELECT 1;
CREATE TABLE x AS SELECT 1;
SELECT 2;
INSERT INTO x SELECT 2
-- ===> becomes
order.sql:3: the script has 2 SELECTs; keep one, at the end; make the others temporary views or CTEs
order.sql:4: CREATE TABLE is no setup statement; before the SELECT stand only SET, CREATE TEMPORARY VIEW, CREATE TEMPORARY FUNCTION, DECLARE and ATTACH; or declare it materialize manual
order.sql:5: the script has 2 SELECTs; keep one, at the end; make the others temporary views or CTEs
order.sql:6: the script ends with INSERT INTO, not with a SELECT; end it with the SELECT for one slice, or declare it materialize manual
