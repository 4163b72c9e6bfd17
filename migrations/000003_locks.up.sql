CREATE TABLE IF NOT EXISTS locks (
    name       VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    -- Empty when released. The row is kept because it holds the last fence.
    owner      VARCHAR(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    fence      BIGINT UNSIGNED NOT NULL,
    expires_at DATETIME(6) NOT NULL,
    PRIMARY KEY (name),
    KEY by_end (expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
