-- table t (k, a, b, c)
-- table u (k, x, y, z)
-- table tree (id, parent, size)

-- name: a query in FROM
SELECT q.m + 1 AS n FROM (SELECT a * 2 AS m, b FROM t WHERE c = 1) AS q WHERE q.b > 2;
-- > n = expression a
-- > rows = filter c b

-- name: columns that nobody uses do not count
SELECT a FROM (SELECT a, b, c FROM t);
-- > a = identity a

-- name: a sum of sums
SELECT sum(s) AS total FROM (SELECT k, sum(a) AS s FROM t GROUP BY k);
-- > total = aggregation a
-- > rows = group t.k

-- name: what was summed stays summed
SELECT s + 1 AS s1, s FROM (SELECT sum(a) AS s FROM t);
-- > s1 = aggregation a
-- > s = aggregation a

-- name: a CTE
WITH w AS (SELECT k, a AS aa FROM t WHERE b = 1) SELECT w.aa, x FROM w JOIN u ON w.k = u.k;
-- > aa = identity a
-- > x = identity x
-- > rows = filter b; join t.k u.k

-- name: CTEs on each other, with names of columns
WITH one (p, q) AS (SELECT a, b FROM t), two AS (SELECT p + q AS r, p FROM one) SELECT r, p FROM two;
-- > r = expression a b
-- > p = identity a

-- name: a CTE that is called like the table that it reads
WITH t AS (SELECT a AS z FROM t) SELECT z FROM t;
-- > z = identity a

-- name: a CTE twice
WITH w AS (SELECT k, a FROM t) SELECT l.a, r.a AS other FROM w l JOIN w r ON l.k = r.k;
-- > a = identity a
-- > other = identity a
-- > rows = join t.k

-- name: a CTE within a query
SELECT n FROM (WITH w AS (SELECT a AS n FROM t) SELECT n FROM w) AS q;
-- > n = identity a

-- name: a CTE that nobody reads
WITH w AS (SELECT b FROM t WHERE c = 1) SELECT a FROM t;
-- > a = identity a

-- name: a star of a star
WITH w AS (SELECT * FROM t), v AS (SELECT *, a + b AS ab FROM w) SELECT * EXCEPT (k, b) FROM v;
-- > a = identity a
-- > c = identity c
-- > ab = expression a b

-- name: recursive
WITH RECURSIVE r (id, depth) AS (
    SELECT id, 0 FROM tree WHERE parent IS NULL
    UNION ALL
    SELECT tree.id, r.depth + tree.size FROM tree JOIN r ON tree.parent = r.id
) SELECT id, depth FROM r;
-- > id = identity id
-- > depth = expression size
-- > rows = filter parent; join parent id

-- name: exists
SELECT a FROM t WHERE EXISTS (SELECT x FROM u WHERE u.k = t.k AND y = b);
-- > a = identity a
-- > rows = filter u.k t.k y b

-- name: in a query
SELECT a FROM t WHERE b IN (SELECT x FROM u WHERE z = 1);
-- > a = identity a
-- > rows = filter b x z

-- name: several columns in a query
SELECT a FROM t WHERE (b, c) IN (SELECT x, y FROM u);
-- > a = identity a
-- > rows = filter b c x y

-- name: a query for a value
SELECT a, (SELECT max(x) FROM u WHERE u.k = t.k) AS m FROM t;
-- > a = identity a
-- > m = aggregation x; filter u.k t.k

-- name: a query for a value in a condition
SELECT a FROM t WHERE b > (SELECT avg(x) FROM u);
-- > a = identity a
-- > rows = filter b x

-- name: whether there is something, as a value
SELECT a, EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AS found FROM t;
-- > a = identity a
-- > found = filter u.k t.k

-- name: queries within queries that use the outermost
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.x IN (SELECT size FROM tree WHERE id = c));
-- > a = identity a
-- > rows = filter u.k t.k x size id c

-- name: union all
SELECT a, b FROM t UNION ALL SELECT x, y + 1 FROM u WHERE z = 1;
-- > a = identity a x
-- > b = identity b; expression y
-- > rows = filter z

-- name: union
SELECT a AS p FROM t UNION SELECT x FROM u;
-- > p = identity a x
-- > rows = group a x

-- name: intersect
SELECT a FROM t INTERSECT SELECT x FROM u;
-- > a = identity a
-- > rows = filter a x

-- name: except
SELECT a, b FROM t EXCEPT SELECT x, y FROM u;
-- > a = identity a
-- > b = identity b
-- > rows = filter a b x y

-- name: three together, in order
(SELECT a FROM t UNION ALL SELECT x FROM u UNION ALL SELECT size FROM tree) ORDER BY a LIMIT 3;
-- > a = identity a x size
-- > rows = order a x size

-- name: a union below
SELECT sum(v) AS s FROM (SELECT a AS v FROM t UNION ALL SELECT x FROM u);
-- > s = aggregation a x

-- name: stars of the same table
SELECT * FROM t WHERE a = 1 UNION ALL SELECT * FROM t WHERE b = 2;
-- > k = identity t.k
-- > a = identity a
-- > b = identity b
-- > c = identity c
-- > rows = filter a b

-- name: rows that are written out
SELECT v.n, a FROM (VALUES (1, 'x'), (2, 'y')) AS v(n, s) JOIN t ON t.k = v.n;
-- > n =
-- > a = identity a
-- > rows = join t.k

-- name: a table with other names of columns
SELECT p, r FROM t AS v(p, q, r, s) WHERE q = 1;
-- > p = identity t.k
-- > r = identity b
-- > rows = filter a

-- name: windows
SELECT a, row_number() OVER (PARTITION BY b ORDER BY c) AS n, sum(a) OVER (PARTITION BY k) AS s,
       lag(a) OVER (ORDER BY c) AS before FROM t;
-- > a = identity a
-- > n = window b c
-- > s = aggregation a; window t.k
-- > before = expression a; window c

-- name: windows with names
SELECT rank() OVER w AS r, avg(a) OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS m
FROM t WINDOW w AS (PARTITION BY b ORDER BY c);
-- > r = window b c
-- > m = aggregation a; window b c

-- name: the latest of each
SELECT a FROM (SELECT a, row_number() OVER (PARTITION BY k ORDER BY c DESC) AS n FROM t) WHERE n = 1;
-- > a = identity a
-- > rows = filter t.k c

-- name: qualify
SELECT a, b FROM t QUALIFY row_number() OVER (PARTITION BY k ORDER BY c DESC) = 1;
-- > a = identity a
-- > b = identity b
-- > rows = filter t.k c

-- name: a window over sums
SELECT b, sum(sum(a)) OVER (ORDER BY b) AS running FROM t GROUP BY b;
-- > b = identity b
-- > running = aggregation a; window b
-- > rows = group b

-- name: pivot
SELECT * FROM t PIVOT (sum(a) AS s, max(b) AS m FOR c IN (1 AS one, 2 AS two));
-- > k = identity t.k
-- > one_s = aggregation a; conditional c
-- > one_m = aggregation b; conditional c
-- > two_s = aggregation a; conditional c
-- > two_m = aggregation b; conditional c
-- > rows = group t.k

-- name: pivot of a query, one aggregate
SELECT q1, k FROM (SELECT k, a, b FROM t) PIVOT (sum(a) FOR b IN (1 AS q1, 2 AS q2));
-- > q1 = aggregation a; conditional b
-- > k = identity t.k
-- > rows = group t.k

-- name: unpivot
SELECT k, name, value FROM t UNPIVOT (value FOR name IN (a, b AS bb));
-- > k = identity t.k
-- > name =
-- > value = expression a b
-- > rows = unnest a b

-- name: recursive, with columns that move
WITH RECURSIVE r (p, q, s) AS (
    SELECT k, k, k FROM t
    UNION ALL
    SELECT r.q, r.s, u.x FROM r JOIN u ON u.k = r.p
) SELECT p FROM r;
-- > p = identity t.k x
-- > rows = join t.k u.k x

-- name: a window that nobody uses
SELECT a FROM t WINDOW w AS (PARTITION BY b ORDER BY c);
-- > a = identity a
