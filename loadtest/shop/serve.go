package shop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
)

// Serve says how to start a shop, with a private database. All are lines for the shell,
// which have in their environment what DIR, PORT, DB_HOST, DB_PORT, DB_USER and DB_NAME
// say. The shop ends with this process, and so do the data.
type Serve struct {
	Install  Text   `yaml:"install"`
	Database string `yaml:"database"` // mariadb, postgresql or sqlite
	Prepare  Text   `yaml:"prepare"`  // makes tables and what is in them
	Run      Text   `yaml:"run"`      // returns when the shop has ended
	Ready    Text   `yaml:"ready"`    // a path that replies below 500 when the shop serves
}

// The private databases. That of SQLite is a file.
const (
	mariaDB    = "mariadb"
	postgreSQL = "postgresql"
	sqlite     = "sqlite"
)

// Start starts the shop and its database, if the file says how, and sets the addresses of
// both. The database's requests pass a proxy, except those of Prepare and ours.
func (s *Shop) Start(ctx context.Context) (stop func() error, err error) {
	if s.Serve.Run == "" {
		return func() error { return nil }, nil
	}
	l, err := lab.Open()
	if err != nil {
		return nil, err
	}
	stop = func() error {
		if s.proxy != nil { // first, so that the database has no clients when it is stopped
			return errors.Join(s.proxy.Close(), l.Close())
		}
		return l.Close()
	}
	if err := s.start(ctx, l); err != nil {
		return nil, errors.Join(fmt.Errorf("serve: %w", err), stop())
	}
	return stop, nil
}

func (s *Shop) start(ctx context.Context, l *lab.Lab) error {
	dir, err := l.Dir("shop")
	if err != nil {
		return err
	}
	s.served = Values{"dir": dir, "db_name": "shop"}
	if err := s.timed(ctx, "install", s.Serve.Install); err != nil {
		return err
	}
	address, err := s.startDatabase(ctx, l, dir)
	if err != nil {
		return err
	}
	s.served.address(address)
	if err := s.timed(ctx, "prepare", s.Serve.Prepare); err != nil {
		return err
	}
	if address != "" {
		if s.proxy, err = faultproxy.New(address); err != nil {
			return err
		}
		s.served.address(s.proxy.Addr())
	}
	return s.startServer(l, dir)
}

func (v Values) address(database string) {
	v["db_host"], v["db_port"], _ = net.SplitHostPort(database) // both are empty for a file
}

// timed runs a line, and says how long it took.
func (s *Shop) timed(ctx context.Context, name string, line Text) error {
	if line == "" {
		return nil
	}
	begin := time.Now()
	if _, err := run(ctx, string(line), s.served); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(os.Stderr, "%6.1fs  %s: %s\n", time.Since(begin).Seconds(), s.Title(), name)
	return nil
}

// startDatabase returns the database's address, which a file has none of.
func (s *Shop) startDatabase(ctx context.Context, l *lab.Lab, dir string) (address string, err error) {
	var dsn string
	switch s.Serve.Database {
	case mariaDB:
		m, err := lab.StartMySQLTCP(l, "--character-set-server=utf8mb4", "--innodb-flush-log-at-trx-commit=2")
		if err != nil {
			return "", err
		}
		s.served["db_user"], address = "root", m.Address
		dsn, err = m.Create(ctx, "shop")
		s.MySQL = Text(dsn)
		return address, err
	case postgreSQL:
		p, err := lab.StartPostgres(l)
		if err != nil {
			return "", err
		}
		s.served["db_user"], address = "postgres", p.Address
		dsn, err = p.Create(ctx, "shop")
		s.PostgreSQL = Text(dsn)
		return address, err
	case sqlite:
		s.SQLite = Text(dir + "/shop.db")
		s.served["db_name"] = string(s.SQLite)
	}
	return "", nil
}

// supervisor runs a line, and ends all that it has started when that ends, or when it is told to end
// itself: some ignore SIGTERM, whose own parent has obeyed.
const supervisor = `cd "$ROOT"; trap 'trap "" TERM; kill 0; wait' TERM; eval "$RUN" & wait $!; kill -KILL 0`

func (s *Shop) startServer(l *lab.Lab, dir string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	_, err = lab.WithFreePort(func(port int) (*lab.Server, error) {
		s.URL, s.served["port"] = Text(fmt.Sprintf("http://127.0.0.1:%d", port)), fmt.Sprint(port)
		return l.Start(lab.Program{
			Name: "shop", Path: "/bin/sh", Args: []string{"-c", supervisor}, Dir: dir,
			Env:   append(s.served.environment(), "ROOT="+root, "RUN="+string(s.Serve.Run)),
			Ready: s.serves,
		})
	})
	return err
}

func (s *Shop) serves(ctx context.Context) error {
	reply, err := s.do(ctx, client, Request{URL: cmp.Or(s.Serve.Ready, "/")}, nil)
	if err == nil && reply.Status >= http.StatusInternalServerError {
		err = unexpected(reply)
	}
	return err
}

// Delay makes each request of the shop to its private database wait for d, until it is
// called for none. It returns how many requests there have been.
func (s *Shop) Delay(d time.Duration) (requests int) {
	if s.proxy == nil {
		return 0
	}
	s.proxy.Delay(d)
	return s.proxy.Requests()
}
