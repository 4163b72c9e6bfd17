package soak

import (
	"context"
	"time"

	"example.com/flashsale/internal/lab"
)

// downTime is between a kill and the restart, so that requests meet the outage.
const downTime = 300 * time.Millisecond

func kill(what string, s *lab.Server) fault {
	return fault{
		what: what, lasts: downTime,
		strike: func(context.Context) error { s.Kill(); return nil },
		heal:   s.Restart,
	}
}

func killInstance(i *instance) fault {
	f := kill("instance "+i.name+" killed", i.Server)
	f.heal = i.Restart // which also removes the socket
	return f
}

// drain stops an instance by SIGTERM.
func (r *run) drain(i *instance) fault {
	return fault{
		what: "instance " + i.name + " drained", lasts: downTime,
		strike: func(context.Context) error { r.stop(i); return nil },
		heal:   i.Restart,
	}
}

// stop stops an instance, which may take drainTimeout, and a second to end.
func (r *run) stop(i *instance) {
	begin := time.Now()
	err := i.Stop()
	if took := time.Since(begin); took > drainTimeout+time.Second || err != nil {
		r.violations.add("the drain of instance %s took %.1f s, %v", i.name, took.Seconds(), err)
	}
}

// drainPartitioned stops an instance that MySQL does not reply to.
func (r *run) drainPartitioned(i *instance) fault {
	return fault{
		what: "instance " + i.name + " drained while partitioned from MySQL", lasts: downTime,
		strike: func(ctx context.Context) error {
			beforeCommit(i)(ctx)
			r.stop(i)
			return nil
		},
		heal: func() error {
			i.mysql.Heal()
			return i.Restart()
		},
	}
}
