SELECT d AS a FROM v UNION ALL SELECT ts FROM v;

SELECT ts AS a FROM v UNION ALL SELECT tz FROM v;

SELECT d AS a FROM v UNION ALL SELECT e FROM v;

SELECT i AS a FROM v UNION ALL SELECT x FROM v;

SELECT i AS a FROM v UNION ALL SELECT n FROM v;

SELECT g AS a FROM v UNION ALL SELECT x FROM v;

SELECT n AS a FROM v UNION ALL SELECT x FROM v;

SELECT coalesce(d, ts) AS a FROM v;

SELECT coalesce(g, x) AS a FROM v;

SELECT coalesce(n, x) AS a FROM v;

SELECT greatest(g, x) AS a FROM v;

SELECT g = x AS a FROM v;

SELECT g > x AS a, g + x AS b, g * y AS c FROM v;

SELECT d = ts AS a, ts = tz AS b, d < tz AS c FROM v;

SELECT [i, x] AS a FROM v;

SELECT [d, ts] AS a FROM v;

SELECT f < true AS a, s > 'a' AS b FROM v;

SELECT sum(i) / 2 AS a, sum(i) // 2 AS b, sum(i) % 7 AS c, avg(i) * 2 AS d FROM v WHERE id <> 5;

SELECT id, i::VARCHAR || ':' || j AS a FROM v;

SELECT count(*) AS a FROM v WHERE NOT (i > 5);

SELECT year(ts) * 100 + month(ts) AS a, count(*) AS c FROM v GROUP BY ALL;

SELECT (SELECT count(*) FROM orders o WHERE o.customer = c.customer) AS a, tier FROM customers c;

SELECT customer, count(DISTINCT region) FILTER (amount > 1) AS a FROM orders GROUP BY customer;

SELECT i IS NULL AS a, count(*) AS c, sum(coalesce(i, 0)) AS s FROM v WHERE id <> 5 GROUP BY i IS NULL;

SELECT id, sum(amount) OVER (PARTITION BY region ORDER BY id) / sum(amount) OVER (PARTITION BY region) AS share FROM orders;

SELECT string_agg(DISTINCT region, ',') AS a FROM orders WHERE region = 'eu';

SELECT {'a': i, 'l': l}.l[1] AS a FROM v;

SELECT unnest([1,2,3]) AS a, 'x' AS b;

SELECT a.id FROM (SELECT id FROM orders) AS a WHERE a.id > 3 ORDER BY a.id;

SELECT MAP {'a': i} AS m FROM v WHERE id < 3;

SELECT list_transform([1, 2], x -> x / 2) AS a;

SELECT list_transform(ls, x -> upper(x) || '!') AS a FROM v;

SELECT x FROM (SELECT unnest(l) AS x FROM v) WHERE x > 2;

SELECT id FROM orders ORDER BY region NULLS FIRST, amount DESC NULLS LAST, id LIMIT 3;

SELECT * FROM range(3) AS a(x), range(2) AS b(y);

SELECT min(placed) AS a, max(placed)::DATE AS b, max(placed) > min(placed) AS c FROM orders;

SELECT f AND NULL AS a, f OR NULL AS b, NOT NULL AS c FROM v;

SELECT i::DOUBLE / 0 AS a, 0.0 / 0 AS b, -i / 0.0 AS c FROM v;

SELECT round(n / 3, 2) AS a, round(sum_ / 7, 3) AS b FROM (SELECT n, sum(n) OVER () AS sum_ FROM v WHERE id <> 5);

SELECT 7 // 2 AS a, -7 // 2 AS b, 7 // -2 AS c, -7 % 2 AS d, 7 % -2 AS e;

SELECT 0.1 * 3 AS a, 1.5 * 1.5 AS b, 10 / 4 AS c, 10 / 4.0 AS d, 2 / 3 * 3 AS e, 1e308 * 10 AS f;

SELECT id, customer IN (SELECT customer FROM customers) AS known, region NOT IN (SELECT region FROM orders WHERE id < 3) AS other FROM orders;

SELECT id FROM orders WHERE NOT (region IN (SELECT region FROM orders WHERE id = 1) AND id > 2);

SELECT customer IN (SELECT customer FROM customers WHERE false) AS known, count(*) AS c FROM orders GROUP BY ALL;

SELECT sum(i > 5) AS a, sum(f OR i > 0) AS b, sum(DISTINCT i > 5) AS c FROM v;

SELECT list_transform([{'k': id}], e -> e.k) AS a, [q FOR q IN [id, NULL] IF q IS NOT NULL] AS b FROM orders;

SELECT id FROM orders EXCEPT SELECT 1 AS id UNION ALL SELECT 2 AS id INTERSECT SELECT id FROM orders;

SELECT i, x::DECIMAL(10,2) AS a, round(x::DOUBLE, 2) AS b, (x * 3)::DECIMAL(12,3) AS c, x::INTEGER AS d FROM (SELECT i, (i * 2 + 1) / 200 AS x FROM range(400) AS t(i));

SELECT i, j, date_diff('week', DATE '1969-12-10' + i::INTEGER, DATE '1969-12-15' + j::INTEGER) AS a FROM range(20) AS t(i), range(20) AS u(j);

SELECT o.customer AS a, c.customer AS b, customer FROM orders o FULL JOIN customers c USING (customer);

SELECT id, (SELECT tier FROM customers c WHERE c.customer = o.customer ORDER BY since DESC LIMIT 1) AS tier FROM orders o;

SELECT id, EXISTS (SELECT 1 FROM unnest(v.l) AS u(x) WHERE x > 2) AS a FROM v;

SELECT sum(qty) OVER (ORDER BY amount NULLS FIRST RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) AS a, id FROM orders;

SELECT id, lag(placed) OVER (PARTITION BY customer ORDER BY placed) AS prev, date_diff('hour', prev, placed) AS h FROM orders;

WITH a AS (SELECT 1 AS x), b AS (WITH a AS (SELECT 2 AS x) SELECT x FROM a) SELECT a.x AS p, b.x AS q FROM a, b;

SELECT max(id) AS id, customer FROM orders GROUP BY customer HAVING max(id) > 4;
