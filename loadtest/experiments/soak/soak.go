// Package soak runs a sale for minutes while its parts fail, and fails if a
// promise is broken, a claim gets no reply in time or a coupon does not sell again
// soon. Mixed users claim from coupons that open, sell out and are restocked. The
// instances, the database and Redis are killed, suspended and partitioned in turn.
// Then hostile clients occupy nginx and the instances. The database is audited
// throughout.
package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/loadtest/rig"
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

func soak(ctx context.Context, s *rig.Stack, d time.Duration) error {
	sale, err := s.NewSale(ctx, settings...)
	if err != nil {
		return err
	}
	r, err := newRun(ctx, s, sale, d)
	if err != nil {
		return err
	}
	if err := r.run(ctx); err != nil {
		return err
	}
	return r.report(ctx)
}

// A run is one soak: the sale, its load and what was seen of it.
type run struct {
	stack      *rig.Stack
	sale       *rig.Sale
	a, b       *instance
	nginx      client
	begin      time.Time
	duration   time.Duration
	log        func(format string, args ...any)
	coupons    coupons
	steady     int64 // the coupon of steadyClaims
	newUsers   atomic.Int64
	history    history
	waits      waits
	faults     []fault
	outages    outages
	hostility  hostility
	violations violations

	crowdHeaders    rig.Headers
	refusedInCrowds int
}

// newRun starts the instances and creates the coupon of steadyClaims.
func newRun(ctx context.Context, s *rig.Stack, sale *rig.Sale, d time.Duration) (*run, error) {
	r := &run{stack: s, sale: sale, duration: d, history: newHistory()}
	var err error
	if r.steady, err = sale.AddCoupon(ctx, steadyStock(d)); err != nil {
		return nil, err
	}
	if r.crowdHeaders, err = s.Headers(crowdUsers); err != nil {
		return nil, err
	}
	if r.a, r.b, r.nginx, err = startInstances(sale, s.Signer()); err != nil {
		return nil, err
	}
	r.a.lastUser.Store(r.newUser(r.steady).user)
	r.b.lastUser.Store(r.newUser(r.steady).user)
	r.faults, r.begin, r.log = r.listFaults(), time.Now(), rig.Progress()
	return r, nil
}

// run runs all activities at once until the time is up, then faceHostileClients,
// and then settle. An activity that fails ends the others.
func (r *run) run(ctx context.Context) error {
	during, cancel := context.WithTimeout(ctx, r.duration)
	defer cancel()
	activities := r.activities()
	errs := make([]error, len(activities))
	var wg sync.WaitGroup
	for i, activity := range activities {
		wg.Go(func() {
			if errs[i] = activity(during); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return err
	}
	r.awaitSales(ctx, "after the last fault", r.nginx)
	if err := r.faceHostileClients(ctx); err != nil {
		return err
	}
	return r.settle(ctx)
}

// activities returns what runs at once. Half of the user loops claim through
// nginx, and a quarter each directly at an instance.
func (r *run) activities() []func(context.Context) error {
	activities := []func(context.Context) error{r.manageCoupons, r.injectFaults, r.auditAlways}
	activities = append(activities,
		func(ctx context.Context) error { return r.steadyClaims(ctx, r.a, r.b) },
		func(ctx context.Context) error { return r.steadyClaims(ctx, r.b, r.a) })
	clients := []client{r.a.client, r.nginx, r.b.client, r.nginx}
	for i := range userLoops {
		c := clients[i%len(clients)]
		activities = append(activities, func(ctx context.Context) error { return r.userLoop(ctx, c) })
	}
	return activities
}

// violations are the promises that were found broken. Only the first few are
// kept: the others rarely add anything.
type violations struct {
	mu   sync.Mutex
	list []string
}

const maxViolations = 20

func (v *violations) add(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.list) < maxViolations {
		v.list = append(v.list, fmt.Sprintf(format, args...))
		fmt.Fprintln(os.Stderr, "NO:", v.list[len(v.list)-1])
	}
}

func (v *violations) all() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string{}, v.list...)
}
