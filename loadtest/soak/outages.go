package soak

import (
	"context"
	"sync"
	"time"
)

// An outage is the time from a part's end to its restart.
type outage struct {
	Second float64 `json:"second"`
	What   string  `json:"what"`
	Down   float64 `json:"down_seconds"`
}

type outages struct {
	mu   sync.Mutex
	list []outage
}

func (o *outages) add(v outage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, v)
}

// killInTurn stops one part after the other, spread over the run, and restarts
// it: each instance twice by SIGKILL and once by SIGTERM, the database and Redis
// once by SIGKILL.
func (r *run) killInTurn(ctx context.Context) error {
	a, b := r.pair.A, r.pair.B
	kill := func(kill func()) func() error { return func() error { kill(); return nil } }
	steps := []struct {
		what          string
		stop, restart func() error
	}{
		{"instance a killed", kill(a.Kill), a.Restart},
		{"instance b killed", kill(b.Kill), b.Restart},
		{"Redis killed, back empty", kill(r.stack.Redis.Kill), r.stack.Redis.Restart},
		{"instance a drained", a.Stop, a.Restart},
		{"database killed", kill(r.stack.MySQL.Kill), r.stack.MySQL.Restart},
		{"instance b drained", b.Stop, b.Restart},
		{"instance a killed", kill(a.Kill), a.Restart},
		{"instance b killed", kill(b.Kill), b.Restart},
	}
	for _, step := range steps {
		if !sleep(ctx, r.duration/time.Duration(len(steps)+2)) {
			return nil
		}
		begin := time.Now()
		if err := step.stop(); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond) // so that requests meet the outage
		if err := step.restart(); err != nil {
			return err
		}
		r.outages.add(outage{begin.Sub(r.begin).Seconds(), step.what, time.Since(begin).Seconds()})
		r.log("%s", step.what)
	}
	return nil
}
