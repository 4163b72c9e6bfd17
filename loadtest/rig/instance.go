package rig

import (
	"errors"
	"path/filepath"
	"slices"

	"example.com/flashsale/internal/lab"
)

// StartInstance starts a program of bin/: the service, or one that takes its
// place.
func (s *Sale) StartInstance(program, name string) (*lab.API, error) {
	path, err := Binary(program)
	if err != nil {
		return nil, err
	}
	return lab.StartAPI(s.stack.Lab, path, name, s.env...)
}

// A Fleet is any number of instances behind nginx.
type Fleet struct {
	Instances []*lab.API
	Nginx     *lab.Nginx
}

// InstanceName returns the name of the i-th instance of a fleet: a, b, c and so
// on.
func InstanceName(i int) string { return string(rune('a' + i)) }

// StartFleet starts n instances of the service behind nginx.
func (s *Sale) StartFleet(n int) (*Fleet, error) {
	path, err := Binary("api")
	if err != nil {
		return nil, err
	}
	f := &Fleet{}
	var upstreams []string
	for i := range n {
		api, err := lab.StartAPI(s.stack.Lab, path, InstanceName(i), s.env...)
		if err != nil {
			return nil, errors.Join(err, f.Stop())
		}
		f.Instances, upstreams = append(f.Instances, api), append(upstreams, api.Address)
	}
	if f.Nginx, err = lab.StartNginx(s.stack.Lab, filepath.Join("deploy", "nginx"), upstreams...); err != nil {
		return nil, errors.Join(err, f.Stop())
	}
	return f, nil
}

// Stop stops nginx and the instances.
func (f *Fleet) Stop() error {
	var errs []error
	if f.Nginx != nil {
		errs = append(errs, f.Nginx.Stop())
	}
	for _, api := range f.Instances {
		errs = append(errs, api.Stop())
	}
	return errors.Join(errs...)
}

// A Pair is two instances behind nginx.
type Pair struct {
	A, B  *lab.API
	Nginx *lab.Nginx
}

type startNginx func(l *lab.Lab, conf string, upstreams ...string) (*lab.Nginx, error)

// StartPair starts two instances of a program of bin/ behind nginx. nginx does not
// limit clients, because all load comes from one address.
func (s *Sale) StartPair(program string) (*Pair, error) { return s.StartPairWith(program, nil, nil) }

// StartPairWith is StartPair with settings of each instance, which override the
// sale's.
func (s *Sale) StartPairWith(program string, a, b []string) (*Pair, error) {
	return s.startPair(lab.StartNginx, program, a, b)
}

// StartShippedPair starts two instances of the service behind nginx, with all of
// its limits.
func (s *Sale) StartShippedPair() (*Pair, error) {
	return s.startPair(lab.StartLimitedNginx, "api", nil, nil)
}

// StartCrowdPair starts two instances of the service behind an nginx that can
// serve 20,000 clients.
func (s *Sale) StartCrowdPair() (*Pair, error) {
	return s.startPair(lab.StartCrowdNginx, "api", nil, nil)
}

func (s *Sale) startPair(nginx startNginx, program string, a, b []string) (*Pair, error) {
	path, err := Binary(program)
	if err != nil {
		return nil, err
	}
	p := &Pair{}
	if p.A, err = lab.StartAPI(s.stack.Lab, path, "a", slices.Concat(s.env, a)...); err != nil {
		return nil, err
	}
	if p.B, err = lab.StartAPI(s.stack.Lab, path, "b", slices.Concat(s.env, b)...); err != nil {
		return nil, errors.Join(err, p.A.Stop())
	}
	p.Nginx, err = nginx(s.stack.Lab, filepath.Join("deploy", "nginx"), p.A.Address, p.B.Address)
	if err != nil {
		return nil, errors.Join(err, p.A.Stop(), p.B.Stop())
	}
	return p, nil
}

// Address is where nginx listens, as host:port.
func (p *Pair) Address() string { return p.Nginx.URL[len("http://"):] }

// Stop stops nginx and both instances.
func (p *Pair) Stop() error { return errors.Join(p.Nginx.Stop(), p.A.Stop(), p.B.Stop()) }
