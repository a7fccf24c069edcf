-- table e (id, s struct<f: int, g: struct<h: int>>, items array<struct<price: int, qty: int>>, m map<string, struct<v: int>>, tags array<string>, e struct<id: int, w: int>)
-- table t (k, a, b)

-- name: fields
SELECT s.f, e.s.g.h AS h, s FROM e;
-- > f = identity e.s.f
-- > h = identity e.s.g.h
-- > s = identity e.s

-- name: all fields
SELECT s.*, id FROM e;
-- > f = identity e.s.f
-- > g = identity e.s.g
-- > id = identity e.id

-- name: a column that is called like the table
SELECT e.id, e.w, e.e.w AS w2 FROM e;
-- > id = identity e.id
-- > w = identity e.e.w
-- > w2 = identity e.e.w

-- name: elements
SELECT items[0].price AS p, m['x'].v AS v, tags[1] AS t, items.qty AS all_qty FROM e;
-- > p = expression e.items.price
-- > v = expression e.m.v
-- > t = expression e.tags
-- > all_qty = identity e.items.qty

-- name: an element by a column
SELECT tags[id] AS t FROM e;
-- > t = expression e.tags e.id

-- name: fields through a query
SELECT q.z.h FROM (SELECT s.g AS z FROM e) AS q;
-- > h = identity e.s.g.h

-- name: structs that are made
SELECT r.x, r.y + 1 AS y1, r FROM (SELECT struct(a AS x, b AS y) AS r FROM t);
-- > x = identity a
-- > y1 = expression b
-- > r = expression a b

-- name: named_struct and all of its fields
SELECT r.* FROM (SELECT named_struct('p', a, 'q', upper(b)) AS r FROM t);
-- > p = identity a
-- > q = expression b

-- name: a struct of everything
SELECT to_json(struct(*)) AS j, r.b FROM (SELECT *, struct(*) AS r FROM t);
-- > j = expression k a b
-- > b = identity b

-- name: explode
SELECT id, i.price * i.qty AS cost FROM e LATERAL VIEW explode(items) AS i;
-- > id = identity e.id
-- > cost = expression e.items.price e.items.qty
-- > rows = unnest e.items

-- name: posexplode, outer, of two
SELECT p, t, i.qty FROM e LATERAL VIEW OUTER posexplode(tags) x AS p, t LATERAL VIEW explode(items) y AS i;
-- > p =
-- > t = expression e.tags
-- > qty = expression e.items.qty
-- > rows = unnest e.tags e.items

-- name: explode of a map
SELECT key, value.v FROM e LATERAL VIEW explode(m) AS key, value;
-- > key = expression e.m
-- > v = expression e.m.v
-- > rows = unnest e.m

-- name: inline
SELECT id, price, qty FROM e LATERAL VIEW inline(items) AS price, qty;
-- > id = identity e.id
-- > price = expression e.items.price
-- > qty = expression e.items.qty
-- > rows = unnest e.items

-- name: explode in the SELECT
SELECT id, explode(tags) AS tag FROM e;
-- > id = identity e.id
-- > tag = expression e.tags
-- > rows = unnest e.tags

-- name: posexplode in the SELECT
SELECT posexplode(tags) AS (n, tag) FROM e;
-- > n =
-- > tag = expression e.tags
-- > rows = unnest e.tags

-- name: explode beside a table
SELECT id, x FROM e, LATERAL explode(tags) AS l(x);
-- > id = identity e.id
-- > x = expression e.tags
-- > rows = unnest e.tags

-- name: stack
SELECT n, v FROM t LATERAL VIEW stack(2, 'a', a, 'b', b) AS n, v;
-- > n =
-- > v = expression a b
-- > rows = unnest a b

-- name: json_tuple
SELECT x, y FROM t LATERAL VIEW json_tuple(a, 'x', 'y') AS x, y;
-- > x = expression a
-- > y = expression a
-- > rows = unnest a

-- name: functions of elements
SELECT transform(items, i -> i.price + id) AS p, filter(tags, x -> x <> 'a') AS f,
       aggregate(items, 0, (acc, i) -> acc + i.qty) AS q FROM e;
-- > p = expression e.items e.id
-- > f = expression e.tags
-- > q = expression e.items

-- name: a parameter hides a column
SELECT transform(tags, id -> id || 'x') AS t FROM e;
-- > t = expression e.tags

-- name: a field of a variant
SELECT a:x.y AS v, a:z AS z FROM t;
-- > v = expression a
-- > z = expression a

-- name: fields of what has no types
SELECT d.info.city AS city, d.info FROM unknown_table AS d;
-- > city = identity unknown_table.info.city
-- > info = identity unknown_table.info
