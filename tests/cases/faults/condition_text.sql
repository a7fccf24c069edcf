-- pipeline
-- on lake://main/orders
-- on lake://main/returns
-- trigger (lake://main/orders & lake://main/returns | schedule
SELECT 1 AS one
-- ===> becomes
condition_text.sql:4: the ( at character 1 of '(lake://main/orders & lake://main/returns | schedule' is not closed; add )
