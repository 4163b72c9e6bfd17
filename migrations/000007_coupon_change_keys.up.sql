-- The keys under which changes were made, with their results: a row is written in the
-- transaction of its change, so the unique key lets each be made once.
CREATE TABLE IF NOT EXISTS coupon_change_keys (
    admin_id   BIGINT        NOT NULL,
    -- Of the key and of the request that had it first: SHA-256.
    key_hash   VARBINARY(32) NOT NULL,
    request    VARBINARY(32) NOT NULL,
    -- The coupon after the change, as JSON.
    result     BLOB          NOT NULL,
    created_at DATETIME(3)   NOT NULL,
    PRIMARY KEY (admin_id, key_hash),
    KEY by_age (created_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
