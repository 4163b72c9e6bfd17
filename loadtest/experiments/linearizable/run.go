package linearizable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
)

// A variant is how the service is configured in a run, and which faults strike.
// The seed chooses everything.
type variant struct {
	Seed   uint64 `json:"seed"`
	Binary string `json:"binary"`
	Commit string `json:"commit"`
	Lock   string `json:"lock"`
}

var locks = []string{"redis", "none", "zk"}

// variantOf returns the variant of a seed. Twelve seeds in a row have every strategy with
// every lock.
func variantOf(seed uint64, binary string) variant {
	return variant{seed, binary, rig.Commits[seed%uint64(len(rig.Commits))], locks[seed%3]}
}

// segmentsOf are the coupons of a run: one whose stock is one row, one that is
// split.
var segmentsOf = []int{1, 4}

const initialStock = 40

// A run is two instances on servers of their own, with the clients and the faults of
// one seed.
type run struct {
	variant
	stack     *rig.Stack
	sale      *rig.Sale
	zookeeper *lab.ZooKeeper
	a, b      *fault.Instance
	pair      *rig.Fleet
	coupons   []int64
	history   history
	struck    []string // names of the faults, with their times
}

// start starts the service as v says.
func start(ctx context.Context, s *rig.Stack, v variant) (r *run, err error) {
	r = &run{variant: v, stack: s}
	if v.Lock == "zk" {
		if r.zookeeper, err = lab.StartZooKeeper(s.Lab); err != nil {
			return nil, err
		}
	}
	if r.sale, err = s.NewSale(ctx, "LAB=true", "LOCK="+v.Lock, "COMMIT="+v.Commit, "LOCK_TTL=2s", "USER_RATE=0",
		"CLAIM_TIMEOUT=1s", "DRAIN_TIMEOUT=3s", "LOG_LEVEL=error", "COUPON_CACHE="+couponCache.String()); err != nil {
		return nil, err
	}
	if r.a, r.b, r.pair, err = fault.StartPair(r.sale, v.Binary, r.zookeeper); err != nil {
		return nil, err
	}
	for _, segments := range segmentsOf {
		id, err := r.sale.AddSplitCoupon(ctx, initialStock, segments)
		if err != nil {
			return nil, err
		}
		r.coupons = append(r.coupons, id)
	}
	return r, nil
}

// play lets the clients claim and restock while the faults strike, and stops
// the instances when all clients have their replies.
func (r *run) play(ctx context.Context) error {
	a, errA := r.client(r.a.Address)
	b, errB := r.client(r.b.Address)
	nginx, errNginx := r.client(r.pair.Address())
	if err := errors.Join(errA, errB, errNginx); err != nil {
		return err
	}
	during, cancel := context.WithCancel(ctx)
	defer cancel()
	var clients sync.WaitGroup
	r.history.begin = time.Now()
	for i, coupon := range r.coupons {
		random := func(n int) *rand.Rand { return rand.New(rand.NewPCG(r.Seed, uint64(i*100+n))) }
		var lastUser atomic.Int64
		for n, c := range [clientsPerCoupon]client{b, a, nginx, a} {
			clients.Go(func() {
				c.claimAlways(during, random(n), coupon, func() int64 { return lastUser.Add(1) })
			})
		}
		clients.Go(func() { b.restockAlways(during, random(clientsPerCoupon), coupon) })
	}
	err := r.inject(ctx, r.faults(rand.New(rand.NewPCG(r.Seed, 0))))
	rig.Sleep(ctx, 2*quietTime)
	cancel()
	clients.Wait()
	sellOutAndRestock(ctx, a, b, r.coupons[0])
	for _, c := range []client{a, b, nginx} {
		c.claims.Close()
	}
	return errors.Join(err, r.stop())
}

// sellOutAndRestock sells a coupon out at instance a, restocks it at b, and goes on
// claiming at a for longer than a sold-out mark may last, a few times. While the
// clients run, a restock may be sold before a late mark is seen.
func sellOutAndRestock(ctx context.Context, a, b client, coupon int64) {
	user := int64(1_000_000)
	for n := range 3 {
		for range 200 {
			if user++; a.claim(ctx, coupon, user) == soldOut {
				break
			}
		}
		b.restock(ctx, coupon, 100+n)
		for end := time.Now().Add(2 * couponCache); time.Now().Before(end); rig.Sleep(ctx, couponCache/10) {
			user++
			a.claim(ctx, coupon, user)
		}
	}
}

func (r *run) stop() error {
	err := r.pair.Stop()
	r.a.CloseProxies()
	r.b.CloseProxies()
	if r.zookeeper != nil {
		err = errors.Join(err, r.zookeeper.Stop())
	}
	return err
}

// judge checks the history of each coupon and returns what is not linearizable.
func (r *run) judge(ctx context.Context) (violations []string, err error) {
	for _, coupon := range r.coupons {
		end, err := readFinal(ctx, r.sale, coupon, initialStock)
		if err != nil {
			return nil, err
		}
		if err := check(r.history.of(coupon), end); err != nil {
			violations = append(violations, err.Error())
			path := fmt.Sprintf("out/linearizable/%s-%d-%d.json", r.Binary, r.Seed, coupon)
			if err := rig.WriteJSON(path,
				map[string]any{"faults": r.struck, "operations": r.history.of(coupon)}); err != nil {
				return nil, err
			}
		}
	}
	return violations, r.sale.Close()
}
