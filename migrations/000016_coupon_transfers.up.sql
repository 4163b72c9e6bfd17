-- The units that segments of a coupon have ever sent each other. A transfer is a row at
-- each end: segment = origin with the units sent, and segment = target with those that
-- have arrived, negative. Their sum is under way.
CREATE TABLE IF NOT EXISTS coupon_transfers (
    coupon_id BIGINT   NOT NULL,
    segment   SMALLINT NOT NULL,
    origin    SMALLINT NOT NULL,
    target    SMALLINT NOT NULL,
    units     BIGINT   NOT NULL,
    PRIMARY KEY (coupon_id, segment, origin, target)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
