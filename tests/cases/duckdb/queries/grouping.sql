SELECT region, sum(amount) AS total FROM orders GROUP BY region;

SELECT region, customer, sum(amount) AS total FROM orders GROUP BY ALL;

SELECT date_trunc('day', placed) AS day, count(*) AS c, sum(qty) AS q FROM orders GROUP BY ALL;

SELECT placed::DATE AS day, sum(amount) AS total FROM orders GROUP BY day;

SELECT region, count(*) AS c FROM orders GROUP BY 1 HAVING count(*) > 1;

SELECT region, count(*) AS c FROM orders GROUP BY region HAVING c > 2;

SELECT count(*) AS a, count(amount) AS b, count(DISTINCT customer) AS c, count() AS d FROM orders;

SELECT sum(qty) AS a, sum(amount) AS b, avg(qty) AS c, avg(amount) AS d, min(amount) AS e, max(placed) AS f FROM orders;

SELECT avg(x) AS a, sum(y) AS b, max(x) AS c, min(x) AS d FROM v;

SELECT avg(i) AS a, avg(g) AS b, avg(n) AS c, avg(m) AS d FROM v WHERE id <> 5;

SELECT sum(i) AS a, sum(n) AS b, sum(m) AS c FROM v;

SELECT avg(id) AS a, sum(id) / count(*) AS b, sum(amount) / sum(qty) AS c FROM orders;

SELECT avg(DISTINCT id % 3) AS a, sum(DISTINCT qty) AS b FROM orders;

SELECT sum(amount) FILTER (region = 'eu') AS eu, sum(amount) FILTER (WHERE region = 'us') AS us, count(*) FILTER (region IS NULL) AS none FROM orders;

SELECT avg(amount) FILTER (region = 'eu') AS eu, avg(amount) FILTER (region = 'xx') AS none FROM orders;

SELECT list(id ORDER BY id) AS ids FROM orders;

SELECT region, list(id ORDER BY amount DESC) AS ids FROM orders GROUP BY region;

SELECT region, array_agg(qty ORDER BY id) AS q FROM orders GROUP BY region;

SELECT list(amount ORDER BY region NULLS FIRST, id DESC) AS a FROM orders;

SELECT list(id ORDER BY id) FILTER (amount > 1000) AS none FROM orders;

SELECT list_sort(list(id)) AS ids FROM orders WHERE id > 100;

SELECT string_agg(customer, ',' ORDER BY id) AS names FROM orders;

SELECT region, string_agg(customer, '+' ORDER BY customer DESC, id) AS names FROM orders GROUP BY region;

SELECT string_agg(DISTINCT customer, ',' ORDER BY customer) AS names FROM orders;

SELECT string_agg(region, '-' ORDER BY id) FILTER (amount > 6) AS r FROM orders;

SELECT arg_max(customer, amount) AS a, arg_min(customer, amount) AS b, max_by(region, id) AS c FROM orders;

SELECT arg_max(region, id) AS a FROM orders WHERE id <= 4;

SELECT bool_and(amount > 0) AS a, bool_or(amount > 50) AS b, count_if(amount > 6) AS c FROM orders;

SELECT any_value(region) AS r FROM orders WHERE customer = 'cat' OR id = 6;

SELECT any_value(region) AS r FROM orders WHERE customer = 'cat';

SELECT max(customer) AS a, min(region) AS b FROM orders;

SELECT sum(amount) AS a, avg(amount) AS b, count(*) AS c, max(id) AS d, list(id) AS e, string_agg(customer, ',') AS f FROM orders WHERE id > 100;

SELECT region, customer, sum(amount) AS s FROM orders GROUP BY ROLLUP (region, customer);

SELECT region, customer, count(*) AS c FROM orders GROUP BY CUBE (region, customer);

SELECT region, customer, count(*) AS c FROM orders GROUP BY GROUPING SETS ((region), (customer), ());

SELECT qty % 2 AS odd, count(*) AS c FROM orders GROUP BY qty % 2;

SELECT amount / 2 AS half, count(*) AS c FROM orders GROUP BY half;

SELECT upper(customer) || '-' || coalesce(region, '?') AS k, sum(qty) // 2 AS q FROM orders GROUP BY ALL;

SELECT max(amount) - min(amount) AS spread FROM orders;

SELECT sum(amount * qty) AS a, sum(qty * 1.5) AS b FROM orders;

SELECT round(avg(amount), 2) AS a FROM orders;

SELECT count(*) AS c FROM orders WHERE false;

SELECT max(len(customer)) AS a FROM orders;

SELECT count_star() AS a, countif(amount > 6) AS b, mean(qty) AS c, mean(amount) AS d FROM orders;

SELECT argmax(customer, id) AS a, min_by(customer, amount) AS b, argmin(region, amount) AS c FROM orders;

SELECT group_concat(customer, '/' ORDER BY id) AS a, listagg(customer, ';' ORDER BY id DESC) AS b FROM orders;

SELECT group_concat(customer ORDER BY id) AS a, string_agg(customer ORDER BY id) AS b FROM orders;

SELECT qty + 1 AS more,
    amount * qty AS value,
    count(*) AS c
FROM orders
GROUP BY qty + 1,
    amount * qty
HAVING
    qty + 1 > 2;

SELECT coalesce(region, 'none') AS r,
    round(amount, 1) AS a
FROM orders
GROUP BY
    coalesce(region, 'none'), round(amount, 1)
ORDER BY
    1, 2;

SELECT sum(n) / count(*) AS a, sum(m) / sum(i) AS b FROM v WHERE id <> 5;

SELECT n / 7 AS a, count(*) AS c FROM v GROUP BY n / 7;

SELECT customer, array_to_string(list_sort(list(region)), '+') AS a FROM orders GROUP BY customer;

SELECT customer, (list(region ORDER BY id))[1] AS a, list_transform(list({'id': id, 'a': amount} ORDER BY id), e -> e.a) AS b FROM orders GROUP BY customer;

SELECT region, count(*) AS c, sum(qty) AS q FROM orders WHERE false GROUP BY ROLLUP (region) ORDER BY region;

SELECT upper(region) AS r, coalesce(region, 'all') AS a, count(*) AS c, list(qty) AS l FROM orders WHERE qty > 1000 GROUP BY CUBE (region) HAVING count(*) < 5;

SELECT customer, region, max(region) AS m, count(DISTINCT region) AS d FROM orders WHERE false GROUP BY GROUPING SETS ((region, customer), ());

SELECT r, c FROM (SELECT upper(region) AS r, count(*) AS c FROM orders GROUP BY ROLLUP (r)) WHERE c > 0 ORDER BY c DESC, r LIMIT 2;

SELECT region AS r, avg(qty) AS a FROM orders WHERE false GROUP BY ROLLUP (1);

SELECT region, customer, sum(qty) AS q FROM orders WHERE false GROUP BY GROUPING SETS ((region), (region, customer));

WITH none AS (SELECT * FROM orders WHERE false) SELECT region, count(*) AS c FROM none GROUP BY CUBE (region) UNION ALL SELECT 'all', count(*) FROM orders;
