-- The name stays, because statements of older binaries force this index. There is
-- a unique key at every moment.
ALTER TABLE coupon_orders
    DROP KEY one_each,
    ADD UNIQUE KEY one_each (coupon_id, user_id, number)
