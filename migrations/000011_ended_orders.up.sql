-- The orders that count are in coupon_orders. One that ends moves here in the
-- transaction that gives its unit back.
CREATE TABLE IF NOT EXISTS coupon_orders_ended (
    id         BIGINT           NOT NULL,
    coupon_id  BIGINT           NOT NULL,
    user_id    BIGINT           NOT NULL,
    number     TINYINT UNSIGNED NOT NULL,
    created_at DATETIME(3)      NOT NULL,
    ended_at   DATETIME(3)      NOT NULL,
    how        VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- returned, expired
    ended_by   BIGINT           NULL, -- the user who returned it; NULL if it expired
    PRIMARY KEY (id),
    KEY by_user (user_id, id),
    KEY by_coupon (coupon_id, user_id, number, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
