package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"example.com/flashsale/internal/lab"
)

const welcome = `
The sale is open at %[1]s (Ctrl-C ends it, and everything with it).

  curl -s -H 'Authorization: Bearer %[3]s' %[1]s/coupons/%[2]s
  curl -s -X POST -H 'Authorization: Bearer %[3]s' %[1]s/coupons/%[2]s/orders
  curl -s -H 'Authorization: Bearer %[4]s' %[1]s/coupons/%[2]s/audit

The tokens are user 42's and an admin's, good for a day. All operations: %[1]s/docs
The same load against this stack, from another terminal:

  BASE_URL=%[1]s JWT_SECRET=%[5]s make load
`

// up runs the stack as shipped, with one coupon on sale, until ctx ends.
func up(ctx context.Context) error {
	l, err := lab.Open()
	if err != nil {
		return err
	}
	defer l.Close()
	server, err := l.MySQL()
	if err != nil {
		return err
	}
	shipped := Experiment{Workload: sevenEach, Lock: "redis", Scope: "user", Commit: "grouped"}
	s, err := startStack(ctx, l, server, filepath.Join("bin", "api"), shipped)
	if err != nil {
		return err
	}
	if err := s.welcome(ctx); err != nil {
		return errors.Join(err, s.Stop())
	}
	<-ctx.Done()
	fmt.Println("stopping …")
	return s.Stop()
}

func (s *Stack) welcome(ctx context.Context) error {
	service, err := s.service()
	if err != nil {
		return err
	}
	coupons, err := service.onSale(ctx, sevenEach)
	if err != nil {
		return err
	}
	user, err := token(s.Secret, 42, false)
	if err != nil {
		return err
	}
	fmt.Printf(welcome, s.Nginx.URL, coupons[0], user, service.Admin, s.Secret)
	return nil
}
