package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	site    *site
	proxies []*faultproxy.Proxy // one to each node
	lease   time.Duration
	waiters int // in the holder; 0: one
	*process
}

// open starts the servers and the holders of c. The holders' standard error goes to a
// file in dir.
func (c column) open(ctx context.Context, l *lab.Lab, dir string) (s *site, err error) {
	s = &site{column: c, lab: l}
	if c.backend.start != nil {
		s.nodes, err = c.backend.start(ctx, l)
	}
	if err == nil {
		s.log, err = os.Create(filepath.Join(dir, slug(c.name)+".log"))
	}
	for i := range s.holders {
		s.holders[i] = &station{site: s}
		if err == nil {
			err = s.holders[i].open()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return s, nil
}

// open starts the proxies and the holder.
func (st *station) open() error {
	for _, n := range st.site.nodes {
		p, err := faultproxy.New(n.Address)
		if err != nil {
			return err
		}
		st.proxies = append(st.proxies, p)
	}
	return st.start(leaseTime, 0)
}

// start starts the holder for a lease and so many waiters, unless it runs.
func (st *station) start(lease time.Duration, waiters int) (err error) {
	if st.process != nil && st.fault() == nil && st.lease == lease && st.waiters == waiters {
		return nil
	}
	if st.process != nil {
		st.close()
	}
	var addresses []string
	for _, p := range st.proxies {
		addresses = append(addresses, p.Addr())
	}
	s := st.site
	env := []string{fmt.Sprintf("LEASE=%d", lease.Milliseconds())}
	if s.holder != "" {
		env = append(env, "HOLDER="+s.holder)
	}
	if len(addresses) > 0 {
		env = append(env, s.backend.variable+"="+strings.Join(addresses, ","))
	}
	if waiters > 0 {
		env = append(env, fmt.Sprintf("WAITERS=%d", waiters))
	}
	st.lease, st.waiters = lease, waiters
	st.process, err = startHolder(s.command, env, s.log)
	return err
}

// each calls do with each proxy of the station.
func (st *station) each(do func(*faultproxy.Proxy)) {
	for _, p := range st.proxies {
		do(p)
	}
}

func (s *site) close() {
	for _, st := range s.holders {
		if st.process != nil {
			st.close()
		}
		st.each(func(p *faultproxy.Proxy) { _ = p.Close() })
	}
	_ = s.log.Close()
}
