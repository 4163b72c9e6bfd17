-- What the changes of name and window were, before and after: a row for each row of
-- coupon_changes whose action is update. A table of its own, because not every
-- server can add a column in a statement that can be repeated.
CREATE TABLE IF NOT EXISTS coupon_updates (
    change_id       BIGINT       NOT NULL,
    name_from       VARCHAR(100) NOT NULL,
    name_to         VARCHAR(100) NOT NULL,
    begin_time_from DATETIME(3)  NOT NULL,
    begin_time_to   DATETIME(3)  NOT NULL,
    end_time_from   DATETIME(3)  NOT NULL,
    end_time_to     DATETIME(3)  NOT NULL,
    PRIMARY KEY (change_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
