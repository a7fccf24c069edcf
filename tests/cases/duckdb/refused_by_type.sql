-- line 3: the difference of two dates or times is another thing in Spark; use date_diff('day', from, to), or cast both to DATE
SELECT d - e AS a FROM v;

-- line 3: a text is made of a value that Spark writes in another way
SELECT 'x' || x AS a FROM v;

-- line 3: a text is made of a value that Spark writes in another way
SELECT tz::VARCHAR AS a FROM v;

-- line 3: round of something that may be a DOUBLE; write round(x::DOUBLE, n) or round(x::DECIMAL(18,4), n)
SELECT round(y, 1) AS a FROM v;

-- line 3: // of something else than whole numbers; cast to BIGINT, or use /
SELECT n // 2 AS a FROM v;

-- line 3: % of floating-point numbers; cast to DECIMAL or BIGINT
SELECT x % 2 AS a FROM v;

-- line 3: floor of something that may be no DOUBLE; cast it to DOUBLE or DECIMAL
SELECT floor(n) AS a FROM v;

-- line 3: a division of FLOATs; cast to DOUBLE before dividing
SELECT z / 2 AS a FROM (SELECT y::FLOAT AS z FROM v);

-- line 3: date_trunc to hour of a time with a zone; cast to TIMESTAMP
SELECT date_trunc('hour', tz) AS a FROM v;

-- line 3: 24 hours or more are added to a time with a zone, in which days have 23 or 25 hours; add days, or cast the time to TIMESTAMP
SELECT tz + INTERVAL 48 HOUR AS a FROM v;

-- line 3: string_agg of something else than texts; cast it to VARCHAR
SELECT string_agg(id, ',') AS a FROM v;

-- TRY_CAST of '1.5' means another thing in DuckDB; clean the text first
SELECT TRY_CAST(t AS INTEGER) AS a FROM (VALUES ('1.5')) AS q(t);

-- requires the ("ARRAY" or "MAP") type
SELECT s[1] AS a FROM v;

-- line 3: array_to_string of something else than texts; [x::VARCHAR FOR x IN list] casts
SELECT array_to_string(l, ',') AS a FROM v;

-- line 3: a product with more digits than a decimal has; cast the factors to DOUBLE
SELECT a * a * a AS b FROM (SELECT 0.0000000001::DECIMAL(16,10) AS a);

-- line 3: a FLOAT beside another number, which is a FLOAT in DuckDB and a DOUBLE in Spark; cast it to DOUBLE or DECIMAL
SELECT z + 1 AS a FROM (SELECT id, y::FLOAT AS z FROM v);

-- line 3: a FLOAT beside another number, which is a FLOAT in DuckDB and a DOUBLE in Spark; cast it to DOUBLE or DECIMAL
SELECT z * 0.1 AS a FROM (SELECT id, y::FLOAT AS z FROM v);

-- line 3: a FLOAT beside another number, which is a FLOAT in DuckDB and a DOUBLE in Spark; cast it to DOUBLE or DECIMAL
SELECT z - id AS a FROM (SELECT id, y::FLOAT AS z FROM v);

-- line 3: a FLOAT beside another number, which is a FLOAT in DuckDB and a DOUBLE in Spark; cast it to DOUBLE or DECIMAL
SELECT id + z AS a FROM (SELECT id, y::FLOAT AS z FROM v);

-- line 3: a FLOAT beside another number, which is a FLOAT in DuckDB and a DOUBLE in Spark; cast it to DOUBLE or DECIMAL
SELECT z = 0.25 AS a FROM (SELECT id, y::FLOAT AS z FROM v);

-- line 3: a FLOAT beside another type, which is a FLOAT in DuckDB and a DOUBLE in Spark; cast it to DOUBLE
SELECT coalesce(z, 0) AS a FROM (SELECT id, y::FLOAT AS z FROM v);

-- line 3: a sum or difference with more digits than a decimal has; cast to fewer digits, as in x::DECIMAL(30,10), or to DOUBLE
SELECT a + a AS r FROM (VALUES (1.5::DECIMAL(38,18), 1.00::DECIMAL(38,2))) AS t(a, b);

-- line 3: a sum or difference with more digits than a decimal has; cast to fewer digits, as in x::DECIMAL(30,10), or to DOUBLE
SELECT a - 1 AS r FROM (VALUES (1.5::DECIMAL(38,18), 1.00::DECIMAL(38,2))) AS t(a, b);

-- line 3: a sum or difference with more digits than a decimal has; cast to fewer digits, as in x::DECIMAL(30,10), or to DOUBLE
SELECT b + a + 1 AS r FROM (VALUES (1.5::DECIMAL(38,18), 1.00::DECIMAL(38,2))) AS t(a, b);

-- line 3: a comparison of decimals with more digits than a decimal has; cast to fewer digits, as in x::DECIMAL(30,10), or to DOUBLE
SELECT a::DECIMAL(38,18) = b AS r FROM (VALUES (1.5::DECIMAL(38,18), 1.00::DECIMAL(38,2))) AS t(a, b);

-- line 3: a comparison of decimals with more digits than a decimal has; cast to fewer digits, as in x::DECIMAL(30,10), or to DOUBLE
SELECT a = b::DECIMAL(38,2) AS r FROM (VALUES (1.5::DECIMAL(38,18), 1.00::DECIMAL(38,2))) AS t(a, b);

-- line 3: % of decimals with more digits together than a decimal has; cast to fewer digits, as in x::DECIMAL(30,10), or to DOUBLE
SELECT a % b AS r FROM (VALUES (1.5::DECIMAL(38,18), 1.00::DECIMAL(38,2))) AS t(a, b);

-- line 3: a series by months that begins behind the 28th; begin earlier
SELECT d FROM generate_series(TIMESTAMP '2024-01-31', TIMESTAMP '2024-05-31', INTERVAL 1 MONTH) AS t(d);

-- line 3: range by days or months of times with a zone; cast them to TIMESTAMP
SELECT d FROM range(TIMESTAMPTZ '2024-06-01 00:00:00+00', TIMESTAMPTZ '2024-06-03 00:00:00+00', INTERVAL 1 DAY) AS t(d);

-- line 3: a text is made of a value that Spark writes in another way
SELECT a || '' AS b FROM (SELECT '0.05'::DECIMAL(2,2) AS a);

-- line 3: a DOUBLE as a DECIMAL with more than 17 digits behind the point; use fewer, as in x::DECIMAL(38,10)
SELECT y::DECIMAL(38,18) AS a FROM v;

-- line 3: a DECIMAL with more than 15 digits behind the point as a DOUBLE; cast it to DECIMAL(38,15) first
SELECT a / 3 AS b FROM (SELECT 1.5::DECIMAL(38,18) AS a);

-- line 3: a DECIMAL with more than 15 digits before the point as a DOUBLE
SELECT a::DOUBLE AS b FROM (SELECT '9437351833815845.31'::DECIMAL(18,2) AS a);

-- line 3: lag or lead of whole numbers with something else instead; cast it, as in x::INTEGER
SELECT lag(qty, 1, 0.5) OVER (ORDER BY id) AS a FROM orders;
