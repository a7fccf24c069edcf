SELECT o.id, c.tier FROM orders o JOIN customers c ON o.customer = c.customer;

SELECT o.id, c.tier FROM orders o LEFT JOIN customers c ON o.customer = c.customer;

SELECT o.id, c.tier FROM orders o RIGHT JOIN customers c USING (customer);

SELECT customer, o.id, c.tier FROM orders o FULL OUTER JOIN customers c USING (customer);

SELECT customer, tier FROM orders RIGHT JOIN customers USING (customer);

SELECT * FROM orders JOIN customers USING (customer) WHERE id < 4;

SELECT o.id, c.tier FROM orders o, customers c WHERE o.customer = c.customer AND c.tier = 'gold';

SELECT o.id, n.x FROM orders o CROSS JOIN (VALUES (1), (2)) AS n(x) WHERE o.id < 3;

SELECT id FROM orders SEMI JOIN customers USING (customer);

SELECT id FROM orders ANTI JOIN customers USING (customer);

SELECT id FROM orders o SEMI JOIN customers c ON o.customer = c.customer AND c.since < o.placed;

SELECT * FROM (SELECT id, customer FROM orders) NATURAL JOIN (SELECT customer, tier FROM customers);

SELECT o.id, c.tier FROM orders o ASOF JOIN customers c ON o.customer = c.customer AND o.placed >= c.since;

SELECT o.id, c.tier FROM orders o ASOF LEFT JOIN customers c ON o.customer = c.customer AND o.placed >= c.since;

SELECT o.id, l.x FROM orders o, LATERAL (SELECT o.id * 2 AS x) AS l WHERE o.id < 3;

SELECT t.id, u.x FROM lists t, unnest(t.l) AS u(x);

SELECT id, unnest(l) AS x FROM lists;

SELECT x FROM unnest([3, 1, 2]) AS u(x);

SELECT id, x * 2 AS twice FROM lists CROSS JOIN unnest(l) AS u(x) WHERE x IS NOT NULL;

SELECT a.id AS a, b.id AS b FROM orders a JOIN orders b ON a.customer = b.customer AND a.id < b.id;

SELECT i FROM range(5) AS t(i);

SELECT range AS r FROM range(2, 4);

SELECT i FROM range(0, 10, 4) AS t(i);

SELECT i FROM generate_series(1, 3) AS t(i);

SELECT i FROM generate_series(10, 1, -4) AS t(i);

SELECT day FROM generate_series(DATE '2024-01-01', DATE '2024-01-03', INTERVAL 1 DAY) AS t(day);

SELECT placed FROM range(TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP '2024-01-02 00:00:00', INTERVAL 8 HOUR) AS t(placed);

SELECT day::DATE AS day, count(id) AS c FROM generate_series(DATE '2024-01-01', DATE '2024-01-04', INTERVAL 1 DAY) AS t(day) LEFT JOIN orders ON placed::DATE = day::DATE GROUP BY ALL;

UNPIVOT monthly ON jan, feb, mar INTO NAME month VALUE amount;

SELECT id, month, amount FROM (UNPIVOT monthly ON jan, feb, mar INTO NAME month VALUE amount) WHERE amount > 1;

SELECT * FROM monthly UNPIVOT (amount FOR month IN (jan, feb, mar));

PIVOT orders ON region IN ('eu', 'us') USING sum(qty) GROUP BY customer;

SELECT * FROM (SELECT customer, region, qty FROM orders) PIVOT (sum(qty) FOR region IN ('eu', 'us'));

PIVOT orders ON region IN ('eu', 'us') USING count(qty) GROUP BY customer;

PIVOT orders ON qty IN (1, 2) USING count(id) GROUP BY customer, region;

SELECT d FROM generate_series(DATE '2024-01-28', DATE '2024-05-31', INTERVAL 1 MONTH) AS t(d);

SELECT d FROM generate_series((SELECT min(d) FROM v), DATE '2024-05-31', INTERVAL 10 YEAR) AS t(d);

SELECT d FROM generate_series(TIMESTAMP '2024-06-01', TIMESTAMP '2024-05-31', INTERVAL 1 DAY) AS t(d);

SELECT d FROM range(TIMESTAMP '2024-06-01', TIMESTAMP '2024-05-31', INTERVAL '-12 hours') AS t(d);

SELECT d FROM range(TIMESTAMP '2024-05-01', TIMESTAMP '2024-05-31', INTERVAL '-12 hours') AS t(d);

SELECT d FROM range(TIMESTAMPTZ '2024-06-01 00:00:00+00', TIMESTAMPTZ '2024-06-02 00:00:00+00', INTERVAL 12 HOUR) AS t(d);

SELECT d FROM generate_series(TIMESTAMP '2024-06-01', NULL::TIMESTAMP, INTERVAL 1 DAY) AS t(d);

SELECT i FROM range(5, 1) AS t(i);

SELECT i FROM generate_series(1, 5, -1) AS t(i);

SELECT x, row_number() OVER (ORDER BY x) AS r FROM (SELECT unnest(l) AS x FROM lists WHERE id = 1);

SELECT region, unnest(list(qty ORDER BY id)) AS x, count(*) AS c FROM orders GROUP BY region;

SELECT id, x FROM lists LEFT JOIN LATERAL unnest(l) AS u(x) ON true;
