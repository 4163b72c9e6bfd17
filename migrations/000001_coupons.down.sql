DROP TABLE coupons
