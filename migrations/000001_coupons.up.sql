CREATE TABLE IF NOT EXISTS coupons (
    id            BIGINT       NOT NULL,
    name          VARCHAR(100) NOT NULL,
    begin_time    DATETIME(3)  NOT NULL,
    end_time      DATETIME(3)  NOT NULL,
    initial_stock INT          NOT NULL,
    -- Signed and without a CHECK: the UPDATE that decrements it is the guard.
    -- The experiments remove that guard, and a stock below 0 must then be seen.
    stock         INT          NOT NULL,
    version       BIGINT       NOT NULL DEFAULT 0,
    created_at    DATETIME(3)  NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
