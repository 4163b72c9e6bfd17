// Package soak runs a sale for minutes while its parts fail, and fails if a
// promise is broken, a claim gets no reply in time or a coupon does not sell again
// soon. Mixed users claim from coupons that open, sell out and are restocked, and use,
// return and let expire what they have. The instances, the database and Redis are
// killed, suspended and partitioned in turn. Then hostile clients occupy nginx and the
// instances. The database is audited throughout.
package soak

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// Run runs the soak for as long as SOAK says (5m), prints a table and writes
// out/soak/soak.json.
func Run(ctx context.Context) error {
	d, err := durationFrom(os.Getenv("SOAK"))
	if err != nil {
		return err
	}
	return rig.With(func(s *rig.Stack) error { return soak(ctx, s, d) }, rig.LargeDatabase...)
}

// fullRun is how long a run takes that has every fault at least once.
const fullRun = 5 * time.Minute

func durationFrom(setting string) (time.Duration, error) {
	if setting == "" {
		return fullRun, nil
	}
	d, err := time.ParseDuration(setting)
	if err != nil || d < 20*time.Second {
		return 0, errors.New("SOAK: want a duration of at least 20s, such as 5m")
	}
	return d, nil
}

// The timeouts of the instances. They are shorter than most faults.
const (
	claimTimeout = 3 * time.Second
	lockTTL      = 4 * time.Second
	drainTimeout = 10 * time.Second
)

var settings = []string{
	"CLAIM_TIMEOUT=" + claimTimeout.String(), "LOCK_TTL=" + lockTTL.String(), "DRAIN_TIMEOUT=" + drainTimeout.String(),
}

// soak sells while parts fail, then among hostile clients, and then what is left.
func soak(ctx context.Context, s *rig.Stack, d time.Duration) error {
	m := &market{stack: s, duration: d}
	if err := m.open(ctx); err != nil {
		return err
	}
	if err := m.sell(ctx); err != nil {
		return err
	}
	awaitSales(ctx, m, "after the last fault", m.Client)
	hostility, err := faceHostileClients(ctx, m)
	if err != nil {
		return err
	}
	if err := settle(ctx, m); err != nil {
		return err
	}
	return m.report(ctx, hostility)
}

// open starts the instances and creates the coupon of claimSteadily.
func (m *market) open(ctx context.Context) (err error) {
	if m.events, err = startEvents(m.stack.Lab); err != nil {
		return err
	}
	all := append(settings, "EVENTS=true", "EVENTS_REDIS="+m.events.server.URL)
	sale, err := m.stack.NewSale(ctx, all...)
	if err != nil {
		return err
	}
	if m.steady, err = sale.AddCoupon(ctx, steadyStock(m.duration)); err != nil {
		return err
	}
	if m.Pair, err = trial.StartPair(m.stack, sale, "api", nil); err != nil {
		return err
	}
	m.faults = listFaults(m)
	return nil
}

// A market is the sale, and what its clients were told of it.
type market struct {
	*trial.Pair
	stack    *rig.Stack
	steady   int64 // the coupon of claimSteadily, which never sells out
	coupons  coupons
	events   *events
	newUsers atomic.Int64

	duration time.Duration
	faults   []fault.Fault
	begin    time.Time
	settled  time.Time // no user claims any more
	log      func(format string, args ...any)
	outages  []outage

	other      sync.WaitGroup // waits for otherAfter
	otherAfter time.Duration  // of the fault that strikes
}

// newUser returns a user who has not claimed before.
func (m *market) newUser() int64 { return rig.UserID(users + 1<<20 + int(m.newUsers.Add(1))) }

// post sends an administrator's request through nginx until the reply has the
// status want, because the service may be unavailable, or until ctx ends. It
// returns the reply. All attempts make one change: they have one key.
func (m *market) post(ctx context.Context, path string, body any, want int) []byte {
	api := m.Client.Client
	api.Key = rand.Text()
	for {
		status, reply, err := api.Do(ctx, http.MethodPost, path, m.Client.Signer.Admin(), body)
		if err == nil && status == want {
			return reply
		}
		inProgress := status == http.StatusConflict
		if err == nil && status < http.StatusInternalServerError && !inProgress && ctx.Err() == nil {
			m.Violations.Add("POST %s: unexpected reply %d %s", path, status, reply)
		}
		if !rig.Sleep(ctx, 100*time.Millisecond) {
			return nil
		}
	}
}
