DROP TABLE coupon_orders
