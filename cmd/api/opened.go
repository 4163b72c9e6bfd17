package main

import (
	"io"
	"slices"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
)

// opened collects what has been opened, so that it can be closed at the end or when a later part
// fails to open. It keeps the first error of a pool in err, after which pools may be nil.
type opened struct {
	closers []func()
	account connect.Account // of all MySQL pools
	err     error
}

func (o *opened) add(close func()) { o.closers = append(o.closers, close) }

// close closes everything, the last opened first, because later parts use
// earlier ones.
func (o *opened) close() {
	for _, close := range slices.Backward(o.closers) {
		close()
	}
	o.closers = nil
}

// mysql opens a MySQL pool that close closes.
func (o *opened) mysql(dsn string, conns int, options ...connect.Option) *sqlx.DB {
	db, err := connect.MySQL(dsn, conns, append(slices.Clip(options), connect.SharedBy(&o.account))...)
	o.keep(db, err)
	return db
}

// redis opens a Redis pool that close closes.
func (o *opened) redis(url string, conns int) redis.UniversalClient {
	rdb, err := connect.Redis(url, conns)
	o.keep(rdb, err)
	return rdb
}

func (o *opened) keep(pool io.Closer, err error) {
	if err == nil {
		o.add(func() { _ = pool.Close() })
	} else if o.err == nil {
		o.err = err
	}
}
