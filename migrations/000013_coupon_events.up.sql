-- What happened to orders, for other systems: a row for each transaction, until it has
-- been published.
CREATE TABLE IF NOT EXISTS coupon_events (
    id         BIGINT      NOT NULL AUTO_INCREMENT,
    created_at DATETIME(3) NOT NULL,
    body       MEDIUMBLOB  NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
