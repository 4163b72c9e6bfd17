DROP TABLE IF EXISTS coupon_rules
