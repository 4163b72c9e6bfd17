-- Where Vitess has the order: see coupon.ShardKey. NULL on a database that is not sharded.
ALTER TABLE coupon_orders
    ADD COLUMN shard_key BIGINT NULL
