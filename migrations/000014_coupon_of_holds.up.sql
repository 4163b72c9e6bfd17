-- Of the order, by which Vitess finds the shard. NULL in a row of an older binary.
ALTER TABLE coupon_holds
    ADD COLUMN coupon_id BIGINT NULL
