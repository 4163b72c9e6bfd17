CREATE TABLE IF NOT EXISTS coupon_orders (
    id         BIGINT      NOT NULL,
    coupon_id  BIGINT      NOT NULL,
    user_id    BIGINT      NOT NULL,
    created_at DATETIME(3) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY one_each (coupon_id, user_id),
    KEY by_user (user_id, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
