CREATE TABLE coupons (
    id            BIGINT       NOT NULL,
    name          VARCHAR(100) NOT NULL,
    begin_time    DATETIME(3)  NOT NULL,
    end_time      DATETIME(3)  NOT NULL,
    initial_stock INT          NOT NULL,
    -- Signed and without a CHECK: the guard is the statement that takes the
    -- stock. The lab takes that guard away and must be able to see the damage.
    stock         INT          NOT NULL,
    version       BIGINT       NOT NULL DEFAULT 0,
    created_at    DATETIME(3)  NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
