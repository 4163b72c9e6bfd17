package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
)

// A Stack is one sale's private world: a fresh database and Redis, two
// instances of the service, and nginx before them.
type Stack struct {
	DB     *sqlx.DB
	Redis  *lab.Redis
	A, B   *lab.API
	Nginx  *lab.Nginx
	Secret string // signs tokens
}

// startStack makes a stack in l, with a database of its own in server. settings
// (KEY=value) go to both instances; without "unique" in force the key is gone
// before they start.
func startStack(ctx context.Context, l *lab.Lab, server *lab.MySQL, api string, e Experiment) (*Stack, error) {
	api, err := filepath.Abs(api)
	if err != nil {
		return nil, err
	}
	s := &Stack{Secret: rand.Text() + rand.Text()}
	dsn, err := server.Create(ctx, "sale_"+rand.Text()[:8])
	if err != nil {
		return nil, err
	}
	if s.DB, err = connect.MySQL(dsn, 4); err != nil {
		return nil, err
	}
	if err := s.start(ctx, l, api, dsn, e); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context, l *lab.Lab, api, dsn string, e Experiment) error {
	env := append(e.settings(), "MYSQL_DSN="+dsn, "JWT_SECRET="+s.Secret)
	dir, err := l.Dir("migrate")
	if err != nil {
		return err
	}
	if err := lab.Run(ctx, lab.Program{Name: "migrate", Path: api, Args: []string{"migrate"}, Dir: dir, Env: env}); err != nil {
		return err
	}
	if err := s.dropGuards(ctx, e); err != nil {
		return err
	}
	if s.Redis, err = l.Redis(); err != nil {
		return err
	}
	env = append(env, "REDIS_URL="+s.Redis.URL)
	if s.A, err = l.API(api, "a", env...); err != nil {
		return err
	}
	if s.B, err = l.API(api, "b", env...); err != nil {
		return err
	}
	s.Nginx, err = l.Nginx(filepath.Join("deploy", "nginx"), s.A.Upstream(), s.B.Upstream())
	return err
}

func (s *Stack) dropGuards(ctx context.Context, e Experiment) error {
	const q = "ALTER TABLE coupon_orders DROP INDEX one_each"
	for _, guard := range e.Off {
		if guard == "unique" {
			if _, err := s.DB.ExecContext(ctx, q); err != nil {
				return fmt.Errorf("take the unique key away: %w", err)
			}
		}
	}
	return nil
}

// Stop ends what the stack has started; its data goes with the lab.
func (s *Stack) Stop() error {
	var errs []error
	if s.Nginx != nil {
		errs = append(errs, s.Nginx.Stop())
	}
	for _, api := range []*lab.API{s.A, s.B} {
		if api != nil {
			errs = append(errs, api.Stop())
		}
	}
	if s.Redis != nil {
		errs = append(errs, s.Redis.Stop())
	}
	return errors.Join(append(errs, s.DB.Close())...)
}
