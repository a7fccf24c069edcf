-- The queries of TPC-H, with the values of its specification.
-- table part (p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment)
-- table supplier (s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment)
-- table partsupp (ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment)
-- table customer (c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment)
-- table orders (o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment)
-- table lineitem (l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment)
-- table nation (n_nationkey, n_name, n_regionkey, n_comment)
-- table region (r_regionkey, r_name, r_comment)

-- name: Q1
SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty,
       sum(l_extendedprice) AS sum_base_price,
       sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
       sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
       avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc,
       count(*) AS count_order
FROM lineitem
WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus;
-- > l_returnflag = identity l_returnflag
-- > l_linestatus = identity l_linestatus
-- > sum_qty = aggregation l_quantity
-- > sum_base_price = aggregation l_extendedprice
-- > sum_disc_price = aggregation l_extendedprice l_discount
-- > sum_charge = aggregation l_extendedprice l_discount l_tax
-- > avg_qty = aggregation l_quantity
-- > avg_price = aggregation l_extendedprice
-- > avg_disc = aggregation l_discount
-- > count_order =
-- > rows = filter l_shipdate; group l_returnflag l_linestatus; order l_returnflag l_linestatus

-- name: Q2
SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM part, supplier, partsupp, nation, region
WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 15 AND p_type LIKE '%BRASS'
  AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
  AND ps_supplycost = (
    SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region
    WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
      AND n_regionkey = r_regionkey AND r_name = 'EUROPE')
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
LIMIT 100;
-- > s_acctbal = identity s_acctbal
-- > s_name = identity s_name
-- > n_name = identity n_name
-- > p_partkey = identity p_partkey
-- > p_mfgr = identity p_mfgr
-- > s_address = identity s_address
-- > s_phone = identity s_phone
-- > s_comment = identity s_comment
-- > rows = filter p_partkey ps_partkey s_suppkey ps_suppkey p_size p_type s_nationkey n_nationkey n_regionkey r_regionkey r_name ps_supplycost; order s_acctbal n_name s_name p_partkey

-- name: Q3
SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer, orders, lineitem
WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
  AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
GROUP BY l_orderkey, o_orderdate, o_shippriority
ORDER BY revenue DESC, o_orderdate
LIMIT 10;
-- > l_orderkey = identity l_orderkey
-- > revenue = aggregation l_extendedprice l_discount
-- > o_orderdate = identity o_orderdate
-- > o_shippriority = identity o_shippriority
-- > rows = filter c_mktsegment c_custkey o_custkey l_orderkey o_orderkey o_orderdate l_shipdate; group l_orderkey o_orderdate o_shippriority; order l_extendedprice l_discount o_orderdate

-- name: Q4
SELECT o_orderpriority, count(*) AS order_count
FROM orders
WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-07-01' + INTERVAL '3' MONTH
  AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
GROUP BY o_orderpriority
ORDER BY o_orderpriority;
-- > o_orderpriority = identity o_orderpriority
-- > order_count =
-- > rows = filter o_orderdate l_orderkey o_orderkey l_commitdate l_receiptdate; group o_orderpriority; order o_orderpriority

-- name: Q5
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer, orders, lineitem, supplier, nation, region
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey
  AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey
  AND r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01'
  AND o_orderdate < DATE '1994-01-01' + INTERVAL '1' YEAR
GROUP BY n_name
ORDER BY revenue DESC;
-- > n_name = identity n_name
-- > revenue = aggregation l_extendedprice l_discount
-- > rows = filter c_custkey o_custkey l_orderkey o_orderkey l_suppkey s_suppkey c_nationkey s_nationkey n_nationkey n_regionkey r_regionkey r_name o_orderdate; group n_name; order l_extendedprice l_discount

-- name: Q6
SELECT sum(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
  AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24;
-- > revenue = aggregation l_extendedprice l_discount
-- > rows = filter l_shipdate l_discount l_quantity

-- name: Q7
SELECT supp_nation, cust_nation, l_year, sum(volume) AS revenue
FROM (
  SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, extract(year FROM l_shipdate) AS l_year,
         l_extendedprice * (1 - l_discount) AS volume
  FROM supplier, lineitem, orders, customer, nation n1, nation n2
  WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
    AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
    AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY')
      OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
    AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
) AS shipping
GROUP BY supp_nation, cust_nation, l_year
ORDER BY supp_nation, cust_nation, l_year;
-- > supp_nation = identity n_name
-- > cust_nation = identity n_name
-- > l_year = expression l_shipdate
-- > revenue = aggregation l_extendedprice l_discount
-- > rows = filter s_suppkey l_suppkey o_orderkey l_orderkey c_custkey o_custkey s_nationkey n_nationkey c_nationkey n_name l_shipdate; group n_name l_shipdate; order n_name l_shipdate

-- name: Q8
SELECT o_year, sum(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) AS mkt_share
FROM (
  SELECT extract(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume,
         n2.n_name AS nation
  FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
  WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey
    AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey
    AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey
    AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
    AND p_type = 'ECONOMY ANODIZED STEEL'
) AS all_nations
GROUP BY o_year
ORDER BY o_year;
-- > o_year = expression o_orderdate
-- > mkt_share = aggregation l_extendedprice l_discount; conditional n_name
-- > rows = filter p_partkey l_partkey s_suppkey l_suppkey l_orderkey o_orderkey o_custkey c_custkey c_nationkey n_nationkey n_regionkey r_regionkey r_name s_nationkey o_orderdate p_type; group o_orderdate; order o_orderdate

-- name: Q9
SELECT nation, o_year, sum(amount) AS sum_profit
FROM (
  SELECT n_name AS nation, extract(year FROM o_orderdate) AS o_year,
         l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
  FROM part, supplier, lineitem, partsupp, orders, nation
  WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey
    AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey
    AND p_name LIKE '%green%'
) AS profit
GROUP BY nation, o_year
ORDER BY nation, o_year DESC;
-- > nation = identity n_name
-- > o_year = expression o_orderdate
-- > sum_profit = aggregation l_extendedprice l_discount ps_supplycost l_quantity
-- > rows = filter s_suppkey l_suppkey ps_suppkey ps_partkey l_partkey p_partkey o_orderkey l_orderkey s_nationkey n_nationkey p_name; group n_name o_orderdate; order n_name o_orderdate

-- name: Q10
SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name,
       c_address, c_phone, c_comment
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01'
  AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH AND l_returnflag = 'R'
  AND c_nationkey = n_nationkey
GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
ORDER BY revenue DESC
LIMIT 20;
-- > c_custkey = identity c_custkey
-- > c_name = identity c_name
-- > revenue = aggregation l_extendedprice l_discount
-- > c_acctbal = identity c_acctbal
-- > n_name = identity n_name
-- > c_address = identity c_address
-- > c_phone = identity c_phone
-- > c_comment = identity c_comment
-- > rows = filter c_custkey o_custkey l_orderkey o_orderkey o_orderdate l_returnflag c_nationkey n_nationkey; group c_custkey c_name c_acctbal c_phone n_name c_address c_comment; order l_extendedprice l_discount

-- name: Q11
SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value
FROM partsupp, supplier, nation
WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY'
GROUP BY ps_partkey
HAVING sum(ps_supplycost * ps_availqty) > (
  SELECT sum(ps_supplycost * ps_availqty) * 0.0001 FROM partsupp, supplier, nation
  WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY')
ORDER BY value DESC;
-- > ps_partkey = identity ps_partkey
-- > value = aggregation ps_supplycost ps_availqty
-- > rows = filter ps_suppkey s_suppkey s_nationkey n_nationkey n_name ps_supplycost ps_availqty; group ps_partkey; order ps_supplycost ps_availqty

-- name: Q12
SELECT l_shipmode,
       sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
       sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count
FROM orders, lineitem
WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
  AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01'
  AND l_receiptdate < DATE '1994-01-01' + INTERVAL '1' YEAR
GROUP BY l_shipmode
ORDER BY l_shipmode;
-- > l_shipmode = identity l_shipmode
-- > high_line_count = conditional o_orderpriority
-- > low_line_count = conditional o_orderpriority
-- > rows = filter o_orderkey l_orderkey l_shipmode l_commitdate l_receiptdate l_shipdate; group l_shipmode; order l_shipmode

-- name: Q13
SELECT c_count, count(*) AS custdist
FROM (
  SELECT c_custkey, count(o_orderkey)
  FROM customer LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%'
  GROUP BY c_custkey
) AS c_orders (c_custkey, c_count)
GROUP BY c_count
ORDER BY custdist DESC, c_count DESC;
-- > c_count = aggregation o_orderkey
-- > custdist =
-- > rows = join c_custkey o_custkey o_comment; group c_custkey o_orderkey; order o_orderkey

-- name: Q14
SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
       / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
FROM lineitem, part
WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01'
  AND l_shipdate < DATE '1995-09-01' + INTERVAL '1' MONTH;
-- > promo_revenue = aggregation l_extendedprice l_discount; conditional p_type
-- > rows = filter l_partkey p_partkey l_shipdate

-- name: Q15
WITH revenue (supplier_no, total_revenue) AS (
  SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) FROM lineitem
  WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-01-01' + INTERVAL '3' MONTH
  GROUP BY l_suppkey)
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
FROM supplier, revenue
WHERE s_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue)
ORDER BY s_suppkey;
-- > s_suppkey = identity s_suppkey
-- > s_name = identity s_name
-- > s_address = identity s_address
-- > s_phone = identity s_phone
-- > total_revenue = aggregation l_extendedprice l_discount
-- > rows = filter l_shipdate s_suppkey l_suppkey l_extendedprice l_discount; group l_suppkey; order s_suppkey

-- name: Q16
SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt
FROM partsupp, part
WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%'
  AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
  AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
GROUP BY p_brand, p_type, p_size
ORDER BY supplier_cnt DESC, p_brand, p_type, p_size;
-- > p_brand = identity p_brand
-- > p_type = identity p_type
-- > p_size = identity p_size
-- > supplier_cnt = aggregation ps_suppkey
-- > rows = filter p_partkey ps_partkey p_brand p_type p_size ps_suppkey s_suppkey s_comment; group p_brand p_type p_size; order ps_suppkey p_brand p_type p_size

-- name: Q17
SELECT sum(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX'
  AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey);
-- > avg_yearly = aggregation l_extendedprice
-- > rows = filter p_partkey l_partkey p_brand p_container l_quantity

-- name: Q18
SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS qty
FROM customer, orders, lineitem
WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300)
  AND c_custkey = o_custkey AND o_orderkey = l_orderkey
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
ORDER BY o_totalprice DESC, o_orderdate
LIMIT 100;
-- > c_name = identity c_name
-- > c_custkey = identity c_custkey
-- > o_orderkey = identity o_orderkey
-- > o_orderdate = identity o_orderdate
-- > o_totalprice = identity o_totalprice
-- > qty = aggregation l_quantity
-- > rows = filter o_orderkey l_orderkey l_quantity c_custkey o_custkey; group c_name c_custkey o_orderkey o_orderdate o_totalprice; order o_totalprice o_orderdate

-- name: Q19
SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem, part
WHERE (p_partkey = l_partkey AND p_brand = 'Brand#12'
       AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND l_quantity >= 1
       AND l_quantity <= 1 + 10 AND p_size BETWEEN 1 AND 5
       AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')
   OR (p_partkey = l_partkey AND p_brand = 'Brand#23'
       AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND l_quantity >= 10
       AND l_quantity <= 10 + 10 AND p_size BETWEEN 1 AND 10
       AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON');
-- > revenue = aggregation l_extendedprice l_discount
-- > rows = filter p_partkey l_partkey p_brand p_container l_quantity p_size l_shipmode l_shipinstruct

-- name: Q20
SELECT s_name, s_address
FROM supplier, nation
WHERE s_suppkey IN (
    SELECT ps_suppkey FROM partsupp
    WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
      AND ps_availqty > (
        SELECT 0.5 * sum(l_quantity) FROM lineitem
        WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND l_shipdate >= DATE '1994-01-01'
          AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR))
  AND s_nationkey = n_nationkey AND n_name = 'CANADA'
ORDER BY s_name;
-- > s_name = identity s_name
-- > s_address = identity s_address
-- > rows = filter s_suppkey ps_suppkey ps_partkey p_partkey p_name ps_availqty l_quantity l_partkey l_suppkey l_shipdate s_nationkey n_nationkey n_name; order s_name

-- name: Q21
SELECT s_name, count(*) AS numwait
FROM supplier, lineitem l1, orders, nation
WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F'
  AND l1.l_receiptdate > l1.l_commitdate
  AND EXISTS (SELECT * FROM lineitem l2
              WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
  AND NOT EXISTS (SELECT * FROM lineitem l3
                  WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey
                    AND l3.l_receiptdate > l3.l_commitdate)
  AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA'
GROUP BY s_name
ORDER BY numwait DESC, s_name
LIMIT 100;
-- > s_name = identity s_name
-- > numwait =
-- > rows = filter s_suppkey l_suppkey o_orderkey l_orderkey o_orderstatus l_receiptdate l_commitdate s_nationkey n_nationkey n_name; group s_name; order s_name

-- name: Q22
SELECT cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal
FROM (
  SELECT substring(c_phone, 1, 2) AS cntrycode, c_acctbal
  FROM customer
  WHERE substring(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
    AND c_acctbal > (
      SELECT avg(c_acctbal) FROM customer
      WHERE c_acctbal > 0.00 AND substring(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17'))
    AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)
) AS custsale
GROUP BY cntrycode
ORDER BY cntrycode;
-- > cntrycode = expression c_phone
-- > numcust =
-- > totacctbal = aggregation c_acctbal
-- > rows = filter c_phone c_acctbal o_custkey c_custkey; group c_phone; order c_phone
