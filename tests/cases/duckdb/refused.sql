-- the function median is not translated: its interpolation rounds in another way; use row_number and pick the row
SELECT median(amount) AS m FROM orders;

-- the function stddev is not translated: the last digits depend on the order of rows; compute it from sums
SELECT stddev(amount) AS m FROM orders;

-- the function ln is not translated: the last digit of the result may differ; compute it with + - * /
SELECT ln(amount) AS m FROM orders;

-- a power (** or ^) is not translated; multiply the value with itself
SELECT amount ** 2 AS m FROM orders;

-- the function first is not translated: which of several it takes is not said; use max, or arg_max by what no two rows share
SELECT first(amount) AS m FROM orders;

-- the function random is not translated: its rows would be others each time; take a column
SELECT random() AS m FROM orders;

-- SAMPLE takes other rows each time; filter the rows
SELECT id FROM orders USING SAMPLE 10%;

-- SAMPLE takes other rows each time; filter the rows
SELECT id FROM orders TABLESAMPLE 10%;

-- POSITIONAL JOIN is not translated; join by a column
SELECT id FROM orders POSITIONAL JOIN customers;

-- the function columns is not translated: the columns are not known when a script is read; write the columns
SELECT COLUMNS('a.*') FROM orders;

-- the function columns is not translated: the columns are not known when a script is read; write the columns
SELECT min(COLUMNS(*)) FROM orders;

-- UNION BY NAME is not translated; name the columns in both queries
SELECT id FROM orders UNION ALL BY NAME SELECT id FROM orders;

-- WITH RECURSIVE is not translated; use range or generate_series
WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM t WHERE a < 3) SELECT a FROM t;

-- LIMIT of a percentage is not translated; write the number
SELECT id FROM orders LIMIT 10%;

-- a column without a name, which the engines would name differently; give it one with AS
SELECT count(*) FROM orders;

-- a column without a name, which the engines would name differently; give it one with AS
SELECT id, amount * 2 FROM orders;

-- the type HUGEINT has no counterpart in Spark; use BOOLEAN, INTEGER, BIGINT, FLOAT, DOUBLE, DECIMAL, VARCHAR, DATE or TIMESTAMP
SELECT id::HUGEINT AS h FROM orders;

-- the type UINTEGER has no counterpart in Spark; use BOOLEAN, INTEGER, BIGINT, FLOAT, DOUBLE, DECIMAL, VARCHAR, DATE or TIMESTAMP
SELECT id::UINTEGER AS h FROM orders;

-- the type TIME has no counterpart in Spark; use BOOLEAN, INTEGER, BIGINT, FLOAT, DOUBLE, DECIMAL, VARCHAR, DATE or TIMESTAMP
SELECT placed::TIME AS h FROM orders;

-- 99999999999999999999 is a HUGEINT, which Spark lacks; cast a text to DECIMAL
SELECT 99999999999999999999 AS h;

-- an interval as a value is not translated; add it to a time
SELECT INTERVAL 1 DAY AS h;

-- the difference of two times is an INTERVAL; use date_diff
SELECT placed::TIMESTAMP - TIMESTAMP '2024-01-01 00:00:00' AS h FROM orders;

-- an interval of several units is not translated; add one after the other
SELECT placed + INTERVAL '1 month 2 days' AS h FROM orders;

-- %U in a format is not translated; use %-H %-I %-M %-S %-d %-j %-m %A %B %G %H %I %M %S %T %V %X %Y %a %b %c %d %f %j %m %p %u %w %x %y
SELECT strftime(placed, '%U') AS h FROM orders;

-- the format is computed; write it as a literal
SELECT strftime(placed, customer) AS h FROM orders;

-- the pattern is computed; write it as a literal
SELECT regexp_matches(customer, region) AS h FROM orders;

-- '(?=a' in a pattern is not translated; use (…)
SELECT regexp_matches(customer, 'x(?=a)') AS h FROM orders;

-- GLOB is not translated; use LIKE
SELECT customer GLOB 'a*' AS h FROM orders;

-- SIMILAR TO is not translated; use regexp_full_match
SELECT customer SIMILAR TO 'a.*' AS h FROM orders;

-- LIKE … ESCAPE is not translated; use contains or regexp_matches
SELECT customer LIKE 'a$%' ESCAPE '$' AS h FROM orders;

-- the function reverse is not translated: characters may be made of several; turn them around before
SELECT reverse(customer) AS h FROM orders;

-- the function json_extract is not translated: JSON is not translated; read it with columns => {…}
SELECT json_extract(customer, '$.a') AS h FROM orders;

-- the arrow -> of JSON is not translated; write it in another way
SELECT customer -> '$.a' AS h FROM orders;

-- the function nosuch is not translated; see docs/duckdb.md for those that are
SELECT nosuch(customer) AS h FROM orders;

-- the function lenght is not translated; did you mean length?
SELECT lenght(customer) AS h FROM orders;

-- a function behind a point is not translated; write function(value, …)
SELECT customer.upper() AS h FROM orders;

-- DISTINCT ON without ORDER BY takes any row; add ORDER BY
SELECT DISTINCT ON (customer) customer, id FROM orders;

-- PIVOT without a list of values, whose columns nobody knows; write ON y IN (1, 2)
PIVOT orders ON region USING sum(qty) GROUP BY customer;

-- a text made of a DOUBLE; cast it to DECIMAL, BIGINT or TIMESTAMP, or use strftime; for lists, list_concat
SELECT x::DOUBLE::VARCHAR AS h FROM v;

-- TRY_CAST to TIMESTAMP_NTZ is not translated; use CAST, or strptime
SELECT TRY_CAST(customer AS TIMESTAMP) AS h FROM orders;

-- a cast of a list, struct or map is not translated; cast its elements, as in [x::VARCHAR FOR x IN list]
SELECT [1, 2]::VARCHAR[] AS h;

-- values of a text and of another type beside each other; cast them
SELECT coalesce(1, 'x') AS h;

-- arithmetic with a text; cast it, as in x::INTEGER or x::DATE
SELECT '1' + id AS h FROM orders;

-- '2024' is not translated as a date; write YYYY-MM-DD HH:MM:SS
SELECT '2024'::DATE AS h;

-- a division of FLOATs; cast to DOUBLE before dividing
SELECT 1::FLOAT / 2 AS h;

-- list with DISTINCT; sort it: list(x ORDER BY x) of a subquery
SELECT list(DISTINCT customer) AS h FROM orders;

-- IGNORE NULLS is not translated; filter the rows before
SELECT lag(amount) IGNORE NULLS OVER (ORDER BY id) AS h FROM orders;

-- place 0 of a list; places are counted from 1
SELECT [1, 2][0] AS h;

-- the table function glob is not translated; use a table
SELECT file FROM glob('*');

-- read_csv without header, which would be guessed; write header = true
SELECT id FROM read_csv('data/x.csv', columns = {'id': 'INTEGER'});

-- read_json without columns, whose types would be guessed; write columns = {'id': 'BIGINT', 'name': 'VARCHAR'}
SELECT id FROM read_json('data/x.json');

-- the option filename of read_parquet is not translated; leave it out
SELECT id FROM read_parquet('data/x.parquet', filename = true);

-- INSERT is not translated; before the SELECT stand only ATTACH, SET, LOAD and CREATE TEMP TABLE or VIEW
INSERT INTO orders SELECT * FROM orders;

-- CREATE MACRO of this form is not translated; before the SELECT stand only ATTACH, SET, LOAD and CREATE TEMP TABLE or VIEW
CREATE MACRO f(a) AS a + 1;

-- CREATE TABLE of this form is not translated; before the SELECT stand only ATTACH, SET, LOAD and CREATE TEMP TABLE or VIEW
CREATE TABLE x AS SELECT 1 AS a;

-- the setting default_null_order is not translated; leave it out
SET default_null_order = 'nulls_first';

-- USE is not translated; write the lake before the names of tables
USE dl;

-- the extension 'spatial' is not known; leave it out, or use aws, azure, core_functions, ducklake, httpfs, icu, json, parquet
LOAD spatial;

-- FILTER of a window is not translated; use CASE WHEN … THEN … END
SELECT count(*) FILTER (amount > 6) OVER (ORDER BY id) AS a FROM orders;

-- id in an expression of ORDER BY may mean a column or the name given in SELECT; give it a name that no column has, and use it in a query around this one
SELECT -id AS id FROM orders ORDER BY id + 0 LIMIT 1;

-- region in an expression of HAVING may mean a column or the name given in SELECT; give it a name that no column has, and use it in a query around this one
SELECT upper(region) AS region, count(*) AS c FROM orders GROUP BY region HAVING region = 'EU';

-- an order of lists or structs, in which NULL has another place; compare elements
SELECT [1, NULL] < [1, 2] AS a;

-- values of a text and of another type beside each other; cast them
SELECT id::INTEGER AS a FROM orders UNION ALL SELECT upper(customer) FROM orders;

-- a FLOAT beside another number, which is a FLOAT in DuckDB and a DOUBLE in Spark; cast it to DOUBLE or DECIMAL
SELECT 1.5::FLOAT + 1 AS a;

-- a star inside an expression is not translated; write it in another way
SELECT * LIKE 'a%' FROM orders;

-- a window that adds to a named one; write it out
SELECT sum(qty) OVER (w ROWS 3 PRECEDING) AS a FROM orders WINDOW w AS (ORDER BY id);

-- o.id of one table in EXCLUDE; write t.* EXCLUDE (…)
SELECT * EXCLUDE (o.id) FROM orders AS o;

-- AT (TIMESTAMP => …) is not translated; use AT (VERSION => 3)
SELECT id FROM orders AT (TIMESTAMP => TIMESTAMP '2024-01-01 00:00:00');

-- QUALIFY beside DISTINCT ON; use a subquery
SELECT DISTINCT ON (customer) customer, id FROM orders QUALIFY row_number() OVER (ORDER BY id DESC) <= 3 ORDER BY customer, id;

-- customer in an expression of DISTINCT ON may mean a column or the name given in SELECT; give it a name that no column has, and use it in a query around this one
SELECT DISTINCT ON (customer || '') upper(customer) AS customer, id FROM orders ORDER BY customer, id;

-- the columns of * with REPLACE, RENAME, USING or NATURAL stand elsewhere in Spark, and a list of names counts them; name the columns
SELECT a, b FROM (SELECT * REPLACE (-a AS a) FROM (VALUES (1, 2)) AS t(a, b)) AS q(a, b);

-- the columns of * with REPLACE, RENAME, USING or NATURAL stand elsewhere in Spark, and a list of names counts them; name the columns
WITH q(a, b) AS (SELECT * RENAME (a AS c) FROM (VALUES (1, 2)) AS t(a, b)) SELECT a, b FROM q;

-- the columns of * with REPLACE, RENAME, USING or NATURAL stand elsewhere in Spark, and ORDER BY by a number or ALL counts them; name the columns
SELECT * REPLACE (-id AS id) FROM orders ORDER BY 1 LIMIT 1;

-- the columns of * with REPLACE, RENAME, USING or NATURAL stand elsewhere in Spark, and ORDER BY by a number or ALL counts them; name the columns
WITH t AS (SELECT * REPLACE (-id AS id) FROM orders) FROM t ORDER BY ALL LIMIT 1;

-- the columns of * with REPLACE, RENAME, USING or NATURAL stand elsewhere in Spark, and UNION counts them; name the columns
SELECT * FROM (VALUES (1, 2)) AS a(p, k) JOIN (VALUES (2, 3)) AS b(k, r) USING (k) UNION ALL SELECT 7, 8, 9;

-- the columns of * with REPLACE, RENAME, USING or NATURAL stand elsewhere in Spark, and EXCEPT counts them; name the columns
SELECT t.* FROM (VALUES (1, 2)) AS t(p, k) NATURAL JOIN (VALUES (2)) AS b(k) EXCEPT SELECT 7, 8;

-- the columns of * with REPLACE, RENAME, USING or NATURAL stand elsewhere in Spark, and UNION counts them; name the columns
CREATE TEMP TABLE t AS SELECT * REPLACE (-a AS a) FROM (VALUES (1, 2)) AS t(a, b);
SELECT * FROM t UNION ALL SELECT 7, 8;

-- step is made anew after kept was made from it, which keeps its rows in DuckDB only; give it another name
CREATE TEMP TABLE step AS SELECT 1 AS x;
CREATE TEMP TABLE kept AS FROM step;
CREATE OR REPLACE TEMP TABLE step AS SELECT 2 AS x;
SELECT x FROM kept;

-- step is made anew from itself; give it another name
CREATE TEMP TABLE step AS SELECT 1 AS x;
CREATE OR REPLACE TEMP TABLE step AS SELECT x + 1 AS x FROM step;
SELECT x FROM step;

-- a pattern that may match nothing, with the option g; use + instead of *
SELECT regexp_replace(customer, 'a*', '-', 'g') AS h FROM orders;

-- regexp_extract_all of a group that a match may go without, which is NULL in DuckDB; take group 0, or put ( ) around the choice
SELECT regexp_extract_all(customer, '(a)|b', 1) AS h FROM orders;

-- a text that is split at ^, \b or a pattern that may match nothing; split at characters
SELECT string_split_regex(customer, 'n*') AS h FROM orders;

-- a text that is split at ^, \b or a pattern that may match nothing; split at characters
SELECT string_split_regex(customer, '^a') AS h FROM orders;

-- '(a*)*' repeats what may be empty; use + inside or outside, not both
SELECT regexp_extract(customer, '(a*)*', 1) AS h FROM orders;

-- \2 in a replacement, of a pattern with 1 groups; put what is to be kept into brackets
SELECT regexp_replace(customer, '(a)', '\2') AS h FROM orders;

-- regexp_replace with more than 6 groups; use (?:…) for some
SELECT regexp_replace(customer, '(a)(b)(c)(d)(e)(f)(g)', '\7') AS h FROM orders;

-- İ or ı in a class with the option i; write it beside the class
SELECT regexp_matches(customer, '[xı]', 'i') AS h FROM orders;

-- PIVOT of a count, which is 0 in DuckDB where there is nothing and NULL in Spark; write PIVOT t ON y IN (1, 2) USING count(x) GROUP BY z
SELECT * FROM (SELECT customer, region, qty FROM orders) PIVOT (count(qty) FOR region IN ('eu', 'us'));

-- generate_series with a computed step or none; write the step
SELECT d FROM generate_series(DATE '2024-01-01', DATE '2024-01-09', INTERVAL (1 + 1) DAY) AS t(d);

-- unnest beside a window; use a subquery
SELECT unnest(l) AS x, row_number() OVER (ORDER BY id) AS r FROM lists;

-- unnest beside QUALIFY or DISTINCT ON; use a subquery
SELECT id, unnest(l) AS x FROM lists QUALIFY row_number() OVER (ORDER BY id) = 1;

-- unnest of several lists in one SELECT; use a subquery
SELECT unnest(l) AS x, unnest(l) AS y FROM lists;

-- a text made of a DECIMAL without digits before the point; cast it to one with a digit before it, as in x::DECIMAL(3,2)
SELECT '0.05'::DECIMAL(2,2) || '' AS h;

-- a DOUBLE as a DECIMAL with more than 17 digits behind the point; use fewer, as in x::DECIMAL(38,10)
SELECT 1.7::DOUBLE::DECIMAL(38,18) AS h;

-- read_csv of texts with a nullstr, beside which Spark takes empty fields for NULL; leave it out, and use nullif(column, 'NA')
SELECT id FROM read_csv('data/x.csv', header = true, columns = {'id': 'VARCHAR'}, nullstr = 'NA');

-- hive_partitioning of read_parquet is not translated; write hive_partitioning = false, and take the columns of the files
SELECT id FROM read_parquet('data/*/x.parquet', hive_partitioning = true);

-- read_parquet of folders, of which DuckDB makes columns if they are called like day=1; write hive_partitioning = false
SELECT id FROM 'data/day=1/x.parquet';

-- read_parquet of folders, of which DuckDB makes columns if they are called like day=1; write hive_partitioning = false
SELECT id FROM read_parquet('data/*/x.parquet');

-- read_json of folders, of which DuckDB makes columns if they are called like day=1; write hive_partitioning = false
SELECT id FROM read_json('data/day=' || '{partition}' || '/x.json', columns = {'id': 'BIGINT'});

-- the pattern '[z-a]' does not parse: bad character range z-a at position 1; correct it
SELECT regexp_matches(customer, '[z-a]', 'i') AS h FROM orders;

-- group 1 of a pattern with 0 groups; take one that it has
SELECT regexp_extract(customer, 'a+', 1) AS h FROM orders;

-- regexp_extract_all of ^, $ or \b that may match nothing; put a character beside it
SELECT regexp_extract_all(customer, '\b') AS h FROM orders;

-- ^^ in a pattern, which RE2 never finds; write ^ once
SELECT regexp_matches(customer, '^^a') AS h FROM orders;

-- count with DISTINCT over a window; use a subquery with GROUP BY
SELECT count(DISTINCT customer) OVER (PARTITION BY region) AS a FROM orders;

-- the variable x, which is a column in DuckDB if there is one; give it a name that nothing else has
SELECT x, [x FOR x IN l IF x > 1] AS a FROM v;

-- the variable o, which is a column in DuckDB if there is one; give it a name that nothing else has
SELECT list_transform(o.l, lambda o: o.k) AS a FROM orders AS o;

-- structs whose fields stand in another order; write them in one
SELECT {'a': 1, 'b': 2} AS s UNION ALL SELECT {'b': 3, 'a': 4};

-- LATERAL of something else than a query; use a subquery
SELECT id, k FROM lists, LATERAL range(3) AS t(k);

-- unnest inside an expression; use a subquery
SELECT trim(unnest(string_split(customer, ','))) AS h FROM orders;

-- the format 'unstructured' of read_json; use array or newline_delimited
SELECT id FROM read_json('data/x.json', format = 'unstructured', columns = {'id': 'BIGINT'});

-- row_number over rows without an order; add ORDER BY
SELECT id, row_number() OVER () AS r FROM orders;

-- a place right behind list(…) is not translated; put it in brackets, as in (list(x))[1]
SELECT list(id ORDER BY id)[1] AS a FROM orders;

-- ORDER BY something else than a column of the SELECT, beside ROLLUP or its like; give it a name in SELECT, or order in a query around this one
SELECT region, count(*) AS c FROM orders GROUP BY ROLLUP (region) ORDER BY sum(qty);

-- a window beside ROLLUP or its like; use a subquery
SELECT region, rank() OVER (ORDER BY count(*)) AS r FROM orders GROUP BY ROLLUP (region);

-- DISTINCT beside ROLLUP or its like; use a subquery
SELECT DISTINCT count(*) AS c FROM orders GROUP BY CUBE (region);
