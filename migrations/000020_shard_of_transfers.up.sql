-- Where Vitess has the segment: see coupon.ShardKey.
ALTER TABLE coupon_transfers
    ADD COLUMN shard_key BIGINT NULL
