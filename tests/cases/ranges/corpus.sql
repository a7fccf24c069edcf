-- name: filter by equality
SELECT id, amount FROM orders WHERE day = '{partition}';
-- name: filter by a cast
SELECT id, created_at FROM orders WHERE created_at::date = '{partition}';
-- name: filter by a range
SELECT id, amount FROM orders
WHERE created_at >= '{partition}' AND created_at < date_add('{partition}', 1);
-- name: between
SELECT id FROM orders WHERE created_at::date BETWEEN '{partition}' AND '{partition}';
-- name: typed literal
SELECT id FROM orders WHERE to_date(created_at) = DATE '{partition}';
-- name: key in the projection
SELECT '{partition}' AS d, id, date_add('{partition}', 1) AS next_day FROM orders WHERE day = '{partition}';
-- name: key only in the projection
SELECT id, name, '{partition}' AS d FROM cust;
-- name: nothing read
SELECT '{partition}' AS d, 1 AS one;
-- name: star
SELECT * FROM orders WHERE day = '{partition}';
-- name: star except
SELECT * EXCEPT (amount, tags) FROM orders WHERE day = '{partition}';
-- name: star of one of two
SELECT o.*, c.tier FROM orders o JOIN cust c ON o.cust = c.id WHERE o.day = '{partition}';
-- name: sums by group
SELECT region, count(*) AS n, sum(amount) AS total FROM orders WHERE day = '{partition}' GROUP BY region;
-- name: group by position
SELECT region, status, count(*) AS n FROM orders WHERE day = '{partition}' GROUP BY 1, 2;
-- name: group by all
SELECT region, max(amount) AS m FROM orders WHERE day = '{partition}' GROUP BY ALL;
-- name: having
SELECT cust, sum(amount) AS total FROM orders WHERE day = '{partition}' GROUP BY cust HAVING count(*) > 1;
-- name: aggregate over nothing
SELECT count(*) AS n, sum(amount) AS total, max(status) AS s FROM orders WHERE day = '{partition}';
-- name: aggregate over nothing with a default
SELECT coalesce(sum(amount), 0) + count(*) AS n, '{partition}' AS d FROM orders WHERE day = '{partition}';
-- name: aggregate that mixes key and columns
SELECT sum(CASE WHEN day = '{partition}' THEN amount ELSE 0 END) AS today, count(*) AS so_far
FROM orders WHERE day <= '{partition}';
-- name: grouped aggregate that mixes key and columns
SELECT region, count_if(day = '{partition}') AS today, count(*) AS so_far
FROM orders WHERE day <= '{partition}' GROUP BY region;
-- name: aggregate with a filter and the key
SELECT count(*) FILTER (WHERE day = '{partition}') AS today,
       collect_set(region) FILTER (WHERE status = 'paid') AS regions FROM orders WHERE day <= '{partition}';
-- name: distinct
SELECT DISTINCT region, status FROM orders WHERE day = '{partition}';
-- name: count distinct
SELECT count(DISTINCT cust) AS c, count(DISTINCT region, status) AS rs FROM orders WHERE day = '{partition}';
-- name: inner join, key on both sides
SELECT o.id, p.kind FROM orders o JOIN pays p ON o.id = p.order_id
WHERE o.day = '{partition}' AND p.day = '{partition}';
-- name: join, key in the condition
SELECT o.id, p.kind FROM orders o JOIN pays p ON o.id = p.order_id AND p.day = '{partition}' WHERE o.day = '{partition}';
-- name: left join, key on the left
SELECT o.id, c.name FROM orders o LEFT JOIN cust c ON o.cust = c.id WHERE o.day = '{partition}';
-- name: left join, key on the right
SELECT c.id, c.name, o.id AS o FROM cust c LEFT JOIN orders o ON o.cust = c.id AND o.day = '{partition}';
-- name: left join of a subquery with the key
SELECT c.id, coalesce(t.total, 0) AS total
FROM cust c LEFT JOIN (SELECT cust, sum(amount) AS total FROM orders WHERE day = '{partition}' GROUP BY cust) t
ON t.cust = c.id;
-- name: left join using
SELECT id, name, n FROM cust LEFT JOIN (SELECT cust AS id, count(*) AS n FROM orders WHERE day = '{partition}' GROUP BY cust) USING (id);
-- name: star over using
SELECT * FROM cust JOIN (SELECT cust AS id, count(*) AS n FROM orders WHERE day = '{partition}' GROUP BY cust) x USING (id);
-- name: right join, key on the left
SELECT o.id, c.name FROM orders o RIGHT JOIN cust c ON o.cust = c.id AND o.day = '{partition}';
-- name: right join of a subquery with the key
SELECT c.name, t.* FROM cust c RIGHT JOIN (SELECT * FROM orders WHERE day = '{partition}') t ON t.cust = c.id;
-- name: full join
SELECT o.id, c.id AS cid FROM (SELECT * FROM orders WHERE day = '{partition}') o
FULL OUTER JOIN (SELECT * FROM cust WHERE tier = 'gold') c ON o.cust = c.id;
-- name: full join, key on both sides
SELECT coalesce(a.cust, b.cust) AS cust, a.amount AS a, b.kind AS b
FROM (SELECT cust, amount, id FROM orders WHERE day = '{partition}') a
FULL JOIN (SELECT order_id, kind, 0 AS cust FROM pays WHERE day = '{partition}') b ON a.id = b.order_id;
-- name: semi join
SELECT o.id FROM orders o LEFT SEMI JOIN pays p ON o.id = p.order_id AND p.day = '{partition}' WHERE o.day = '{partition}';
-- name: anti join
SELECT o.id FROM orders o LEFT ANTI JOIN pays p ON o.id = p.order_id AND p.day = '{partition}' WHERE o.day = '{partition}';
-- name: anti join, key on the right only
SELECT c.id FROM cust c ANTI JOIN (SELECT cust FROM orders WHERE day = '{partition}') t ON t.cust = c.id;
-- name: semi join of a subquery
SELECT c.* FROM cust c SEMI JOIN (SELECT cust FROM orders WHERE day = '{partition}') t ON t.cust = c.id;
-- name: natural join
SELECT * FROM cust NATURAL JOIN (SELECT region, count(*) AS n FROM orders WHERE day = '{partition}' GROUP BY region) r;
-- name: cross join
SELECT o.id, r.rate FROM orders o CROSS JOIN (SELECT max(amount) AS rate FROM orders WHERE day = '{partition}') r WHERE o.day = '{partition}';
-- name: comma join
SELECT o.id, c.name FROM orders o, cust c WHERE o.cust = c.id AND o.day = '{partition}';
-- name: comma join with a subquery
SELECT o.id, t.m FROM orders o, (SELECT max(amount) AS m FROM orders WHERE day = '{partition}') t WHERE o.day = '{partition}' AND o.amount = t.m;
-- name: three joins
SELECT o.id, c.name, p.kind FROM orders o JOIN cust c ON o.cust = c.id LEFT JOIN pays p ON p.order_id = o.id AND p.day = '{partition}' WHERE o.day = '{partition}';
-- name: self join with the day before
SELECT a.cust, a.amount - b.amount AS diff
FROM orders a JOIN orders b ON a.cust = b.cust AND b.day = CAST(date_sub('{partition}', 1) AS STRING)
WHERE a.day = '{partition}';
-- name: cte
WITH t AS (SELECT * FROM orders WHERE day = '{partition}')
SELECT region, count(*) AS n FROM t GROUP BY region;
-- name: cte used twice
WITH t AS (SELECT * FROM orders WHERE day = '{partition}'),
     best AS (SELECT max(amount) AS m FROM t)
SELECT t.id, t.amount, best.m FROM t CROSS JOIN best WHERE t.amount = best.m;
-- name: cte in a subquery
WITH t AS (SELECT cust FROM orders WHERE day = '{partition}')
SELECT id, name FROM cust WHERE id IN (SELECT cust FROM t);
-- name: cte left joined
WITH t AS (SELECT cust, sum(amount) AS total FROM orders WHERE day = '{partition}' GROUP BY cust)
SELECT c.id, t.total FROM cust c LEFT JOIN t ON t.cust = c.id;
-- name: cte with column names
WITH t(a, b) AS (SELECT id, amount FROM orders WHERE day = '{partition}') SELECT a, b FROM t;
-- name: window
SELECT id, row_number() OVER (PARTITION BY region ORDER BY amount DESC, id) AS rank FROM orders WHERE day = '{partition}';
-- name: window over all
SELECT id, sum(amount) OVER () AS total, lag(id) OVER (ORDER BY id) AS before FROM orders WHERE day = '{partition}';
-- name: named window
SELECT id, sum(amount) OVER w AS running FROM orders WHERE day = '{partition}' WINDOW w AS (PARTITION BY region ORDER BY id);
-- name: window and filter
SELECT id, region FROM (SELECT *, row_number() OVER (PARTITION BY cust ORDER BY created_at DESC, id) AS n FROM orders WHERE day = '{partition}') WHERE n = 1;
-- name: union all
SELECT id, 'o' AS kind FROM orders WHERE day = '{partition}' UNION ALL SELECT order_id, kind FROM pays WHERE day = '{partition}';
-- name: union with something without the key
SELECT cust AS id FROM orders WHERE day = '{partition}' UNION SELECT id FROM cust WHERE tier = 'gold';
-- name: except
SELECT id FROM cust EXCEPT SELECT cust FROM orders WHERE day = '{partition}';
-- name: intersect
SELECT id FROM orders WHERE day = '{partition}' INTERSECT SELECT order_id FROM pays WHERE day = '{partition}';
-- name: except all
SELECT region FROM orders WHERE day = '{partition}' EXCEPT ALL SELECT region FROM cust;
-- name: in
SELECT id FROM orders WHERE day = '{partition}' AND id IN (SELECT order_id FROM pays WHERE day = '{partition}');
-- name: not in
SELECT id FROM cust WHERE id NOT IN (SELECT cust FROM orders WHERE day = '{partition}' AND cust IS NOT NULL);
-- name: not in with nulls
SELECT id FROM cust WHERE id NOT IN (SELECT cust FROM orders WHERE day = '{partition}');
-- name: exists
SELECT c.id FROM cust c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id AND o.day = '{partition}');
-- name: not exists
SELECT c.id FROM cust c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id AND o.day = '{partition}');
-- name: scalar subquery
SELECT id, amount FROM orders WHERE day = '{partition}' AND amount > (SELECT avg(amount) FROM orders WHERE day = '{partition}');
-- name: scalar subquery in the projection
SELECT c.id, (SELECT count(*) FROM orders o WHERE o.cust = c.id AND o.day = '{partition}') AS n FROM cust c;
-- name: scalar subquery over the day before
SELECT id, (SELECT sum(amount) FROM orders WHERE day = CAST(date_sub('{partition}', 1) AS STRING)) AS yesterday FROM orders WHERE day = '{partition}';
-- name: nested subqueries
SELECT id FROM cust WHERE id IN (SELECT cust FROM orders WHERE day = '{partition}' AND id IN (SELECT order_id FROM pays WHERE day = '{partition}'));
-- name: subquery over a cte in an aggregate
WITH t AS (SELECT * FROM orders WHERE day = '{partition}')
SELECT count(*) AS n FROM t WHERE amount >= (SELECT avg(amount) FROM t);
-- name: rollup
SELECT region, status, count(*) AS n FROM orders WHERE day = '{partition}' GROUP BY ROLLUP (region, status);
-- name: with rollup
SELECT region, status, sum(amount) AS t FROM orders WHERE day = '{partition}' GROUP BY region, status WITH ROLLUP;
-- name: cube
SELECT region, status, count(*) AS n, grouping_id() AS g FROM orders WHERE day = '{partition}' GROUP BY CUBE (region, status);
-- name: grouping sets
SELECT region, status, count(*) AS n FROM orders WHERE day = '{partition}' GROUP BY GROUPING SETS ((region), (status), ());
-- name: grouping sets behind a list
SELECT region, status, count(*) AS n FROM orders WHERE day = '{partition}' GROUP BY region, status GROUPING SETS ((region), (region, status));
-- name: pivot
SELECT * FROM (SELECT region, status, amount FROM orders WHERE day = '{partition}') PIVOT (sum(amount) FOR status IN ('paid', 'open'));
-- name: unpivot
SELECT * FROM (SELECT id, amount, qty FROM orders WHERE day = '{partition}') UNPIVOT (v FOR k IN (amount, qty));
-- name: order by
SELECT id, amount FROM orders WHERE day = '{partition}' ORDER BY amount DESC;
-- name: order by and limit
SELECT id, amount FROM orders WHERE day = '{partition}' ORDER BY id DESC LIMIT 2;
-- name: limit in a subquery
SELECT sum(amount) AS top FROM (SELECT id, amount FROM orders WHERE day = '{partition}' ORDER BY id DESC LIMIT 3);
-- name: limit and offset
SELECT id FROM orders WHERE day = '{partition}' ORDER BY id LIMIT 2 OFFSET 1;
-- name: limit after an outer join
SELECT c.id, o.id AS o FROM cust c LEFT JOIN (SELECT * FROM orders WHERE day = '{partition}') o ON o.cust = c.id ORDER BY id, o LIMIT 4;
-- name: trailing window of several days
SELECT cust, sum(amount) AS week FROM orders
WHERE created_at::date > date_sub('{partition}', 3) AND created_at::date <= '{partition}' GROUP BY cust;
-- name: trailing window without a group
SELECT count(DISTINCT cust) AS active FROM orders
WHERE created_at >= '{partition}'::date - INTERVAL 2 DAYS AND created_at < '{partition}'::date + INTERVAL 1 DAY;
-- name: all before
SELECT cust, min(created_at) AS first FROM orders WHERE day <= '{partition}' GROUP BY cust;
-- name: latest of each
SELECT cust, max_by(status, created_at) AS latest FROM orders WHERE day <= '{partition}' GROUP BY cust;
-- name: lateral view
SELECT id, tag FROM orders LATERAL VIEW explode(tags) t AS tag WHERE day = '{partition}';
-- name: lateral view outer with the key
SELECT id, d FROM orders LATERAL VIEW OUTER explode(array('{partition}', status)) t AS d WHERE day = '{partition}';
-- name: explode in the projection
SELECT id, explode(tags) AS tag FROM orders WHERE day = '{partition}';
-- name: lateral subquery
SELECT c.id, x.amount FROM cust c, LATERAL (SELECT amount FROM orders o WHERE o.cust = c.id AND o.day = '{partition}') x;
-- name: table function of the key
SELECT d.col AS d, count(o.id) AS n FROM explode(sequence(date_sub('{partition}', 2), to_date('{partition}'))) AS d
LEFT JOIN orders o ON o.day = CAST(d.col AS STRING) GROUP BY d.col;
-- name: as of
SELECT o.id, t.tier FROM orders o ASOF JOIN tiers t ON o.cust = t.cust AND o.created_at >= t.since WHERE o.day = '{partition}';
-- name: as of, the key on the right
SELECT o.id, p.kind FROM orders o ASOF LEFT JOIN (SELECT * FROM pays WHERE day = '{partition}') p ON o.id = p.order_id AND o.created_at >= p.at WHERE o.day = '{partition}';
-- name: case and null
SELECT id, CASE WHEN region IS NULL THEN 'none' WHEN day = '{partition}' THEN region END AS r, nullif(status, 'open') AS s FROM orders WHERE day = '{partition}' OR day IS NULL;
-- name: null safe equality
SELECT id FROM orders WHERE day <=> '{partition}';
-- name: not equal
SELECT id FROM orders WHERE day <> '{partition}';
-- name: or
SELECT id FROM orders WHERE day = '{partition}' OR (status = 'open' AND day < '{partition}');
-- name: like
SELECT id FROM orders WHERE CAST(created_at AS STRING) LIKE '{partition}' || '%';
-- name: month of the key
SELECT count(*) AS n FROM orders WHERE date_trunc('month', created_at) = date_trunc('month', to_timestamp('{partition}'));
-- name: higher-order function
SELECT id, transform(tags, t -> t || '{partition}') AS tags FROM orders WHERE day = '{partition}';
-- name: struct and map
SELECT id, named_struct('d', '{partition}', 'a', amount) AS s, map('k', status) AS m FROM orders WHERE day = '{partition}';
-- name: quoted names
SELECT `o`.`id` AS `the id` FROM orders AS `o` WHERE `o`.`day` = '{partition}';
-- name: nested brackets
SELECT * FROM ((SELECT id FROM orders WHERE day = '{partition}') UNION ALL (SELECT id FROM cust)) u WHERE u.id > 2;
-- name: union of aggregates
SELECT 'orders' AS what, count(*) AS n FROM orders WHERE day = '{partition}'
UNION ALL SELECT 'pays', count(*) FROM pays WHERE day = '{partition}';
-- name: first and last of a day
SELECT min(created_at) AS first, max(created_at) AS last, percentile_approx(amount, 0.5) AS middle FROM orders WHERE day = '{partition}';
-- name: listagg
SELECT region, listagg(status, ',') WITHIN GROUP (ORDER BY status) AS s FROM orders WHERE day = '{partition}' GROUP BY region;
-- name: user's function
SELECT id, twice(amount) AS a2, next_key('{partition}') AS nk FROM orders WHERE day = '{partition}';
-- name: exists in a projection
SELECT c.id, EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id AND o.day = '{partition}') AS seen FROM cust c;
-- name: derived chain
SELECT region, avg(total) AS mean FROM (SELECT region, cust, sum(amount) AS total FROM (SELECT * FROM orders WHERE day = '{partition}') GROUP BY region, cust) GROUP BY region;
-- name: values joined
SELECT v.k, count(o.id) AS n FROM (VALUES ('paid'), ('open'), ('lost')) AS v(k) LEFT JOIN orders o ON o.status = v.k AND o.day = '{partition}' GROUP BY v.k;
-- name: brackets around a join
SELECT a.id FROM (orders a JOIN cust c ON a.cust = c.id) WHERE a.day = '{partition}';
-- name: key as a date
SELECT id FROM orders WHERE to_date(created_at) = DATE '{partition}' AND created_at IS NOT NULL;
-- name: another column under the name of the key's
SELECT region AS day, count(*) AS n FROM orders WHERE day = '{partition}' GROUP BY region;
-- name: window over groups
SELECT region, count(*) AS n, sum(count(*)) OVER (ORDER BY region) AS running FROM orders WHERE created_at::date = '{partition}' GROUP BY region;
-- name: right join filtered by the key
SELECT c.name, o.id FROM cust c RIGHT JOIN orders o ON o.cust = c.id WHERE o.day = '{partition}';
-- name: full join filtered by the key
SELECT c.name, o.id FROM cust c FULL JOIN orders o ON o.cust = c.id WHERE '{partition}' = o.day;
-- name: lateral view filtered by the key
SELECT id, tag FROM orders LATERAL VIEW OUTER explode(tags) t AS tag WHERE day = '{partition}' AND tag IS NOT NULL;
-- name: distinct with the key beside it
SELECT DISTINCT region, '{partition}' AS k, concat('{partition}', status) AS s FROM orders WHERE day = '{partition}';
-- name: grouped by position
SELECT status, region, count(*) AS n FROM orders WHERE created_at::date = '{partition}' GROUP BY 1, 2;
-- name: grouped by all
SELECT status, '{partition}' AS k, count(*) AS n FROM orders WHERE created_at::date = '{partition}' GROUP BY ALL;
-- name: having of a group
SELECT cust, count(*) AS day FROM orders WHERE day = '{partition}' GROUP BY cust HAVING count(*) > 1;
-- name: a slice that is read twice
WITH slice AS (SELECT * FROM orders WHERE day = '{partition}')
SELECT a.id, b.id AS other FROM slice a JOIN slice b ON a.cust = b.cust AND a.id < b.id;
-- name: two columns that both are the key
SELECT id FROM orders WHERE day = '{partition}' AND created_at::date = '{partition}';
-- name: a time that is the key
SELECT id FROM orders WHERE date_trunc('day', created_at) = '{partition}';
-- name: a comparison in brackets
SELECT id FROM orders WHERE (day = '{partition}') AND (status = 'paid' OR region = 'eu');
-- name: a case that compares with the key
SELECT id FROM orders WHERE CASE WHEN region = 'eu' AND day = '{partition}' THEN true ELSE false END;
-- name: the latest of each customer
SELECT * EXCEPT (rn) FROM (SELECT *, row_number() OVER (PARTITION BY cust ORDER BY id DESC) AS rn FROM orders WHERE created_at::date = '{partition}') WHERE rn = 1;
-- name: the three largest of a day
SELECT id, amount FROM orders WHERE day = '{partition}' ORDER BY amount DESC, id LIMIT 3;
-- name: a slice beside a whole table
WITH slice AS (SELECT cust, sum(amount) AS total FROM orders WHERE day = '{partition}' GROUP BY cust), everybody AS (SELECT id, name FROM cust)
SELECT e.name, s.total FROM everybody e LEFT JOIN slice s ON s.cust = e.id;
-- name: periods of different lengths of columns with the same name
SELECT 'day' AS what, id FROM orders WHERE created_at >= '{partition}' AND created_at < date_add('{partition}', 1)
UNION ALL SELECT 'week', id FROM orders WHERE created_at >= date_sub('{partition}', 6) AND created_at < date_add('{partition}', 1);
-- name: columns with the same name and of other types
SELECT 'text' AS what, id FROM orders WHERE day = '{partition}'
UNION ALL SELECT 'date', id FROM (SELECT id, to_date(day) AS day FROM orders) WHERE day = '{partition}'
UNION ALL SELECT 'time', id FROM (SELECT id, created_at AS day FROM orders) WHERE day = '{partition}';
-- name: a period that is bounded more than once
SELECT id FROM orders WHERE created_at >= '{partition}' AND created_at < date_add('{partition}', 3) AND created_at < date_add('{partition}', 1) AND created_at > date_sub('{partition}', 2);
-- name: periods that overlap, counted
SELECT count(*) AS n, sum(amount) AS total FROM orders WHERE to_date(day) BETWEEN date_sub('{partition}', 2) AND date_add('{partition}', 1);
-- name: a period of a joined table
SELECT o.id, count(p.created_at) AS n FROM cust c JOIN orders o ON o.cust = c.id LEFT JOIN orders p ON p.cust = c.id WHERE o.created_at >= '{partition}' AND o.created_at < date_add('{partition}', 1) GROUP BY o.id;
