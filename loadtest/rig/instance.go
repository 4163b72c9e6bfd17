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
	return s.startFleet(lab.StartNginx, "api", make([][]string, n)...)
}

// startFleet starts an instance of a program of bin/ for each list of settings,
// which override the sale's, behind nginx.
func (s *Sale) startFleet(nginx startNginx, program string, settings ...[]string) (*Fleet, error) {
	path, err := Binary(program)
	if err != nil {
		return nil, err
	}
	f := &Fleet{}
	var upstreams []string
	for i, own := range settings {
		api, err := lab.StartAPI(s.stack.Lab, path, InstanceName(i), slices.Concat(s.env, own)...)
		if err != nil {
			return nil, errors.Join(err, f.Stop())
		}
		f.Instances, upstreams = append(f.Instances, api), append(upstreams, api.Address)
	}
	if f.Nginx, err = nginx(s.stack.Lab, filepath.Join("deploy", "nginx"), upstreams...); err != nil {
		return nil, errors.Join(err, f.Stop())
	}
	return f, nil
}

type startNginx func(l *lab.Lab, conf string, upstreams ...string) (*lab.Nginx, error)

// Address is where nginx listens, as host:port.
func (f *Fleet) Address() string { return f.Nginx.URL[len("http://"):] }

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

// A Pair is a fleet of two instances.
type Pair struct {
	*Fleet
	A, B *lab.API
}

// StartPair starts two instances of a program of bin/ behind nginx. nginx does not
// limit clients, because all load comes from one address.
func (s *Sale) StartPair(program string) (*Pair, error) { return s.StartPairWith(program, nil, nil) }

// StartPairWith is StartPair with settings of each instance, which override the
// sale's.
func (s *Sale) StartPairWith(program string, a, b []string) (*Pair, error) {
	return pair(s.startFleet(lab.StartNginx, program, a, b))
}

// StartShippedPair starts two instances of the service behind nginx, with all of
// its limits.
func (s *Sale) StartShippedPair() (*Pair, error) {
	return pair(s.startFleet(lab.StartLimitedNginx, "api", nil, nil))
}

// StartCrowdPair starts two instances of the service behind an nginx that can
// serve 20,000 clients.
func (s *Sale) StartCrowdPair() (*Pair, error) {
	return pair(s.startFleet(lab.StartCrowdNginx, "api", nil, nil))
}

func pair(f *Fleet, err error) (*Pair, error) {
	if err != nil {
		return nil, err
	}
	return &Pair{f, f.Instances[0], f.Instances[1]}, nil
}
