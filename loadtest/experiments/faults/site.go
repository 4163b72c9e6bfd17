package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
)

// A site is where the trials of one lock take place: the lock's servers, and two
// holders that reach each of them through a proxy of their own. Trials that follow
// each other share it.
type site struct {
	column
	lab     *lab.Lab
	nodes   []node
	holders [2]*station
	log     *os.File // standard error of the holders
	trials  int
}

// A station is where a holder runs.
type station struct {
	command string
	env     []string
	// settings are the rest of the environment, which trials change.
	settings []string
	log      *os.File
	proxies  []*faultproxy.Proxy // one to each node
	*process
}

// open starts the servers and the holders of c. The holders' standard error goes to a
// file in dir.
func (c column) open(ctx context.Context, l *lab.Lab, dir string) (s *site, err error) {
	s = &site{column: c, lab: l}
	if s.nodes, err = c.backend.open(ctx, l); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	if s.log, err = os.Create(filepath.Join(dir, slug(c.name)+".log")); err != nil {
		return nil, err
	}
	for i := range s.holders {
		if s.holders[i], err = s.station(); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return s, nil
}

// station starts a holder and its proxies.
func (s *site) station() (*station, error) {
	st := &station{command: s.command, env: slices.Clone(s.env), log: s.log}
	var addresses []string
	for _, n := range s.nodes {
		p, err := faultproxy.New(n.network, n.address)
		if err != nil {
			return nil, err
		}
		st.proxies, addresses = append(st.proxies, p), append(addresses, p.Addr())
	}
	if s.backend.variable != "" {
		st.env = append(st.env, s.backend.variable+"="+strings.Join(addresses, ","))
	}
	return st, st.start(leaseTime, 0)
}

// start starts the holder for a lease, and for more waiters than one if there are any,
// unless it runs.
func (st *station) start(lease time.Duration, waiters int) (err error) {
	settings := []string{fmt.Sprintf("LEASE=%d", lease.Milliseconds())}
	if waiters > 0 {
		settings = append(settings, fmt.Sprintf("WAITERS=%d", waiters))
	}
	if st.process != nil && st.process.fault() == nil && slices.Equal(settings, st.settings) {
		return nil
	}
	if st.process != nil {
		st.process.close()
	}
	st.settings = settings
	st.process, err = startHolder(st.command, slices.Concat(st.env, settings), st.log)
	return err
}

// each calls do with each proxy of the station.
func (st *station) each(do func(*faultproxy.Proxy)) {
	for _, p := range st.proxies {
		do(p)
	}
}

// requests returns how many requests the holders have sent.
func (s *site) requests() (n int) {
	for _, st := range s.holders {
		st.each(func(p *faultproxy.Proxy) { n += p.Requests() })
	}
	return n
}

func (s *site) close() error {
	var errs []error
	for _, st := range s.holders {
		if st == nil || st.process == nil {
			continue
		}
		st.close()
		st.each(func(p *faultproxy.Proxy) { errs = append(errs, p.Close()) })
	}
	return errors.Join(append(errs, s.log.Close())...)
}
