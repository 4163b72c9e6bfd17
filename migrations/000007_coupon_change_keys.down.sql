DROP TABLE IF EXISTS coupon_change_keys
