DROP TABLE IF EXISTS coupon_events
