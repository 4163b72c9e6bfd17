CREATE TABLE IF NOT EXISTS coupon_changes (
    id                 BIGINT      NOT NULL AUTO_INCREMENT,
    coupon_id          BIGINT      NOT NULL,
    admin_id           BIGINT      NOT NULL,
    action             VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    -- The coupon before the change, zero if it was created, and after it.
    initial_stock_from INT         NOT NULL,
    initial_stock_to   INT         NOT NULL,
    stock_from         INT         NOT NULL,
    stock_to           INT         NOT NULL,
    created_at         DATETIME(3) NOT NULL,
    PRIMARY KEY (id),
    KEY by_coupon (coupon_id, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
