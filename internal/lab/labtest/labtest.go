// Package labtest gives tests real servers with data of their own.
package labtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/migrations"
)

var (
	shared   *lab.Lab
	database = sync.OnceValues(func() (*lab.MySQL, error) { return shared.MySQL() })
	counter  atomic.Int64
)

// Main is the body of TestMain in every package that uses this one: it opens
// the lab of this test binary and closes it, with all servers, at the end.
func Main(m *testing.M) {
	l, err := lab.Open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared = l
	code := m.Run()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Lab is the lab of this test binary.
func Lab(tb testing.TB) *lab.Lab {
	tb.Helper()
	if shared == nil {
		tb.Fatal("labtest: the package's TestMain does not call labtest.Main")
	}
	return shared
}

// Redis starts a Redis that belongs to this test alone.
func Redis(tb testing.TB, args ...string) *lab.Redis {
	tb.Helper()
	r, err := Lab(tb).Redis(args...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Kill)
	return r
}

// Dial opens a client of r.
func Dial(tb testing.TB, r *lab.Redis) redis.UniversalClient {
	tb.Helper()
	return DialURL(tb, r.URL)
}

// DialURL opens a client as the service does.
func DialURL(tb testing.TB, url string) redis.UniversalClient {
	tb.Helper()
	rdb, err := connect.Redis(url, 64)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// MySQL starts a database server that belongs to this test alone, for tests
// that stop or pause it. Others share one by DSN or DB.
func MySQL(tb testing.TB) *lab.MySQL {
	tb.Helper()
	m, err := Lab(tb).MySQL()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(m.Kill)
	return m
}

// EmptyDatabase makes a database without tables in m and returns its DSN.
func EmptyDatabase(tb testing.TB, m *lab.MySQL) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	name := fmt.Sprintf("t%d", counter.Add(1))
	dsn, err := m.Create(ctx, name)
	if err != nil {
		tb.Fatal(err)
	}
	return dsn
}

// DSN makes a migrated database of its own in this binary's server.
func DSN(tb testing.TB) string {
	tb.Helper()
	Lab(tb)
	m, err := database()
	if err != nil {
		tb.Fatal(err)
	}
	dsn := EmptyDatabase(tb, m)
	Migrate(tb, Open(tb, dsn))
	return dsn
}

// Migrate brings db's schema up to date.
func Migrate(tb testing.TB, db *sqlx.DB) {
	tb.Helper()
	if err := migrations.Up(context.Background(), db.DB); err != nil {
		tb.Fatal(err)
	}
}

// DB is an open pool on a migrated database of its own.
func DB(tb testing.TB) *sqlx.DB {
	tb.Helper()
	return Open(tb, DSN(tb))
}

// Open opens a pool that the test closes at its end.
func Open(tb testing.TB, dsn string, options ...connect.Option) *sqlx.DB {
	tb.Helper()
	db, err := connect.MySQL(dsn, 32, options...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// Name is a key of at most 40 bytes that no other test of this binary uses.
func Name(tb testing.TB) string {
	base := strings.NewReplacer("/", ".", " ", "_").Replace(tb.Name())
	return fmt.Sprintf("%.30s.%d", base, counter.Add(1))
}
