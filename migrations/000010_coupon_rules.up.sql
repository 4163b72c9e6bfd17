-- What a user may do with a coupon. A coupon without a row has one order for each user,
-- which never expires and cannot be returned by its user.
CREATE TABLE IF NOT EXISTS coupon_rules (
    coupon_id    BIGINT           NOT NULL,
    per_user     TINYINT UNSIGNED NOT NULL,
    hold_seconds INT UNSIGNED     NOT NULL, -- 0: for ever
    returnable   BOOLEAN          NOT NULL,
    PRIMARY KEY (coupon_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
