CREATE TABLE v AS SELECT * FROM (VALUES
  (1, 10, 3, 5000000000, 1.5::DOUBLE, 0.25::DOUBLE, 12.34::DECIMAL(10,2), 1.0001::DECIMAL(12,4),
   DATE '2024-01-31', DATE '2023-12-31', TIMESTAMP '2024-01-31 13:45:30.123456', TIMESTAMP '2023-12-31 23:59:59',
   TIMESTAMPTZ '2024-03-31 00:30:00+00', 'Hello World', 'lo', true, [1, 2, 3], ['a', 'b'],
   {'a': 1, 'b': 'x'}, MAP {'k': 1, 'j': 2}),
  (2, -7, 2, -1, -2.5, 0.0, -0.05, -3.3333,
   DATE '2024-02-29', DATE '2024-03-01', TIMESTAMP '2024-02-29 00:00:00', TIMESTAMP '2024-02-29 00:00:01',
   TIMESTAMPTZ '2024-10-27 01:30:00+00', 'straße', 'ß', false, [], [],
   {'a': -1, 'b': ''}, MAP {}),
  (3, 0, 0, 0, 0.0, 2.0, 0.00, 0.0000,
   DATE '1970-01-01', DATE '1969-12-31', TIMESTAMP '1970-01-01 00:00:00', TIMESTAMP '1969-12-31 23:59:59.5',
   TIMESTAMPTZ '1970-01-01 00:00:00+00', '', '', true, [NULL, 5], [NULL, 'z'],
   {'a': NULL, 'b': NULL}, MAP {'k': NULL}),
  (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (5, 2147483646, 1, 9223372036854775807, 'nan', 1.0, 99999999.99, 1.9876,
   DATE '2024-12-30', DATE '2021-01-03', TIMESTAMP '2024-12-30 23:00:00', TIMESTAMP '2021-01-03 12:00:00',
   TIMESTAMPTZ '2024-12-30 23:59:59.999999+00', ' 42 ', '4', false, [42], ['42'],
   {'a': 42, 'b': '42'}, MAP {'k': 42}),
  (6, 100, -3, 100, 1e300, -1.0, 0.05, 2.5000,
   DATE '2024-07-04', DATE '2024-07-04', TIMESTAMP '2024-07-04 12:00:00', TIMESTAMP '2024-07-04 12:00:00',
   TIMESTAMPTZ '2024-07-04 12:00:00+00', 'a\b%c_d', '%', NULL, [3, 1, 2], ['x', 'y', 'x'],
   {'a': 7, 'b': 'seven'}, MAP {'z': 26}),
  (7, 25, 7, 12, 0.5, -0.5, 2.50, 0.1250,
   DATE '2020-02-29', DATE '2024-02-29', TIMESTAMP '2020-02-29 06:07:08.9', TIMESTAMP '2024-02-28 06:07:08',
   TIMESTAMPTZ '2020-02-29 06:07:08.9+00', '2024-01-05', 'line
break', true, [7, 7], ['q'],
   {'a': 0, 'b': 'zero'}, MAP {'k': 0, 'k2': 1})
) AS t(id, i, j, g, x, y, n, m, d, e, ts, te, tz, s, u, f, l, ls, st, mp);
CREATE TABLE orders AS SELECT * FROM (VALUES
  (1, 'ann', 'eu', 10.50::DECIMAL(10,2), TIMESTAMP '2024-01-01 08:00:00', 2),
  (2, 'bob', 'us', 20.00, TIMESTAMP '2024-01-01 09:30:00', 1),
  (3, 'ann', 'eu', 5.25, TIMESTAMP '2024-01-02 10:00:00', NULL),
  (4, 'cat', NULL, 7.75, TIMESTAMP '2024-01-02 11:00:00', 4),
  (5, 'bob', 'us', NULL, TIMESTAMP '2024-01-03 12:00:00', 5),
  (6, 'dan', 'eu', 100.00, TIMESTAMP '2024-01-03 13:00:00', 1),
  (7, 'ann', 'us', 0.01, NULL, 3)
) AS t(id, customer, region, amount, placed, qty);
CREATE TABLE customers AS SELECT * FROM (VALUES
  ('ann', 'gold', TIMESTAMP '2023-12-01 00:00:00'),
  ('ann', 'platinum', TIMESTAMP '2024-01-02 00:00:00'),
  ('bob', 'silver', TIMESTAMP '2024-01-01 09:00:00'),
  ('eve', 'gold', TIMESTAMP '2024-01-01 00:00:00'),
  (NULL, 'none', TIMESTAMP '2024-01-01 00:00:00')
) AS t(customer, tier, since);
CREATE TABLE monthly AS SELECT * FROM (VALUES
  ('a', 1, 2, NULL), ('b', 3, NULL, 4), ('c', NULL, NULL, NULL)
) AS t(id, jan, feb, mar);
CREATE TABLE lists AS SELECT * FROM (VALUES
  (1, [1, 2]), (2, []), (3, NULL), (4, [3, NULL])
) AS t(id, l);
