-- What the text does not tell is said, and not guessed. `raw` and `more` are tables that nobody knows.
-- table t (k, a, b)
-- table u (k, x)

-- name: a star of a table that nobody knows
SELECT * FROM raw WHERE a = 1;
-- > rows = filter raw.a
-- > unknown = the columns of lake://main/raw are not known

-- name: columns of a table that nobody knows
SELECT a, r.b + 1 AS c FROM raw AS r WHERE d = 1;
-- > a = identity raw.a
-- > c = expression raw.b
-- > rows = filter raw.d

-- name: a column of one of two tables
SELECT a FROM raw JOIN more ON raw.k = more.k;
-- > a =
-- > rows = join raw.k more.k
-- > unknown = a may be a column of lake://main/raw or of lake://main/more, whose columns are not known

-- name: a column of the table that is known
SELECT a, z FROM t JOIN raw ON t.k = raw.k;
-- > a = identity t.a
-- > z = identity raw.z
-- > rows = join t.k raw.k

-- name: a column that is nowhere
SELECT a, missing FROM t;
-- > a = identity t.a
-- > missing =
-- > unknown = nothing that is read has a column missing

-- name: a name of the SELECT, or a column
SELECT x AS y, y + 1 AS z FROM raw;
-- > y = identity raw.x
-- > z =
-- > unknown = y may be a column of lake://main/raw, whose columns are not known

-- name: a name of the SELECT that must be meant
SELECT to_date(ts) AS d, count(*) AS n FROM raw GROUP BY d HAVING n > 1 ORDER BY n;
-- > d = expression raw.ts
-- > n =
-- > rows = group raw.ts

-- name: of the inner or of the outer query
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM raw WHERE raw.k = t.k AND b = 1);
-- > a = identity t.a
-- > rows = filter raw.k t.k
-- > unknown = b may be a column of lake://main/raw, whose columns are not known

-- name: of the outer query for certain
SELECT a FROM raw WHERE EXISTS (SELECT 1 FROM u WHERE u.k = c);
-- > a = identity raw.a
-- > rows = filter u.k raw.c

-- name: a star through a query
SELECT q.x FROM (SELECT *, a + 1 AS b FROM raw) AS q WHERE q.b = 2;
-- > x = identity raw.x
-- > rows = filter raw.a

-- name: distinct over a star
SELECT DISTINCT * FROM raw;
-- > unknown = the columns of lake://main/raw are not known

-- name: a natural join
SELECT t.a FROM t NATURAL JOIN raw;
-- > a = identity t.a
-- > unknown = which columns NATURAL JOIN joins by is not known

-- name: a union by position
SELECT k, q.* FROM raw AS q UNION ALL SELECT x, k FROM u;
-- > k = identity raw.k u.x
-- > unknown = the columns of a function are not known

-- name: using
SELECT k, a, raw.z FROM t JOIN raw USING (k);
-- > k = identity t.k
-- > a = identity t.a
-- > z = identity raw.z
-- > rows = join t.k raw.k

-- name: a star within a function
SELECT hash(*) AS h FROM raw;
-- > h =
-- > unknown = the columns of lake://main/raw are not known

-- name: a unit that may be a column
SELECT date_trunc(b, a) AS d FROM t;
-- > d = expression t.a
-- > unknown = what b means is not known

-- name: a view of files
CREATE TEMP VIEW v USING parquet OPTIONS (path 'x');
SELECT a FROM v;
-- > a =
-- > unknown = the columns of v are not known

-- name: a function that reads a table
CREATE TEMPORARY FUNCTION most() RETURNS INT RETURN (SELECT max(a) FROM t);
SELECT most() AS m, x FROM u;
-- > m =
-- > x = identity x
-- > unknown = what the statement does with what it reads is not known

-- name: a table that is named by a value
SELECT a FROM identifier('raw');
-- > a =
-- > unknown = which table IDENTIFIER names is not known

-- name: a union of queries that do not fit
SELECT a FROM t UNION ALL SELECT k, x FROM u;
-- > a = identity t.a u.k
-- > unknown = which columns of the two queries belong together is not known
