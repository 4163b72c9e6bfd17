// Package rig runs what the benchmark and the soak test measure: a private
// database server and Redis, and instances of the service over them.
package rig

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/migrations"
)

// A Stack is a database server and a Redis, with the secret that signs tokens.
type Stack struct {
	*lab.Lab
	MySQL  *lab.MySQL
	Redis  *lab.Redis
	Secret []byte
	sales  int
}

// databaseArgs size the server for a sale instead of for a test: indexes in
// memory, and a log that needs no checkpoint in the middle of a burst. What
// the server does not know (MySQL and MariaDB differ) it passes over.
var databaseArgs = []string{
	"--max-connections=2000", "--innodb-buffer-pool-size=1G",
	"--loose-innodb-log-file-size=512M", "--loose-innodb-redo-log-capacity=1G",
}

// Start starts an empty stack in a lab of its own.
func Start() (*Stack, error) {
	l, err := lab.Open()
	if err != nil {
		return nil, err
	}
	s := &Stack{Lab: l, Secret: []byte(rand.Text() + rand.Text())}
	if s.MySQL, err = l.MySQL(databaseArgs...); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if s.Redis, err = l.Redis("--databases", "1000"); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return s, nil
}

// A Sale is a migrated database and a Redis database of its own.
type Sale struct {
	DB    *sqlx.DB
	stack *Stack
	env   []string
	last  int64
}

// Sale makes an empty one. settings (KEY=value) go to each of its instances.
func (s *Stack) Sale(ctx context.Context, settings ...string) (*Sale, error) {
	s.sales++
	dsn, err := s.MySQL.Create(ctx, fmt.Sprintf("sale_%d", s.sales))
	if err != nil {
		return nil, err
	}
	db, err := connect.MySQL(dsn, 4)
	if err != nil {
		return nil, err
	}
	if err := migrations.Up(ctx, db.DB); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Sale{DB: db, stack: s, env: append([]string{
		"MYSQL_DSN=" + dsn, "REDIS_URL=" + fmt.Sprintf("%s?db=%d", s.Redis.URL, s.sales),
		"JWT_SECRET=" + string(s.Secret), "MIGRATE=false", "LOG_LEVEL=warn",
	}, settings...)}, nil
}

// OnSale opens one more coupon and returns its id.
func (s *Sale) OnSale(ctx context.Context, stock int) (int64, error) {
	s.last++
	now := time.Now()
	c, err := coupon.New(s.last, fmt.Sprintf("coupon %d", s.last), now.Add(-time.Hour), now.Add(24*time.Hour), stock, now)
	if err != nil {
		return 0, err
	}
	return c.ID, coupon.NewStore(s.DB).Create(ctx, c)
}

// An Instance is a running service on a loopback port, which load generators
// reach more easily than a Unix socket.
type Instance struct {
	*lab.Server
	Address string // host:port
}

// URL is where the instance answers, without a path.
func (i *Instance) URL() string { return "http://" + i.Address }

// Instance starts binary, with settings on top of the sale's.
func (s *Sale) Instance(binary, name string, settings ...string) (*Instance, error) {
	var err error
	for range 5 { // another process may take the port first
		var port int
		if port, err = lab.FreePort(); err != nil {
			return nil, err
		}
		var dir string
		if dir, err = s.stack.Dir("api"); err != nil {
			return nil, err
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		var server *lab.Server
		server, err = s.stack.Start(lab.Program{
			Name: "api-" + name, Path: binary, Args: []string{"serve"}, Dir: dir,
			Env:   slices.Concat(lab.RuntimeEnv, []string{"HTTP_ADDR=" + address, "INSTANCE=" + name}, s.env, settings),
			Ready: func(ctx context.Context) error { return ready(ctx, address) },
		})
		if err == nil {
			return &Instance{server, address}, nil
		}
	}
	return nil, err
}

func ready(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return errors.Join(err, resp.Body.Close())
}

// A Pair is two instances behind nginx.
type Pair struct {
	A, B  *lab.API
	Nginx *lab.Nginx
}

// Pair starts two instances of binary behind nginx, as they are deployed.
func (s *Sale) Pair(binary string, settings ...string) (*Pair, error) {
	env := append(append([]string{}, s.env...), settings...)
	a, err := s.stack.API(binary, "a", env...)
	if err != nil {
		return nil, err
	}
	b, err := s.stack.API(binary, "b", env...)
	if err != nil {
		return nil, err
	}
	n, err := s.stack.Nginx(filepath.Join("deploy", "nginx"), a.Upstream(), b.Upstream())
	return &Pair{a, b, n}, err
}

// Address is where nginx listens, as host:port.
func (p *Pair) Address() string { return p.Nginx.URL[len("http://"):] }
