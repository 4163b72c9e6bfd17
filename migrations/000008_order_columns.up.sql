-- MySQL has no ADD COLUMN IF NOT EXISTS: package migrations takes error 1060 for "was
-- executed", because the statement adds all columns or none.
ALTER TABLE coupon_orders
    ADD COLUMN number     TINYINT UNSIGNED NOT NULL DEFAULT 1,
    ADD COLUMN expires_at DATETIME(3) NULL,
    ADD COLUMN used_at    DATETIME(3) NULL,
    ADD COLUMN used_by    BIGINT NULL,
    ADD COLUMN used_ref   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL
