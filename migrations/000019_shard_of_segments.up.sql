-- Where Vitess has the segment: see coupon.ShardKey.
ALTER TABLE coupon_segments
    ADD COLUMN shard_key BIGINT NULL
