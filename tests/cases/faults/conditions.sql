-- pipeline
-- on lake://main/orders map=start_of_quarter
-- on lake://main/returns map=start_of_week
-- on lake://main/prices map=start_of_quarter
-- on schedule "0 6 * * *"
-- trigger (lake://main/orders & lake://main/retruns) | lake://main/customers
-- materialize lake://main/report
SELECT 1 AS one
-- ===> becomes
conditions.sql:3: map=start_of_week makes other keys than map=start_of_quarter of line 2, so that they never meet; use the same mapper, or add a partitioned line that says what the keys are
conditions.sql:4: 'on lake://main/prices' could never matter: the 'trigger' line leaves it out; name it there, or remove this line: what is only read needs none
conditions.sql:5: 'on schedule' could never matter: the 'trigger' line leaves it out; name it there, or remove this line: what is only read needs none
conditions.sql:6: 'trigger' names lake://main/customers, and no 'on' line does; add the line 'on lake://main/customers'
conditions.sql:6: 'trigger' names lake://main/retruns, and no 'on' line does; did you mean lake://main/returns?
