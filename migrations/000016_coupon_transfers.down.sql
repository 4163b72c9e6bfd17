DROP TABLE IF EXISTS coupon_transfers
