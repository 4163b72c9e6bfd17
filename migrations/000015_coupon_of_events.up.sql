-- Of the first order in the body, by which Vitess finds the shard. NULL in a row of an older binary.
ALTER TABLE coupon_events
    ADD COLUMN coupon_id BIGINT NULL
