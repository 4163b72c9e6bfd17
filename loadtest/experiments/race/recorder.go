package race

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A recorder collects what happens on one side and publishes it in batches.
type recorder struct {
	live    *live
	side    int
	striker *striker
	struck  *Struck

	mu       sync.Mutex
	barrier  time.Time
	pending  Batch
	inFlight int
}

const (
	batchInterval  = 75 * time.Millisecond
	sampleInterval = 10 * time.Millisecond
)

// record sends the burst to a service, and records what happens until the last
// reply.
func (r *recorder) record(ctx context.Context, v *service, b burst) error {
	sections, err := readSections(ctx, v.Instances, r.section, func(i int) { r.striker.strike(ctx, i) })
	if err != nil {
		return err
	}
	defer sections.stop()
	running, finish := context.WithCancel(ctx)
	var background sync.WaitGroup
	err = b.send(ctx, func(barrier time.Time) {
		r.begin(barrier)
		background.Go(func() { every(running, batchInterval, r.publish) })
		// the last one counts
		background.Go(func() { every(running, sampleInterval, func() { _ = r.sample(running, v) }) })
	}, r.claim)
	finish()
	background.Wait()
	struck, faultErr := r.striker.wait(r.since)
	r.struck = struck
	err = errors.Join(err, faultErr, r.sample(ctx, v), sections.complete(ctx))
	r.publish()
	return err
}

// every calls do at once, and again after each interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		do()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (r *recorder) begin(barrier time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.barrier = barrier
}

// since converts microseconds of the wall clock to the time since the barrier.
func (r *recorder) since(micro int64) int64 { return micro - r.barrier.UnixMicro() }

// claim records a claim that was sent or answered.
func (r *recorder) claim(c Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Sent = r.since(c.Sent)
	if c.Answered < 0 {
		r.inFlight++
	} else {
		c.Answered = r.since(c.Answered)
		r.inFlight--
	}
	r.pending.Claims = append(r.pending.Claims, c)
}

func (r *recorder) section(s Section) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Wanted, s.Granted, s.Released = r.since(s.Wanted), r.since(s.Granted), r.since(s.Released)
	for i, step := range s.Steps {
		s.Steps[i].Begin, s.Steps[i].End = r.since(step.Begin), r.since(step.End)
	}
	r.pending.Sections = append(r.pending.Sections, s)
}

// sample reads stock and orders from the database, in one statement, so that
// both are of the same moment.
func (r *recorder) sample(ctx context.Context, v *service) error {
	const q = `SELECT ` + rig.StockColumn + `,
		(SELECT COUNT(*) FROM coupon_orders o WHERE o.coupon_id = c.id) FROM coupons c WHERE c.id = ?`
	var s Sample
	if err := v.DB.QueryRowContext(ctx, q, v.coupon).Scan(&s.Stock, &s.Orders); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.T, s.InFlight = r.since(time.Now().UnixMicro()), r.inFlight
	r.pending.Samples = append(r.pending.Samples, s)
	return nil
}

// publish publishes what has happened since the last call.
func (r *recorder) publish() {
	r.mu.Lock()
	b := r.pending
	r.pending = Batch{}
	r.mu.Unlock()
	b.Side = r.side
	if len(b.Claims)+len(b.Sections)+len(b.Samples) > 0 {
		r.live.add(b)
	}
}
