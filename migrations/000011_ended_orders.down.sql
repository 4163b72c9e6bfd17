DROP TABLE IF EXISTS coupon_orders_ended
