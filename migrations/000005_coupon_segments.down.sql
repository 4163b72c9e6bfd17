DROP TABLE IF EXISTS coupon_segments
