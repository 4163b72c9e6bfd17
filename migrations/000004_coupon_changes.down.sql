DROP TABLE IF EXISTS coupon_changes
