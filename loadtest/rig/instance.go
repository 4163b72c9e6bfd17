package rig

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"

	"example.com/flashsale/internal/lab"
)

// StartInstance starts a program of bin/: the service, or one that takes its
// place. settings override the sale's.
func (s *Sale) StartInstance(program, name string, settings ...string) (*lab.API, error) {
	path, err := Binary(program)
	if err != nil {
		return nil, err
	}
	return lab.StartAPI(s.stack.Lab, path, name, slices.Concat(s.env, settings)...)
}

// A Fleet is a sale at any number of instances behind nginx, or at one without nginx.
type Fleet struct {
	*Sale
	Instances []*lab.API
	Nginx     *lab.Nginx // nil without
}

// StartNginx is lab.StartNginx, or another start of nginx with deploy/nginx.
type StartNginx func(l *lab.Lab, conf string, upstreams ...string) (*lab.Nginx, error)

// InstanceName returns the name of the i-th instance of a fleet: a, b, c and so
// on.
func InstanceName(i int) string { return string(rune('a' + i)) }

// StartFleet starts an instance of a program of bin/ for each list of settings,
// which override the sale's, behind nginx. nginx may be nil if there is one list.
func (s *Sale) StartFleet(program string, nginx StartNginx, settings ...[]string) (f *Fleet, err error) {
	f = &Fleet{Sale: s}
	var upstreams []string
	for i, own := range settings {
		api, err := s.StartInstance(program, InstanceName(i), own...)
		if err != nil {
			return nil, errors.Join(err, f.Stop())
		}
		f.Instances, upstreams = append(f.Instances, api), append(upstreams, api.Address)
	}
	if nginx == nil {
		return f, nil
	}
	if f.Nginx, err = nginx(s.stack.Lab, filepath.Join("deploy", "nginx"), upstreams...); err != nil {
		return nil, errors.Join(err, f.Stop())
	}
	return f, nil
}

// With runs job with n instances of the service behind nginx, and then stops them and closes the sale.
// nginx does not limit clients, because all load comes from one address.
func (s *Sale) With(n int, job func(*Fleet) error) error {
	defer s.Close()
	f, err := s.StartFleet("api", lab.StartNginx, make([][]string, n)...)
	if err != nil {
		return err
	}
	return errors.Join(job(f), f.Stop())
}

// Send has generate send the claims of w, on new coupons. The load generator leaves its files in dir.
func (f *Fleet) Send(ctx context.Context, dir string, generate Generator, w Workload) (b Burst, err error) {
	t := Target{URL: f.Nginx.URL, Secret: f.stack.Secret}
	for range w.Rounds {
		id, err := f.AddCouponWithRules(ctx, w.Stock, max(w.Segments, 1), w.rules())
		if err != nil {
			return b, err
		}
		t.Coupons = append(t.Coupons, strconv.FormatInt(id, 10))
	}
	return generate(ctx, dir, t, w)
}

// Address is where clients reach the fleet, as host:port.
func (f *Fleet) Address() string {
	if f.Nginx == nil {
		return f.Instances[0].Address
	}
	return f.Nginx.URL[len("http://"):]
}

// Stop stops nginx and the instances. An instance gives its clients a second to close their
// connections, which those of the rig do.
func (f *Fleet) Stop() error {
	transport.CloseIdleConnections()
	var errs []error
	if f.Nginx != nil {
		errs = append(errs, f.Nginx.Stop())
	}
	for _, api := range f.Instances {
		errs = append(errs, api.Stop())
	}
	return errors.Join(errs...)
}
