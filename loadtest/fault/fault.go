// Package fault makes the parts of a sale fail: servers are killed or suspended,
// and the network between them is partitioned.
package fault

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// A Fault is struck, lasts for a time, and is healed.
type Fault struct {
	Name   string
	Lasts  time.Duration // between Strike and Heal
	Strike func(context.Context) error
	Heal   func() error // nil: it heals by itself
}

// Kill kills servers and restarts them.
func Kill(name string, lasts time.Duration, servers ...*lab.Server) Fault {
	return Fault{
		name, lasts, func(context.Context) error {
			for _, s := range servers {
				s.Kill()
			}
			return nil
		},
		func() error {
			var restarts errgroup.Group
			for _, s := range servers {
				restarts.Go(s.Restart)
			}
			return restarts.Wait()
		},
	}
}

// Suspend stops a server by SIGSTOP, so that it replies to nothing.
func Suspend(name string, lasts time.Duration, s *lab.Server) Fault {
	return Fault{
		name, lasts, func(context.Context) error { s.Pause(); return nil }, func() error { s.Resume(); return nil },
	}
}

// Partition drops the packets of p in both directions. Neither side learns of it.
func Partition(name string, lasts time.Duration, p *faultproxy.Proxy) Fault {
	return Fault{
		name, lasts, func(context.Context) error { p.Partition(); return nil }, func() error { p.Heal(); return nil },
	}
}

// AtRequest is a fault of p that a request begins, of which inject tells p. Strike returns when
// struck reports that it has come, after five seconds at most.
func AtRequest(name string, lasts time.Duration, p *faultproxy.Proxy, inject func(), struck func() bool) Fault {
	return Fault{
		name, lasts, func(ctx context.Context) error {
			inject()
			for end := time.Now().Add(5 * time.Second); !struck() && time.Now().Before(end); {
				if !rig.Sleep(ctx, time.Millisecond) {
					break
				}
			}
			return nil
		}, func() error { p.Heal(); return nil },
	}
}

// Disconnect makes the switch drop the packets of hosts. Neither side learns of it.
func Disconnect(name string, lasts time.Duration, hosts ...*lab.Host) Fault {
	each := func(do func(*lab.Host) error) error {
		for _, h := range hosts {
			if err := do(h); err != nil {
				return err
			}
		}
		return nil
	}
	return Fault{
		name, lasts, func(context.Context) error { return each((*lab.Host).Disconnect) },
		func() error { return each((*lab.Host).Connect) },
	}
}

// Inject strikes, and heals when the fault has lasted. It returns when it struck
// and when it was healed.
func (f Fault) Inject(ctx context.Context) (struck, healed time.Time, err error) {
	struck = time.Now()
	if err := f.Strike(ctx); err != nil {
		return struck, healed, err
	}
	rig.Sleep(ctx, f.Lasts)
	if f.Heal != nil {
		err = f.Heal()
	}
	return struck, time.Now(), err
}
