-- table orders (id, customer_id, status, amount, tax, day, created_at)
-- table customers (id, name, country, tier)

-- name: columns as they are
SELECT id, o.amount FROM orders AS o;
-- > id = identity orders.id
-- > amount = identity orders.amount

-- name: under another name
SELECT amount AS net FROM orders;
-- > net = identity orders.amount

-- name: computed
SELECT amount + tax AS total, upper(status) AS status FROM orders;
-- > total = expression amount tax
-- > status = expression orders.status

-- name: a cast makes another value
SELECT CAST(amount AS STRING) AS a, created_at::date AS d FROM orders;
-- > a = expression amount
-- > d = expression created_at

-- name: brackets change nothing
SELECT ((amount)) AS a FROM orders;
-- > a = identity amount

-- name: literals, the key and arguments come from nowhere
SELECT 1 AS one, 'x' AS x, NULL AS n, '{partition}' AS k, $least AS l, current_date() AS d FROM orders;
-- > one =
-- > x =
-- > n =
-- > k =
-- > l =
-- > d =

-- name: nothing read
SELECT 1 AS one;
-- > one =

-- name: filter by the key
SELECT id FROM orders WHERE day = '{partition}' AND amount > $least;
-- > id = identity orders.id
-- > rows = filter day amount

-- name: the key as a date
SELECT id FROM orders WHERE to_date(created_at) = DATE '{partition}';
-- > id = identity orders.id
-- > rows = filter created_at

-- name: star
SELECT * FROM customers;
-- > id = identity customers.id
-- > name = identity name
-- > country = identity country
-- > tier = identity tier

-- name: star without some
SELECT * EXCEPT (id, country) FROM customers;
-- > name = identity name
-- > tier = identity tier

-- name: star of one of two
SELECT c.*, o.amount FROM orders o, customers c WHERE o.customer_id = c.id;
-- > id = identity customers.id
-- > name = identity name
-- > country = identity country
-- > tier = identity tier
-- > amount = identity amount
-- > rows = filter customer_id customers.id

-- name: star beside a column
SELECT *, id + 1 AS next FROM customers;
-- > id = identity customers.id
-- > name = identity name
-- > country = identity country
-- > tier = identity tier
-- > next = expression customers.id

-- name: names in any case and in quotes
SELECT O.ID, `o`.`Amount` AS `a b`, STATUS FROM orders AS o WHERE `DAY` = 'x';
-- > ID = identity orders.id
-- > a b = identity amount
-- > STATUS = identity orders.status
-- > rows = filter day

-- name: whole names of tables
SELECT main.orders.id, orders.amount FROM main.orders;
-- > id = identity orders.id
-- > amount = identity amount

-- name: a column by the one before it
SELECT amount * 2 AS twice, twice + tax AS more FROM orders;
-- > twice = expression amount
-- > more = expression amount tax

-- name: a column of the table is meant before one of the SELECT
SELECT tax AS amount, amount + 1 AS more FROM orders;
-- > amount = identity tax
-- > more = expression amount

-- name: picked by conditions
SELECT CASE WHEN status = 'paid' THEN amount WHEN status = 'open' THEN tax ELSE 0 END AS due,
       if(tier_is, 1, 2) AS n FROM (SELECT status, amount, tax, day IS NULL AS tier_is FROM orders);
-- > due = expression amount tax; conditional orders.status
-- > n = conditional day

-- name: case of a value
SELECT CASE status WHEN 'a' THEN amount ELSE tax END AS v FROM orders;
-- > v = expression amount tax; conditional orders.status

-- name: nvl2 and decode
SELECT nvl2(status, amount, tax) AS a, decode(status, 'x', amount, 'y', tax, id) AS b FROM orders;
-- > a = expression amount tax; conditional orders.status
-- > b = expression amount tax orders.id; conditional orders.status

-- name: the first of several
SELECT coalesce(amount, tax, 0) AS a, nullif(amount, tax) AS b, greatest(amount, tax) AS c FROM orders;
-- > a = expression amount tax
-- > b = expression amount tax
-- > c = expression amount tax

-- name: a comparison is a value
SELECT amount > tax AS more, status IN ('a', 'b') AS some, status LIKE 'p%' AS p FROM orders;
-- > more = expression amount tax
-- > some = expression orders.status
-- > p = expression orders.status

-- name: sums by group
SELECT customer_id, sum(amount) AS total, count(*) AS n, count(tax) AS taxed FROM orders GROUP BY customer_id;
-- > customer_id = identity customer_id
-- > total = aggregation amount
-- > n =
-- > taxed = aggregation tax
-- > rows = group customer_id

-- name: something is done to a sum
SELECT sum(amount) / count(DISTINCT customer_id) + max(tax) AS x FROM orders;
-- > x = aggregation amount customer_id tax

-- name: group by position, and by a name of the SELECT
SELECT upper(status) AS s, to_date(created_at) AS d, count(*) AS n FROM orders GROUP BY 1, d;
-- > s = expression orders.status
-- > d = expression created_at
-- > n =
-- > rows = group orders.status created_at

-- name: group by all
SELECT status, day, sum(amount) + 1 AS a FROM orders GROUP BY ALL;
-- > status = identity orders.status
-- > day = identity day
-- > a = aggregation amount
-- > rows = group orders.status day

-- name: rollup, cube and sets
SELECT status, day, sum(amount) AS a FROM orders GROUP BY ROLLUP (status, day);
-- > status = identity orders.status
-- > day = identity day
-- > a = aggregation amount
-- > rows = group orders.status day

-- name: grouping sets
SELECT status, count(*) AS n FROM orders GROUP BY GROUPING SETS ((status, day), (customer_id), ());
-- > status = identity orders.status
-- > n =
-- > rows = group orders.status day customer_id

-- name: having
SELECT customer_id, sum(amount) AS total FROM orders GROUP BY customer_id HAVING total > 10 AND max(tax) > 1;
-- > customer_id = identity customer_id
-- > total = aggregation amount
-- > rows = group customer_id; filter amount tax

-- name: aggregates with conditions and orders
SELECT sum(amount) FILTER (WHERE status = 'x') AS a, max_by(amount, created_at) AS b,
       listagg(status, ',') WITHIN GROUP (ORDER BY day) AS c,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY tax) AS d FROM orders;
-- > a = aggregation amount; filter orders.status
-- > b = aggregation amount; order created_at
-- > c = aggregation orders.status; order day
-- > d = aggregation tax

-- name: aggregates that the parser knows by other names
SELECT collect_set(status) AS a, approx_count_distinct(id) AS b, bool_or(amount > 1) AS c,
       count_if(tax > 1) AS d, kurtosis(amount) AS e, any_value(day) AS f FROM orders;
-- > a = aggregation orders.status
-- > b = aggregation orders.id
-- > c = aggregation amount
-- > d = aggregation tax
-- > e = aggregation amount
-- > f = aggregation day

-- name: distinct groups by what it shows
SELECT DISTINCT status, day FROM orders;
-- > status = identity orders.status
-- > day = identity day
-- > rows = group orders.status day

-- name: order and limit
SELECT id, amount AS a FROM orders ORDER BY a DESC, created_at, 1 LIMIT 5;
-- > id = identity orders.id
-- > a = identity amount
-- > rows = order amount created_at orders.id

-- name: sorted within parts
SELECT id FROM orders DISTRIBUTE BY day SORT BY amount;
-- > id = identity orders.id
-- > rows = order day amount

-- name: a sample
SELECT id FROM orders TABLESAMPLE (10 PERCENT);
-- > id = identity orders.id

-- name: hints are no columns
SELECT /*+ BROADCAST(c), REPARTITION(3) */ o.id FROM orders o JOIN customers c ON o.customer_id = c.id;
-- > id = identity orders.id
-- > rows = join customer_id customers.id

-- name: the past of a table
SELECT id FROM main.orders VERSION AS OF 5 WHERE orders.amount > 1;
-- > id = identity orders.id
-- > rows = filter amount

-- name: what a format says of a table
SELECT snapshot_id FROM main.orders.snapshots;
-- > snapshot_id =

-- name: units are no columns
SELECT extract(MONTH FROM created_at) AS m, timestampadd(DAY, 1, created_at) AS t,
       date_trunc('day', created_at) AS d, created_at + INTERVAL 1 DAY AS i FROM orders;
-- > m = expression created_at
-- > t = expression created_at
-- > d = expression created_at
-- > i = expression created_at

-- name: pipes
FROM orders |> WHERE amount > 1 |> SELECT id, tax;
-- > id = identity orders.id
-- > tax = identity tax
-- > rows = filter amount

-- name: files
SELECT x, upper(y) AS y FROM read_json('data/' || '{partition}' || '.json') WHERE z = 1;
-- > x = identity file:data/{partition}.json.x
-- > y = expression file:data/{partition}.json.y
-- > rows = filter file:data/{partition}.json.z

-- name: files with a schema
SELECT * FROM read_csv('data/a.csv', header => true, schema => 'a INT, b STRING');
-- > a = identity file:data/a.csv.a
-- > b = identity file:data/a.csv.b

-- name: words of the grammar
SELECT lag(amount, 1) RESPECT NULLS OVER (ORDER BY day NULLS LAST) AS a,
       sum(tax) OVER (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS b,
       trim(BOTH 'x' FROM status) AS c, created_at AT TIME ZONE 'UTC' AS d,
       datediff(DAY, created_at, day) AS e FROM orders;
-- > a = expression amount; window day
-- > b = aggregation tax; window orders.id
-- > c = expression orders.status
-- > d = expression created_at
-- > e = expression created_at day

-- name: expressions without a name
SELECT max(amount), count(*) FROM orders;
-- > max(amount) = aggregation amount
-- > count(1) =
