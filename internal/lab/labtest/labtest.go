// Package labtest starts real servers for tests, each test with its own data.
package labtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/migrations"
)

var (
	shared  *lab.Lab
	counter atomic.Int64
)

// Main is the body of TestMain in a package whose tests run what needed lists. It
// opens the test binary's lab, runs the tests, and closes the lab with all its
// servers. If something of needed is missing, it runs no test: it prints the command
// that installs what is missing, and the package fails. With go test -short it runs
// no examples and needs nothing.
func Main(m *testing.M, needed ...*lab.Dependency) {
	flag.Parse()
	setParallel()
	l, err := open(needed)
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

// Parallel is how many parallel tests run at a time. They mostly wait for servers,
// so it is more than there are cores. A TestMain may set more, if most of its tests only
// wait for time-outs.
var Parallel = 8

// setParallel applies Parallel, unless go test was given -parallel.
func setParallel() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", fmt.Sprint(Parallel)); err != nil {
		panic(err)
	}
}

// open opens the lab in which the tests run what needed lists.
func open(needed []*lab.Dependency) (*lab.Lab, error) {
	l, err := lab.Open()
	if err != nil {
		return nil, err
	}
	if testing.Short() {
		skipExamples()
		return l, nil
	}
	if err := l.Require(needed...); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// skipExamples skips all examples, because an example cannot call NeedServers.
func skipExamples() {
	fmt.Println("labtest: no examples, most need real servers, which -short excludes")
	if err := flag.Set("test.skip", "^Example"); err != nil {
		panic(err)
	}
}

// NeedServers skips the test with go test -short. All functions here that start
// or share a server call it.
func NeedServers(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs real servers, which -short excludes")
	}
}

// Lab returns the test binary's lab.
func Lab(tb testing.TB) *lab.Lab {
	tb.Helper()
	NeedServers(tb)
	if shared == nil {
		tb.Fatal("labtest: the package's TestMain does not call labtest.Main")
	}
	return shared
}

// Redis starts a Redis for this test alone, with args added to its command line.
func Redis(tb testing.TB, args ...string) *lab.Redis {
	tb.Helper()
	return Start(tb, func(l *lab.Lab) (*lab.Redis, error) { return lab.StartRedis(l, args...) })
}

// Dial returns a client of r that is closed when the test ends.
func Dial(tb testing.TB, r *lab.Redis) redis.UniversalClient {
	tb.Helper()
	return DialURL(tb, r.URL)
}

// DialURL returns a client of the Redis at url, configured as in the service and
// closed when the test ends.
func DialURL(tb testing.TB, url string) redis.UniversalClient {
	tb.Helper()
	rdb, err := connect.Redis(url, 64)
	check.NoError(tb, err)
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// ExampleRedis starts a Redis for an example, which has no testing.TB, and ends with stop.
func ExampleRedis() (rdb redis.UniversalClient, stop func()) {
	server, err := lab.StartRedis(shared)
	if err == nil {
		rdb, err = connect.Redis(server.URL, 8)
	}
	if err != nil {
		panic(err)
	}
	return rdb, func() { _ = rdb.Close(); server.Kill() }
}

// MySQL starts a database server for this test alone, with args added to its command
// line. Only tests that stop or change the server need it; the others share one server
// by DSN or DB.
func MySQL(tb testing.TB, args ...string) *lab.MySQL {
	tb.Helper()
	return Start(tb, func(l *lab.Lab) (*lab.MySQL, error) { return lab.StartMySQL(l, args...) })
}

// EmptyDatabase creates a database without tables in m and returns its DSN.
func EmptyDatabase(tb testing.TB, m *lab.MySQL) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	name := fmt.Sprintf("t%d", counter.Add(1))
	dsn, err := m.Create(ctx, name)
	check.NoError(tb, err)
	return dsn
}

// DSN creates a migrated database for this test alone in the test binary's
// shared server, and returns its DSN. On a busy machine a connection may take longer
// than the service waits for one.
func DSN(tb testing.TB) string {
	tb.Helper()
	migrated.Do(func() { migrated.copies = copies(tb) })
	dsn := EmptyDatabase(tb, SharedMySQL(tb)) + "?timeout=30s"
	Open(tb, dsn, connect.MultiStatements).MustExec(migrated.copies)
	return dsn
}

// The tables of the first database, which is migrated, are copied for the others: a
// quarter of the work.
var migrated struct {
	sync.Once
	copies string
}

// copies migrates a database and returns the statements that copy its tables.
func copies(tb testing.TB) string {
	tb.Helper()
	db := Open(tb, EmptyDatabase(tb, SharedMySQL(tb))+"?timeout=30s")
	Migrate(tb, db)
	var statements []string
	const q = `
		SELECT CONCAT('CREATE TABLE ', table_name, ' LIKE ', table_schema, '.', table_name,
			'; INSERT INTO ', table_name, ' SELECT * FROM ', table_schema, '.', table_name)
		FROM information_schema.tables WHERE table_schema = DATABASE()`
	check.NoError(tb, db.Select(&statements, q))
	return strings.Join(statements, ";")
}

// Migrate applies all migrations to db.
func Migrate(tb testing.TB, db *sqlx.DB) {
	tb.Helper()
	check.NoError(tb, migrations.Up(context.Background(), db.DB))
}

// DB returns a connection pool of a migrated database for this test alone.
func DB(tb testing.TB) *sqlx.DB {
	tb.Helper()
	return Open(tb, DSN(tb))
}

// Name returns a name of at most 40 bytes, unique in the test binary. It serves
// as a lock key.
func Name(tb testing.TB) string {
	base := strings.NewReplacer("/", ".", " ", "_").Replace(tb.Name())
	return fmt.Sprintf("%.30s.%d", base, counter.Add(1))
}
