DROP TABLE IF EXISTS coupon_updates
