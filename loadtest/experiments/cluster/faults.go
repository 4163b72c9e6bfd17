package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// A fault is struck, lasts for a time and is healed.
type fault struct {
	name    string
	routing lab.Routing
	lasts   time.Duration
	quorum  bool // is lost: no node can commit while it lasts
	quick   bool // is part of a short run as well
	strike  func() error
	heal    func() error
}

const (
	// restartTime is what a supervisor takes to start a killed process again.
	restartTime = time.Second
	// silentTime is longer than Galera's nodes wait for a silent one (6 s at
	// most), and than CLAIM_TIMEOUT.
	silentTime = 8 * time.Second
)

// faults returns all faults.
func (s *site) faults() []fault {
	one, all := lab.OneWriter, lab.AllWriters
	writer, node, haproxy := s.galera.Nodes[0], s.galera.Nodes[1], s.proxies[one]
	return []fault{
		inShortRuns(kill("writer killed", one, writer.Server)),
		freeze("writer frozen", one, writer.Server),
		cutOff("writer cut off", one, s.hosts[0]),
		inShortRuns(s.quorumCutOff()),
		kill("HAProxy killed", one, haproxy.Server),
		freeze("HAProxy frozen", one, haproxy.Server),
		cutOff("HAProxy cut off", one, haproxy.host),
		kill("a node killed", all, node.Server),
		inShortRuns(freeze("a node frozen", all, node.Server)),
		cutOff("a node cut off", all, s.hosts[1]),
		s.quorumKilled(),
	}
}

func inShortRuns(f fault) fault {
	f.quick = true
	return f
}

func kill(name string, routing lab.Routing, s *lab.Server) fault {
	return fault{
		name: name, routing: routing, lasts: restartTime,
		strike: func() error { s.Kill(); return nil },
		heal:   s.Restart,
	}
}

func freeze(name string, routing lab.Routing, s *lab.Server) fault {
	return fault{
		name: name, routing: routing, lasts: silentTime,
		strike: func() error { s.Pause(); return nil },
		heal:   func() error { s.Resume(); return nil },
	}
}

func cutOff(name string, routing lab.Routing, hosts ...*lab.Host) fault {
	each := func(do func(*lab.Host) error) func() error {
		return func() error {
			for _, h := range hosts {
				if err := do(h); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return fault{
		name: name, routing: routing, lasts: silentTime,
		strike: each((*lab.Host).Disconnect), heal: each((*lab.Host).Connect),
	}
}

// quorumCutOff cuts two nodes off: also from each other, so that none is left
// that can commit.
func (s *site) quorumCutOff() fault {
	f := cutOff("quorum lost: two nodes cut off", lab.OneWriter, s.hosts[1:]...)
	f.quorum = true
	return f
}

// quorumKilled kills two nodes at once. The cluster forms again when both are
// back, because the three have agreed on its last members.
func (s *site) quorumKilled() fault {
	killed := s.galera.Nodes[1:]
	return fault{
		name: "quorum lost: two nodes killed", routing: lab.AllWriters, lasts: silentTime, quorum: true,
		strike: func() error {
			for _, node := range killed {
				node.Kill()
			}
			return nil
		},
		heal: func() error {
			var g errgroup.Group
			for _, node := range killed {
				g.Go(node.Restart)
			}
			return g.Wait()
		},
	}
}

// inject runs f, and returns when it was struck and healed.
func (f fault) inject(ctx context.Context) (struck, healed time.Time, err error) {
	struck = time.Now()
	if err := f.strike(); err != nil {
		return struck, healed, err
	}
	rig.Sleep(ctx, f.lasts)
	err = f.heal()
	return struck, time.Now(), err
}

// noticed is how long after the loss of quorum a commit may still succeed: the
// nodes had all received it.
const noticed = time.Second

// violations returns what f does not allow: without a quorum, every claim has to
// be refused with 503.
func (f fault) violations(claims []claim, struck time.Time) (list []string) {
	if !f.quorum {
		return nil
	}
	healing := struck.Add(f.lasts)
	if n := acceptedBetween(claims, struck.Add(noticed), healing); n > 0 {
		list = append(list, fmt.Sprintf("%d claims were accepted without a quorum", n))
	}
	if !slices.ContainsFunc(claims, func(c claim) bool {
		return c.verdict == unavailable && c.received.After(struck) && c.received.Before(healing)
	}) {
		list = append(list, "no claim was refused with 503 although there was no quorum")
	}
	return list
}
