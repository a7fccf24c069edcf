FROM orders;

FROM orders SELECT id, customer WHERE amount > 6;

FROM orders SELECT region, count(*) AS c GROUP BY region;

SELECT * EXCLUDE (amount, placed) FROM orders;

SELECT * EXCLUDE amount FROM orders WHERE id < 3;

SELECT o.* EXCLUDE (placed), c.tier FROM orders o JOIN customers c USING (customer);

SELECT * REPLACE (amount * 2 AS amount) FROM orders;

SELECT * RENAME (amount AS price) FROM orders;

SELECT * EXCLUDE (placed) REPLACE (upper(customer) AS customer) FROM orders;

SELECT id, amount AS price, price * 2 AS twice FROM orders;

SELECT price: amount, id FROM orders;

SELECT DISTINCT region FROM orders;

SELECT DISTINCT ON (customer) customer, id, amount FROM orders ORDER BY customer, id DESC;

SELECT DISTINCT ON (region) region, id FROM orders ORDER BY region, amount DESC;

SELECT id FROM orders ORDER BY amount DESC LIMIT 3;

SELECT id FROM orders ORDER BY amount LIMIT 2;

SELECT id FROM orders ORDER BY region, id LIMIT 3 OFFSET 2;

SELECT id, region FROM orders ORDER BY region DESC, id LIMIT 4;

SELECT id, region FROM orders ORDER BY region NULLS FIRST, id LIMIT 2;

SELECT region, id FROM orders ORDER BY ALL LIMIT 5;

SELECT region, id FROM orders ORDER BY ALL DESC LIMIT 5;

SELECT id, customer FROM orders ORDER BY 2, 1 DESC LIMIT 4;

SELECT id, row_number() OVER (PARTITION BY customer ORDER BY placed) AS rn FROM orders QUALIFY rn = 1;

SELECT * FROM orders QUALIFY row_number() OVER (PARTITION BY region ORDER BY amount DESC) = 1;

SELECT customer, count(*) AS c FROM orders GROUP BY customer QUALIFY rank() OVER (ORDER BY count(*) DESC) = 1;

WITH big AS (SELECT * FROM orders WHERE amount > 6), two AS (FROM big) SELECT id FROM two WHERE region = 'eu';

WITH t(a, b) AS (SELECT id, amount FROM orders) SELECT a, b FROM t WHERE b IS NULL;

WITH c AS MATERIALIZED (SELECT 1 AS one) SELECT one FROM c;

SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS t(x, y);

VALUES (1, 'x'), (2, 'y');

SELECT (SELECT max(amount) FROM orders) AS most, id FROM orders WHERE id = 1;

SELECT id FROM orders WHERE customer IN (SELECT customer FROM customers WHERE tier = 'gold');

SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.customer = o.customer);

SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.customer = o.customer);

SELECT id FROM orders WHERE id IN (1, 2) UNION ALL SELECT id FROM orders WHERE id < 3;

SELECT region FROM orders UNION SELECT tier FROM customers;

SELECT customer FROM orders EXCEPT SELECT customer FROM customers;

SELECT customer FROM orders INTERSECT SELECT customer FROM customers;

SELECT customer FROM orders EXCEPT ALL SELECT customer FROM customers;

(SELECT id FROM orders WHERE id < 3) UNION ALL (SELECT id FROM orders WHERE id > 6);

SELECT id AS x FROM orders WHERE id < 3 UNION ALL SELECT 9 ORDER BY x DESC LIMIT 2;

SELECT id FROM orders WHERE id = 1 UNION ALL SELECT id FROM orders WHERE id = 2 UNION ALL SELECT id FROM orders WHERE id = 3;

SELECT x.a, x.b.c AS c FROM (SELECT {'a': 1, 'b': {'c': 2}} AS x) AS t;

SELECT "id" AS "my id", "customer" AS "select" FROM orders WHERE "id" = 1;

SELECT CASE WHEN amount IS NULL THEN 'unknown' ELSE 'known' END AS known, count(*) AS c FROM orders GROUP BY known;

SELECT regexp_matches(u, 'e$') AS a, regexp_matches(u, '^line.break$') AS b FROM (SELECT 'line
break' AS u);

SELECT 1 AS "one two", 2 AS tWo;


SELECT -id AS id, id * 2 AS d FROM orders;

SELECT -id AS id FROM orders ORDER BY id LIMIT 1;

SELECT region, max(id) AS id FROM orders GROUP BY region HAVING id > 3;

SELECT 'x' AS a UNION ALL SELECT customer FROM orders;

SELECT id, amount FROM orders WHERE amount = (SELECT max(o.amount) FROM orders o WHERE o.region = orders.region);

SELECT t.id, u.x FROM lists t LEFT JOIN unnest(t.l) AS u(x) ON true;

SELECT DISTINCT ON (email) lower(email) AS email, id FROM (VALUES ('A@x', 1), ('a@x', 2)) AS users(email, id) ORDER BY email, id DESC;

SELECT DISTINCT ON (m, k) lower(email) AS m, id % 2 AS k, email FROM (VALUES ('A@x', 1), ('a@x', 3)) AS users(email, id) ORDER BY m, k, email DESC;

SELECT DISTINCT ON (users.email) lower(email) AS email, id FROM (VALUES ('A@x', 1), ('a@x', 2)) AS users(email, id) ORDER BY email, id;

WITH t AS (SELECT * REPLACE (amount * 2 AS amount) FROM orders) SELECT id, amount FROM t UNION ALL SELECT id, amount FROM orders;

SELECT * REPLACE (-id AS id) FROM orders ORDER BY id LIMIT 1;

SELECT * REPLACE (-id AS id) FROM (SELECT id, qty FROM orders UNION ALL SELECT id, qty FROM orders);
