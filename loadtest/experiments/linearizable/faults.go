package linearizable

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// A fault strikes a part, and is healed after faultTime.
type fault struct {
	name         string
	strike, heal func() error
}

const (
	faultTime = 700 * time.Millisecond
	quietTime = 400 * time.Millisecond
	// lostCommits is how many messages in a row the fault of a COMMIT strikes.
	lostCommits = 3
)

func kill(name string, s *lab.Server) fault {
	return fault{name + " killed", func() error { s.Kill(); return nil }, s.Restart}
}

func suspend(name string, s *lab.Server) fault {
	return fault{name + " suspended", func() error { s.Pause(); return nil }, func() error { s.Resume(); return nil }}
}

func partition(name string, p *faultproxy.Proxy) fault {
	return fault{name + " partitioned", func() error { p.Partition(); return nil },
		func() error { p.Heal(); return nil }}
}

// commitFault strikes the next requests with a COMMIT, of which the database gets
// the request or not, and the instance no reply. It waits for the first, because
// there is none while everything is sold out.
func commitFault(name string, p *faultproxy.Proxy, f faultproxy.Fault) fault {
	strike := func() error {
		p.Inject(f, "COMMIT", lostCommits)
		for end := time.Now().Add(10 * time.Second); p.Hits() == 0 && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		return nil
	}
	return fault{"COMMIT " + name, strike, func() error { p.Heal(); return nil }}
}

// faults returns the faults of a run in the order of its seed. Every run loses
// COMMITs and their replies, and kills an instance, the database and Redis.
func (r *run) faults(random *rand.Rand) []fault {
	a, b := r.instances[0], r.instances[1]
	always := []fault{
		commitFault("lost", a.mysql, faultproxy.LoseRequest),
		commitFault("executed, reply lost", b.mysql, faultproxy.LoseReply),
		kill("instance a", a.Server), kill("MySQL", r.stack.MySQL.Server), kill("Redis", r.stack.Redis.Server),
	}
	sometimes := []fault{
		commitFault("hanging", b.mysql, faultproxy.HangRequest),
		commitFault("executed, reply hanging", a.mysql, faultproxy.HangReply),
		partition("instance a and MySQL", a.mysql), partition("instance b and Redis", b.redis),
		suspend("instance b", b.Server), suspend("MySQL", r.stack.MySQL.Server),
		suspend("Redis", r.stack.Redis.Server),
	}
	if r.zookeeper != nil {
		always = append(always, kill("ZooKeeper", r.zookeeper.Server),
			partition("instance a and ZooKeeper", a.zookeeper))
		sometimes = append(sometimes, suspend("ZooKeeper", r.zookeeper.Server))
	}
	shuffle(random, sometimes)
	all := append(always, sometimes[:3]...)
	shuffle(random, all)
	return all
}

func shuffle(random *rand.Rand, list []fault) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// inject applies the faults one after the other.
func (r *run) inject(ctx context.Context, faults []fault) error {
	for _, f := range faults {
		if !rig.Sleep(ctx, quietTime) {
			return ctx.Err()
		}
		r.struck = append(r.struck, fmt.Sprintf("%.1f s: %s", time.Since(r.begin).Seconds(), f.name))
		if err := f.strike(); err != nil {
			return err
		}
		rig.Sleep(ctx, faultTime)
		if err := f.heal(); err != nil {
			return err
		}
	}
	return ctx.Err()
}
