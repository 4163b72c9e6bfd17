package soak

import (
	"context"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A fault is struck, lasts for a time, and is healed.
type fault struct {
	what   string
	lasts  time.Duration // between strike and heal
	strike func(context.Context) error
	heal   func() error
	other  *instance // which the fault does not strike; nil if it strikes both
}

// An outage is the time from a fault to its healing.
type outage struct {
	Second float64 `json:"second"`
	What   string  `json:"what"`
	Down   float64 `json:"down_seconds"`
	// of a claim from the fault until all coupons sell again
	LongestWait float64 `json:"longest_wait_seconds"`
	// all coupons at both instances, since the fault has healed
	SellsAfter float64 `json:"sells_after_seconds"`
	OtherAfter float64 `json:"other_instance_sells_after_seconds,omitempty"` // since it began

	span span // until all coupons sell again
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

// injectFaults injects one fault after the other, again and again, each if it
// ends before the run does.
func (r *run) injectFaults(ctx context.Context) error {
	for i := 0; rig.Sleep(ctx, restBetween(r.duration, r.faults)); i++ {
		f := r.faults[i%len(r.faults)]
		if time.Since(r.begin)+f.lasts+sellLimit > r.duration {
			continue
		}
		if err := r.inject(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// overhead is about how long a fault takes beside lasting: waits for a COMMIT, a
// restart, the recovery.
const overhead = 2 * time.Second

// restBetween returns the time between two faults that spreads all of them over
// the run: at least half a second, although a short run then has some of them
// only, and at most ten.
func restBetween(d time.Duration, faults []fault) time.Duration {
	for _, f := range faults {
		d -= f.lasts + overhead
	}
	return min(max(500*time.Millisecond, d/time.Duration(len(faults)+1)), 10*time.Second)
}

// inject runs f, and waits until all coupons sell again.
func (r *run) inject(ctx context.Context, f fault) error {
	o := outage{Second: time.Since(r.begin).Seconds(), What: f.what, span: span{begin: time.Now()}}
	if err := f.strike(ctx); err != nil {
		return err
	}
	other := make(chan time.Duration, 1)
	go func() {
		defer close(other)
		if f.other != nil {
			other <- r.awaitSales(ctx, "during "+f.what, f.other.client)
		}
	}()
	rig.Sleep(ctx, f.lasts)
	if err := f.heal(); err != nil {
		return err
	}
	o.Down = time.Since(o.span.begin).Seconds()
	o.SellsAfter = r.awaitSales(ctx, "after "+f.what, r.a.client, r.b.client, r.nginx).Seconds()
	o.OtherAfter = (<-other).Seconds()
	o.span.end = time.Now()
	r.outages.add(o)
	r.log("%s: healed after %.1f s; all coupons sell again after %.1f s", f.what, o.Down, o.SellsAfter)
	return nil
}
