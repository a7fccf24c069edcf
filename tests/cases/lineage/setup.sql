-- table t (k, a, b, c)
-- table u (k, x, y)

-- name: a temporary view
CREATE TEMPORARY VIEW v AS SELECT a AS aa, k FROM t WHERE b = 1;
SELECT v.aa + x AS s FROM v JOIN u ON v.k = u.k;
-- > s = expression a x
-- > rows = filter b; join t.k u.k

-- name: a view with names of columns, on a view
CREATE OR REPLACE TEMP VIEW v (p, q) AS SELECT a, b FROM t;
CREATE OR REPLACE TEMP VIEW w AS SELECT p * 2 AS pp FROM v WHERE q = 1;
SELECT pp FROM w;
-- > pp = expression a
-- > rows = filter b

-- name: a view that is called like a table
CREATE TEMP VIEW u AS SELECT a AS x FROM t;
SELECT x FROM u;
-- > x = identity a

-- name: settings change nothing
SET spark.sql.ansi.enabled = true;
SELECT a FROM t;
-- > a = identity a

-- name: variables
DECLARE VARIABLE least INT DEFAULT 4;
DECLARE VARIABLE most INT;
SET VAR most = (SELECT max(x) FROM u WHERE y = 1);
SELECT a, a + most AS m FROM t WHERE b < least AND c < most;
-- > a = identity a
-- > m = expression a; aggregation x; filter y
-- > rows = filter b c x y

-- name: a lake by another name
ATTACH 'lake://main' AS dl;
SELECT dl.t.a, x FROM dl.t JOIN dl.u AS r ON dl.t.k = r.k;
-- > a = identity a
-- > x = identity x
-- > rows = join t.k u.k

-- name: a function of the session
CREATE TEMPORARY FUNCTION twice(n INT) RETURNS INT RETURN n * 2;
SELECT twice(a) AS t FROM t;
-- > t = expression a
