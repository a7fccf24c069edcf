i + j
i - j
i * j
i / j
x / y
n / m
i / 2
n / 4
i // 3
i // j
g // 7
5 // 2
-5 // 2
5 // 0
i % j
i % 3
-5 % 3
n % 0.3
mod(i, 4)
mod(g, j)
1 / 0
0 / 0
-1 / 0
1 / 3
10 / 4
x / 3
1.0 / 3
x + y
x * y
x - y
n + m
n - m
n * m
n * 2
2 * n + 1
n + 0.5
i + 0.5
-i
-x
-n
(i - j) * 1
i - j * 2
i & 3
i | 8
xor(i, 5)
i = j
i <> j
i < j
i >= 10
x > 1
n = 12.34
n > m
s = 'Hello World'
s < u
d = '2024-01-31'
d > DATE '2024-01-01'
ts >= '2024-01-31'
ts > TIMESTAMP '2024-01-01 00:00:00'
d < ts
f AND i > 0
f OR i IS NULL
NOT f
i IS NULL
i IS NOT NULL
f IS TRUE
f IS NOT TRUE
i IS DISTINCT FROM j
i IS NOT DISTINCT FROM NULL
i BETWEEN 0 AND 50
i NOT BETWEEN 0 AND 50
i IN (1, 10, 25)
i NOT IN (10, 25)
s IN ('', 'straße')
i IN (1, NULL)
s LIKE 'H%'
s LIKE '%\b%'
s LIKE '%_d'
s NOT LIKE '%o%'
s ILIKE 'hello%'
s LIKE u
s || u
s || '-' || u
'n' || i
'n' || n
'd' || d
't' || ts
'b' || f
s ^@ 'He'
CASE WHEN i > 5 THEN 'big' WHEN i IS NULL THEN 'none' ELSE 'small' END
CASE i WHEN 10 THEN 1 WHEN 0 THEN 0 END
CASE WHEN f THEN i ELSE n END
if(i > 5, 1, 0)
coalesce(i, 0)
coalesce(NULL, s, 'x')
ifnull(n, 0)
nullif(i, 0)
nullif(s, '')
greatest(i, j, 5)
least(i, j)
greatest(d, e)
least(n, m)
least(s, u)
1 + 2 * 3
2147483647 + 0
3000000000 + 1
1e3
.5 + 1
1_000 + 1
'it''s'
'back\slash'
$$dollar 'quoted'$$
true
NULL::INTEGER
i - 1 > j AND (f OR NOT f)
NOT (i = 1 OR j = 3)
(i > 5) = f
d = '2024-01-31 10:00:00'
s = i::VARCHAR
'42' = i
i = 1.0
n = x
coalesce(d, '2024-01-01')
coalesce(s, u)
coalesce(i, g)
coalesce(i, n, x)
CASE WHEN f THEN d ELSE e END
CASE WHEN f THEN s ELSE 'none' END
greatest(s, 'm')
n * m * 2
(i % 9) * n
n * x
(n + 1) * (m - 1)
m * m * m
n::DECIMAL(38,2) + 1
n::DECIMAL(38,2) - m
n::DECIMAL(30,8) + m
n - m + 1 - i
(n + 1) * (m - 1) - (n + 2)
n::DECIMAL(38,18) % 2
n::DECIMAL(30,8) > m
-n + 1
'-8437351833815845.31'::DECIMAL(18,2) / 3
n::DECIMAL(38,4) / 7
100 / n::DECIMAL(30,6)
n::DECIMAL(38,2) / 0
