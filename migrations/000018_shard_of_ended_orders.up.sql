-- Where Vitess has the order that has ended: see coupon.ShardKey. NULL on a database that is not sharded.
ALTER TABLE coupon_orders_ended
    ADD COLUMN shard_key BIGINT NULL
