package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"
)

// undurable is what warnUndurable says.
const undurable = "MySQL may lose orders that clients were told of: set innodb_flush_log_at_trx_commit=1, " +
	"sync_binlog=1 and log_bin"

// warnUndurable warns if MySQL, when it or its machine dies, may lose an order that it has committed, or
// has shown before it was on disk. A node of Galera may: the others have the order. It says nothing if
// the server does not tell.
func warnUndurable(ctx context.Context, log *slog.Logger, db *sqlx.DB) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var variables []struct {
		Name  string `db:"Variable_name"`
		Value string `db:"Value"`
	}
	err := db.SelectContext(ctx, &variables, `SHOW GLOBAL VARIABLES WHERE Variable_name IN
		('innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'wsrep_on')`)
	set := map[string]string{}
	for _, v := range variables {
		set[v.Name] = v.Value
	}
	const flush, binlog, sync = "innodb_flush_log_at_trx_commit", "log_bin", "sync_binlog"
	if err != nil || set[flush] == "" || set["wsrep_on"] == "ON" {
		return
	}
	if set[flush] != "1" || set[binlog] != "ON" || set[sync] != "1" {
		log.Warn(undurable, flush, set[flush], binlog, set[binlog], sync, set[sync])
	}
}
