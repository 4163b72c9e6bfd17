DROP TABLE IF EXISTS coupon_holds
