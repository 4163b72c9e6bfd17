CREATE TABLE IF NOT EXISTS coupon_changes_seq (id BIGINT, next_id BIGINT, cache BIGINT, PRIMARY KEY (id)) COMMENT 'vitess_sequence';
INSERT IGNORE INTO coupon_changes_seq (id, next_id, cache) VALUES (0, 1, 1000);
CREATE TABLE IF NOT EXISTS coupon_events_seq (id BIGINT, next_id BIGINT, cache BIGINT, PRIMARY KEY (id)) COMMENT 'vitess_sequence';
INSERT IGNORE INTO coupon_events_seq (id, next_id, cache) VALUES (0, 1, 1000);
