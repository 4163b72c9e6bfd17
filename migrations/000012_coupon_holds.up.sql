-- The orders that expire, by the time when they do. A row whose order was used or
-- has ended remains until that time.
CREATE TABLE IF NOT EXISTS coupon_holds (
    expires_at DATETIME(3) NOT NULL,
    order_id   BIGINT      NOT NULL,
    PRIMARY KEY (expires_at, order_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
