SELECT id, row_number() OVER (ORDER BY id) AS a, rank() OVER (ORDER BY customer) AS b, dense_rank() OVER (ORDER BY customer) AS c FROM orders;

SELECT id, row_number() OVER (PARTITION BY region ORDER BY amount) AS a FROM orders;

SELECT id, rank() OVER (ORDER BY amount DESC) AS a FROM orders;

SELECT id, lag(amount) OVER (ORDER BY id) AS a, lead(amount) OVER (ORDER BY id) AS b, lag(id, 2, -1) OVER (ORDER BY id) AS c FROM orders;

SELECT id, first_value(customer) OVER (PARTITION BY region ORDER BY id) AS a, last_value(customer) OVER (PARTITION BY region ORDER BY id) AS b FROM orders;

SELECT id, sum(amount) OVER (ORDER BY id) AS running FROM orders;

SELECT id, sum(qty) OVER (PARTITION BY customer ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS two FROM orders;

SELECT id, sum(qty) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS every FROM orders;

SELECT id, count(*) OVER () AS c, avg(qty) OVER (PARTITION BY region) AS a FROM orders;

SELECT id, max(amount) OVER w AS a, min(amount) OVER w AS b FROM orders WINDOW w AS (PARTITION BY region ORDER BY id);

SELECT id, ntile(3) OVER (ORDER BY id) AS a, percent_rank() OVER (ORDER BY id) AS b, cume_dist() OVER (ORDER BY id) AS c FROM orders;

SELECT id, nth_value(customer, 2) OVER (ORDER BY id) AS a FROM orders;

SELECT id, sum(qty) OVER (ORDER BY placed::DATE RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) AS a FROM orders WHERE placed IS NOT NULL;

SELECT region, sum(sum(qty)) OVER (ORDER BY region) AS a FROM orders GROUP BY region;

SELECT id, amount - lag(amount) OVER (ORDER BY id) AS change FROM orders;

SELECT id, list(qty) OVER (ORDER BY id) AS a FROM orders;

SELECT id, row_number() OVER (ORDER BY id) AS rn FROM (VALUES (1, 5), (2, 1), (3, 5)) AS t(id, rn) QUALIFY rn = 1;

SELECT id, row_number() OVER (ORDER BY id) AS k FROM orders QUALIFY k IN (SELECT k FROM (VALUES (2), (3)) AS w(k));

SELECT id, row_number() OVER (ORDER BY id) AS k FROM orders QUALIFY id IN (SELECT k FROM (VALUES (2), (3)) AS w(k)) AND k < 3;

SELECT customer, count(*) AS c, rank() OVER (ORDER BY count(*) DESC) AS r FROM orders GROUP BY customer QUALIFY r = 1 AND c > 1;

SELECT id, qty * 2 AS qty FROM orders QUALIFY row_number() OVER (ORDER BY qty DESC) = 1 AND qty < 10;

SELECT id, arg_max(customer, amount) OVER (PARTITION BY region) AS a, arg_min(region, amount) OVER (ORDER BY id) AS b FROM orders;

SELECT id, lag(amount, 1, qty) OVER (ORDER BY id) AS a, lag(amount, 1, 0.125) OVER (ORDER BY id) AS b, lead(customer, 1, region) OVER (ORDER BY id) AS c, lag(qty, 1, id) OVER (ORDER BY id) AS d FROM orders;
