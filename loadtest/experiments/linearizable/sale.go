package linearizable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	rules "example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// A coupon of a run.
type coupon struct {
	id       int64
	segments int
	rules.Rules
}

func (c coupon) ends() bool { return c.Returnable }

// coupons are those of a run: one whose stock is one row, one that is split, and one whose
// orders can end. Its hold is shorter than those of the API.
var coupons = [3]coupon{{segments: 1}, {segments: 4},
	{segments: 1, Rules: rules.Rules{PerUser: 2, HoldSeconds: 3, Returnable: true}}}

const (
	initialStock   = 40
	usersWhoReturn = 40
)

// A sale is two instances on servers of their own, with the clients and the faults of one
// seed.
type sale struct {
	*trial.Pair
	stack     *rig.Stack
	zookeeper *lab.ZooKeeper
	coupons   [len(coupons)]coupon
	begin     time.Time
	struck    []string // names of the faults, with their times
	expired   int      // orders
}

// start starts the service as r says.
func start(ctx context.Context, stack *rig.Stack, r *Row) (s *sale, err error) {
	s = &sale{stack: stack, coupons: coupons}
	if r.Lock == "zk" {
		if s.zookeeper, err = lab.StartZooKeeper(stack.Lab); err != nil {
			return nil, err
		}
	}
	sale, err := stack.NewSale(ctx, "LAB=true", "LOCK="+r.Lock, "COMMIT="+r.Commit, "LOCK_TTL=2s", "USER_RATE=0",
		"CLAIM_TIMEOUT=1s", "DRAIN_TIMEOUT=3s", "LOG_LEVEL=error", "COUPON_CACHE="+couponCache.String())
	if err != nil {
		return nil, err
	}
	if s.Pair, err = trial.StartPair(stack, sale, r.Binary, s.zookeeper); err != nil {
		return nil, err
	}
	for i := range s.coupons {
		c := &s.coupons[i]
		if c.id, err = s.AddCouponWithRules(ctx, initialStock, c.segments, rules.Rules{PerUser: 1}); err != nil {
			return nil, err
		}
		if c.ends() {
			err = s.Rule(ctx, c.id, c.Rules)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// play lets the clients claim, restock, use and return while the faults strike, and stops
// the instances when all clients have their replies.
func (s *sale) play(ctx context.Context, seed uint64) error {
	a, b, nginx := s.A.Client, s.B.Client, s.Client
	var loads []trial.Load
	for i, c := range s.coupons {
		random := func(n int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(i*100+n))) }
		var lastUser atomic.Int64
		at := [clientsPerCoupon]trial.Client{b, a, nginx, a}
		loads = append(loads, trial.Clients(clientsPerCoupon, func(ctx context.Context, n int) {
			claimAlways(ctx, at[n], random(n), c, func() int64 { return lastUser.Add(1) })
		}), trial.Clients(1, func(ctx context.Context, n int) {
			restockAlways(ctx, b, random(clientsPerCoupon+n), c.id)
		}))
	}
	course, err := trial.Schedule{Faults: s.faults(rand.New(rand.NewPCG(seed, 0))), Rest: quietTime}.Run(ctx, loads...)
	s.begin = course.Begin
	for _, f := range course.Strikes {
		s.struck = append(s.struck, fmt.Sprintf("%.1f s: %s", f.Begin.Sub(s.begin).Seconds(), f.Name))
	}
	if err == nil {
		sellOutAndRestock(ctx, a, b, s.coupons[0].id)
		returnAndClaim(ctx, a, b, s.coupons[len(s.coupons)-1].id)
	}
	return errors.Join(err, s.stop())
}

// sellOutAndRestock sells a coupon out at instance a, restocks it at b, and goes on
// claiming at a for longer than a sold-out mark may last, a few times. While the
// clients run, a restock may be sold before a late mark is seen.
func sellOutAndRestock(ctx context.Context, a, b trial.Client, coupon int64) {
	user := int64(1_000_000)
	for n := range 3 {
		for range 200 {
			if user++; a.Claim(ctx, rig.Claim{User: user, Coupon: coupon}).Verdict == "sold_out" {
				break
			}
		}
		b.Restock(ctx, coupon, 100+n)
		for end := time.Now().Add(2 * couponCache); time.Now().Before(end); rig.Sleep(ctx, couponCache/10) {
			user++
			a.Claim(ctx, rig.Claim{User: user, Coupon: coupon})
		}
	}
}

// returnAndClaim claims at instance a, returns the order at b, and claims at a when that
// must know it. Of other orders it uses one at a while it returns it at b.
func returnAndClaim(ctx context.Context, a, b trial.Client, coupon int64) {
	b.Restock(ctx, coupon, 100)
	rig.Sleep(ctx, 2*couponCache)
	for user := range int64(3) {
		one := rig.Claim{User: 1_000_000 + user, Coupon: coupon}
		if got := a.Claim(ctx, one); got.Order != "" {
			a.Claim(ctx, one) // and is told of its order
			b.Return(ctx, got)
		}
		rig.Sleep(ctx, 2*couponCache)
		a.Claim(ctx, one)
	}
	for user := range int64(50) {
		if got := a.Claim(ctx, rig.Claim{User: 2_000_000 + user, Coupon: coupon}); got.Order != "" {
			var other sync.WaitGroup
			other.Go(func() { b.Return(ctx, got) })
			a.Use(ctx, got)
			other.Wait()
		}
	}
}

func (s *sale) stop() error {
	err := s.Stop()
	if s.zookeeper != nil {
		err = errors.Join(err, s.zookeeper.Stop())
	}
	return err
}

// judge checks the history of each coupon and returns what is not linearizable. Its
// operations are written to a file that begins with path.
func (s *sale) judge(ctx context.Context, path string) (violations []string, err error) {
	violations = s.All()
	for _, c := range s.coupons {
		end, err := s.final(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, o := range end.orders {
			if o.How == expired {
				s.expired++
			}
		}
		others := func(o trial.Operation) bool { return o.Coupon != c.id }
		operations := slices.DeleteFunc(s.Operations(), others)
		if err := check(operations, s.begin, end); err != nil {
			violations = append(violations, err.Error())
			if err := rig.WriteJSON(fmt.Sprintf("%s-%d.json", path, c.id), map[string]any{
				"faults": s.struck, "begin": s.begin, "operations": operations, "orders": end.orders,
			}); err != nil {
				return nil, err
			}
		}
	}
	return violations, s.Close()
}

// final reads what the database has for a coupon.
func (s *sale) final(ctx context.Context, c coupon) (end final, err error) {
	end.initial, end.hold = initialStock, c.Hold()
	if end.stock, err = s.Stock(ctx, c.id); err != nil {
		return end, err
	}
	if end.orders, err = s.Orders(ctx, c.id); err != nil {
		return end, err
	}
	const restocks = `SELECT initial_stock_to - initial_stock_from FROM coupon_changes WHERE coupon_id = ? AND action = 'restock'`
	if err := s.DB.SelectContext(ctx, &end.restocks, restocks, c.id); err != nil {
		return end, fmt.Errorf("read restocks: %w", err)
	}
	return end, nil
}
