-- The stock of a coupon that is split over several rows. Segment 0 is
-- coupons.stock; a coupon that is not split has no row here.
CREATE TABLE IF NOT EXISTS coupon_segments (
    coupon_id BIGINT   NOT NULL,
    segment   SMALLINT NOT NULL,
    stock     INT      NOT NULL,
    version   BIGINT   NOT NULL DEFAULT 0,
    PRIMARY KEY (coupon_id, segment)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
