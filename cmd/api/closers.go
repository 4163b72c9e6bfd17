package main

import (
	"io"
	"slices"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
)

// closers collects what has been opened, so that it can be closed at the end or
// when a later part fails to open.
type closers struct {
	funcs   []func()
	account connect.Account // of all MySQL pools
}

func (c *closers) add(close func()) { c.funcs = append(c.funcs, close) }

func (c *closers) addCloser(closer io.Closer) { c.add(func() { _ = closer.Close() }) }

// close closes everything, the last opened first, because later parts use
// earlier ones.
func (c *closers) close() {
	for _, close := range slices.Backward(c.funcs) {
		close()
	}
	c.funcs = nil
}

// mysql opens a MySQL pool that close closes.
func (c *closers) mysql(dsn string, conns int, options ...connect.Option) (*sqlx.DB, error) {
	db, err := connect.MySQL(dsn, conns, append(slices.Clip(options), connect.SharedBy(&c.account))...)
	if err == nil {
		c.addCloser(db)
	}
	return db, err
}

// redis opens a Redis pool that close closes.
func (c *closers) redis(url string, conns int) (redis.UniversalClient, error) {
	rdb, err := connect.Redis(url, conns)
	if err == nil {
		c.addCloser(rdb)
	}
	return rdb, err
}
