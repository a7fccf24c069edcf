-- table a (k, x, p)
-- table b (k, y, q)
-- table c (k, z)

-- name: inner
SELECT a.x, b.y FROM a JOIN b ON a.k = b.k;
-- > x = identity x
-- > y = identity y
-- > rows = join a.k b.k

-- name: left, with a condition of one side
SELECT x, coalesce(y, 0) AS y FROM a LEFT JOIN b ON a.k = b.k AND q > 1 WHERE p = 2;
-- > x = identity x
-- > y = expression y
-- > rows = join a.k b.k q; filter p

-- name: cross
SELECT x, y FROM a CROSS JOIN b;
-- > x = identity x
-- > y = identity y

-- name: semi
SELECT x FROM a LEFT SEMI JOIN b ON a.k = b.k AND b.q = a.p;
-- > x = identity x
-- > rows = join a.k b.k q p

-- name: anti, by name
SELECT * FROM a LEFT ANTI JOIN b USING (k);
-- > k = identity a.k
-- > x = identity x
-- > p = identity p
-- > rows = join a.k b.k

-- name: using
SELECT * FROM a JOIN b USING (k);
-- > k = identity a.k
-- > x = identity x
-- > p = identity p
-- > y = identity y
-- > q = identity q
-- > rows = join a.k b.k

-- name: using, of the right
SELECT k, x FROM a RIGHT JOIN b USING (k);
-- > k = identity b.k
-- > x = identity x
-- > rows = join a.k b.k

-- name: using, of both
SELECT k, a.k AS ak FROM a FULL JOIN b USING (k);
-- > k = expression a.k b.k
-- > ak = identity a.k
-- > rows = join a.k b.k

-- name: three by one name
SELECT k, x, y, z FROM a JOIN b USING (k) JOIN c USING (k);
-- > k = identity a.k
-- > x = identity x
-- > y = identity y
-- > z = identity z
-- > rows = join a.k b.k c.k

-- name: natural
SELECT * FROM a NATURAL JOIN c;
-- > k = identity a.k
-- > x = identity x
-- > p = identity p
-- > z = identity z
-- > rows = join a.k c.k

-- name: a table twice
SELECT l.x, r.x AS other FROM a AS l JOIN a AS r ON l.k = r.p;
-- > x = identity x
-- > other = identity x
-- > rows = join a.k p

-- name: in brackets
SELECT a.x, z FROM a LEFT JOIN (b JOIN c ON b.k = c.k) ON a.k = b.q;
-- > x = identity x
-- > z = identity z
-- > rows = join a.k b.k c.k q

-- name: commas and a filter
SELECT x, y, z FROM a, b, c WHERE a.k = b.k AND b.q = c.k;
-- > x = identity x
-- > y = identity y
-- > z = identity z
-- > rows = filter a.k b.k q c.k

-- name: a join by an expression
SELECT x FROM a JOIN b ON lower(a.k) = b.k || 'x';
-- > x = identity x
-- > rows = join a.k b.k

-- name: lateral query
SELECT x, l.m FROM a JOIN LATERAL (SELECT max(y) AS m FROM b WHERE b.k = a.k) AS l;
-- > x = identity x
-- > m = aggregation y
-- > rows = filter a.k b.k

-- name: lateral query that computes
SELECT x, w FROM a, LATERAL (SELECT x + p AS w);
-- > x = identity x
-- > w = expression x p

-- name: asof
SELECT a.x, b.y FROM a ASOF JOIN b ON a.k = b.k AND a.p >= b.q;
-- > x = identity x
-- > y = identity y
-- > rows = join a.k b.k p q

-- name: asof, left, all columns
SELECT * EXCEPT (k) FROM a ASOF LEFT JOIN b AS r ON a.k = r.k AND a.p >= r.q WHERE r.y = 1;
-- > x = identity x
-- > p = identity p
-- > y = identity y
-- > q = identity q
-- > rows = join a.k b.k p q; filter y

-- name: asof by names, with a query
SELECT l.x, d.v FROM a AS l ASOF JOIN (SELECT k, y + 1 AS v FROM b WHERE q = 1) AS d USING (k);
-- > x = identity x
-- > v = expression y
-- > rows = join a.k b.k; filter q

-- name: asof with what is computed
SELECT o.x, d.z FROM a AS o ASOF JOIN c AS d ON lower(o.x) = d.z AND o.p > to_date(d.k);
-- > x = identity x
-- > z = identity z
-- > rows = join x z p c.k
