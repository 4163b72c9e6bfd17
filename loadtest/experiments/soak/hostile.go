package soak

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// maxSlowdown is how many times the p99 of honest claims may grow while hostile
// clients are connected.
const maxSlowdown = 3

// hostility is the p99 of honest claims, in milliseconds: without hostile
// clients, with them, and with them on instances that limit no user.
type hostility struct {
	Quiet   float64 `json:"quiet_p99_ms"`
	Hostile float64 `json:"hostile_p99_ms"`
	Control float64 `json:"control_p99_ms"`
}

// withstood reports whether honest claims were quick enough.
func (h hostility) withstood() bool { return h.Hostile <= maxSlowdown*h.Quiet }

// proves reports whether the hostile clients would have slowed honest claims down
// without the limit of a user.
func (h hostility) proves() bool { return h.Control > maxSlowdown*h.Quiet }

// hostileAttempts is how often the measurement is repeated. A busy machine can
// disturb a single one.
const hostileAttempts = 3

// faceHostileClients measures honest claims through nginx among hostile clients.
// The instances of the control sell the same coupon.
func (r *run) faceHostileClients(ctx context.Context) error {
	r.log("hostile clients")
	control, err := r.sale.StartPairWith("api", []string{"USER_RATE=0"}, []string{"USER_RATE=0"})
	if err != nil {
		return err
	}
	coupon, err := r.sale.AddCoupon(ctx, hostileStock)
	if err != nil {
		return err
	}
	r.coupons.add(coupon)
	limited := r.nginx
	unlimited, err := newClient(control.Nginx.URL, r.nginx.signer)
	if err != nil {
		return err
	}
	defer unlimited.claims.Close()
	for range hostileAttempts {
		r.hostility = hostility{
			Quiet:   r.honestP99(ctx, limited, coupon),
			Hostile: r.attackedP99(ctx, limited, coupon),
			Control: r.attackedP99(ctx, unlimited, coupon),
		}
		r.log("p99 of honest claims: %.1f ms quiet, %.1f ms among hostile clients, %.1f ms without a limit per user",
			r.hostility.Quiet, r.hostility.Hostile, r.hostility.Control)
		if r.hostility.withstood() && r.hostility.proves() {
			break
		}
	}
	r.judgeHostility()
	return errors.Join(ctx.Err(), control.Stop())
}

// judgeHostility adds what hostility violates.
func (r *run) judgeHostility() {
	if h := r.hostility; !h.withstood() {
		r.violations.add("hostile clients slow honest claims down: p99 %.1f instead of %.1f ms", h.Hostile, h.Quiet)
	}
	if h := r.hostility; !h.proves() {
		r.violations.add("hostile clients prove nothing: without a limit per user the p99 is %.1f, quiet it is %.1f ms", h.Control, h.Quiet)
	}
}

// Honest claims are sent whether or not earlier ones have a reply.
const (
	honestPeriod = 20 * time.Millisecond
	honestTime   = 4 * time.Second
	hostileStock = 3 * hostileAttempts * 2 * int(honestTime/honestPeriod)
)

// attackedP99 is honestP99 while hostile clients are connected.
func (r *run) attackedP99(ctx context.Context, c client, coupon int64) float64 {
	attackCtx, stop := context.WithCancel(ctx)
	wait := r.attack(attackCtx, c.api.URL, coupon)
	rig.Sleep(ctx, time.Second) // until all are connected
	p99 := r.honestP99(ctx, c, coupon)
	stop()
	wait()
	return p99
}

// honestP99 claims for new users, and returns the p99 in milliseconds.
func (r *run) honestP99(ctx context.Context, c client, coupon int64) float64 {
	var (
		mu        sync.Mutex
		latencies []time.Duration
		sent      sync.WaitGroup
	)
	for begin := time.Now(); time.Since(begin) < honestTime && rig.Sleep(ctx, honestPeriod); {
		sent.Go(func() {
			begin := time.Now()
			if verdict := r.claim(ctx, c, r.newUser(coupon)).verdict(); verdict != rig.Accepted && ctx.Err() == nil {
				r.violations.add("among hostile clients, an honest claim got %s", verdict)
			}
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, time.Since(begin))
		})
	}
	sent.Wait()
	return rig.Milliseconds(stats.Quantile(latencies, 0.99))
}
