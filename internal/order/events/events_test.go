package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/events"
	"example.com/flashsale/internal/order/life"
	"example.com/flashsale/internal/order/ordertest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.RedisServer) }

const (
	couponID = 1
	stream   = "flashsale:events"
)

func withEvents(c *ordertest.Config) { c.Commit.Outbox = true }

// A transition is what is published at least once.
type transition struct {
	order int64
	kind  order.State
}

// happened returns the transitions that the tables show.
func happened(t *testing.T, s *ordertest.Sale) map[transition]int {
	t.Helper()
	var all []transition
	const q = `
		SELECT id, 'claimed' FROM coupon_orders UNION ALL SELECT id, 'claimed' FROM coupon_orders_ended UNION ALL
		SELECT id, 'used' FROM coupon_orders WHERE used_at IS NOT NULL UNION ALL SELECT id, how FROM coupon_orders_ended`
	rows, err := labtest.Open(t, s.DSN).Query(q)
	check.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var one transition
		check.NoError(t, rows.Scan(&one.order, &one.kind))
		all = append(all, one)
	}
	return count(all)
}

// published returns how often the stream has each transition.
func published(t *testing.T, rdb redis.UniversalClient) map[transition]int {
	t.Helper()
	var all []transition
	for _, m := range rdb.XRange(t.Context(), stream, "-", "+").Val() {
		var e struct {
			V      int
			Kind   order.State
			Orders [][]any
		}
		if err := json.Unmarshal([]byte(m.Values["body"].(string)), &e); err != nil || e.V != 1 {
			t.Fatalf("%v: %v", m, err)
		}
		for _, o := range e.Orders {
			var id int64
			if _, err := fmt.Sscan(o[0].(string), &id); err != nil {
				t.Fatalf("%v: %v", o, err)
			}
			all = append(all, transition{id, e.Kind})
		}
	}
	return count(all)
}

func count(all []transition) map[transition]int {
	times := map[transition]int{}
	for _, one := range all {
		times[one]++
	}
	return times
}

// lacking returns how many transitions of a are not in b.
func lacking(a, b map[transition]int) int {
	rest := maps.Clone(a)
	maps.DeleteFunc(rest, func(one transition, _ int) bool { return b[one] > 0 })
	return len(rest)
}

// waiting returns how many events are in the table.
func waiting(s *ordertest.Sale) (n int) {
	s.Get(&n, `SELECT COUNT(*) FROM coupon_events`)
	return n
}

// runRelay runs a relay from mysql to the Redis at url.
func runRelay(t *testing.T, mysql, url string, locker lock.Locker) *events.Relay {
	t.Helper()
	r := events.NewRelay(events.Config{
		DB: labtest.Open(t, mysql), Redis: labtest.DialURL(t, url), Stream: stream,
		Locks: lock.New(locker), Lock: "events",
	})
	r.Run(func(err error) { t.Log(err) })
	t.Cleanup(r.Close)
	return r
}

// sell makes and ends orders at two instances, of which the first loses replies to its
// commits. More users than units come, each twice.
func sell(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
	t.Helper()
	s.Ruled(couponID, 60, coupon.Rules{PerUser: 2, HoldSeconds: 600, Returnable: true})
	proxy, through := s.Proxied()
	var lives []*life.Orders
	open := func(changes ...func(*ordertest.Config)) *ordertest.Instance {
		changes = append(changes, withEvents, ordertest.WithStrategy(strategy), ordertest.WithLocker(lock.None()))
		return s.Instance(append(changes, func(c *ordertest.Config) {
			lives = append(lives, life.New(c.Commit.DB, c.Order.Coupons, c.Commit.Outbox, nil))
		})...)
	}
	instances := []*ordertest.Instance{open(through), open()}
	proxy.Inject(faultproxy.LoseReply, "COMMIT", 8)
	check.AtOnce(160, func(n int) {
		i, l, user := instances[n%2], lives[n%2], int64(n/4)
		o, err := i.Claims.Claim(t.Context(), order.Claimant{UserID: user, Number: n%4/2 + 1}, couponID)
		switch {
		case err != nil: // a verdict, or unknown
		case user%4 == 0:
			_, _ = l.Use(t.Context(), o.ID, 9, "till")
		case user%4 == 1:
			_, _ = l.Return(t.Context(), o.ID, life.Caller{UserID: user})
		}
	})
	if proxy.Hits() == 0 {
		t.Error("no reply was lost")
	}
	proxy.Heal()
	s.Exec(`UPDATE coupon_orders SET expires_at = UTC_TIMESTAMP(3) WHERE user_id % 4 = 2`)
	s.Exec(`UPDATE coupon_holds SET expires_at = UTC_TIMESTAMP(3)
		WHERE order_id IN (SELECT id FROM coupon_orders WHERE user_id % 4 = 2)`)
	var late int64
	s.Get(&late, `SELECT MIN(id) FROM coupon_orders WHERE user_id % 4 = 2`)
	if _, err := lives[0].Use(t.Context(), late, 9, "till"); !errors.Is(err, order.ErrExpired) {
		t.Errorf("use after the end: %v", err)
	}
	for _, l := range lives {
		l.Sweep(func(err error) { t.Error(err) })
		defer l.Close()
	}
	check.Eventually(t, "the holds have expired", func() (done bool) {
		s.Get(&done, `SELECT COUNT(*) = 0 FROM coupon_orders WHERE used_at IS NULL AND expires_at <= UTC_TIMESTAMP(3)`)
		return done
	})
}

// I5: each transition is published at least once, and nothing that did not commit.
func TestWhatCommittedIsPublishedAndNothingElse(t *testing.T) {
	t.Parallel()
	for i, fault := range []string{"two relays", "killed before the DELETE", "lost reply of Redis", "Redis away"} {
		strategy := commit.Strategies[i]
		t.Run(fault+", "+string(strategy), func(t *testing.T) {
			t.Parallel()
			s := ordertest.NewSale(t)
			mysql, dsn := labtest.ProxiedMySQL(t, s.DSN)
			cache := labtest.Proxy(t, s.Redis.URL)
			rdb := labtest.Dial(t, s.Redis)
			switch fault {
			case "two relays":
				runRelay(t, s.DSN, s.Redis.URL, lock.None())
			case "killed before the DELETE":
				mysql.Inject(faultproxy.LoseRequest, "DELETE e FROM coupon_events", 2)
			case "lost reply of Redis":
				cache.Inject(faultproxy.LoseReply, "xadd", 3)
			case "Redis away":
				cache.Partition()
			}
			relay := runRelay(t, dsn, "redis://"+cache.Addr(), lock.None())
			sell(t, s, strategy)
			if fault == "Redis away" {
				if n := waiting(s); n == 0 || len(published(t, rdb)) > 0 {
					t.Errorf("%d events wait", n)
				}
				check.Eventually(t, "the lag is seen", func() bool {
					return relay.Stats().Failures > 0 && relay.Stats().Oldest > 0
				})
				s.Exec("UPDATE coupon_events SET coupon_id = NULL LIMIT 1") // as an older instance leaves it
				cache.Heal()
			}
			check.Eventually(t, "all is published", func() bool {
				return waiting(s) == 0 && relay.Stats().Oldest == 0
			})
			told, want := published(t, rdb), happened(t, s)
			if missing, phantoms := lacking(want, told), lacking(told, want); missing+phantoms > 0 {
				t.Errorf("%d of %d transitions are missing, %d did not happen", missing, len(want), phantoms)
			}
			if counted, added := relay.Stats().Published, rdb.XLen(t.Context(), stream).Val(); counted > added {
				t.Errorf("%d events are counted as published, %d were", counted, added)
			}
			kinds := map[order.State]bool{}
			repeated := 0
			for one, times := range told {
				kinds[one.kind] = true
				repeated += times - 1
			}
			if len(kinds) != 4 || repeated == 0 && mysql.Hits()+cache.Hits() > 0 {
				t.Errorf("kinds %v, %d repeated", slices.Collect(maps.Keys(kinds)), repeated)
			}
			if mysql.Hits()+cache.Hits() == 0 && !strings.Contains("two relays, Redis away", fault) {
				t.Error("no fault")
			}
		})
	}
}

// The control: without an outbox events are lost when the claim is published after its
// commit, and invented when before it.
func TestWithoutOutboxEventsAreLostOrInvented(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Coupon(couponID, 10)
	i := s.Instance()
	rdb := labtest.Dial(t, s.Redis)
	add := func(id int64) {
		rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: []any{
			"body", fmt.Sprintf(`{"v":1,"kind":"claimed","orders":[["%d","1","1",1]]}`, id)}})
	}
	for user := range int64(20) {
		o, err := i.Claim(t.Context(), user, couponID)
		if err == nil && user%2 == 0 { // the instance dies before it publishes every other
			add(o.ID)
		}
		if err != nil { // it published first
			add(-user)
		}
	}
	told, want := published(t, rdb), happened(t, s)
	if missing, phantoms := lacking(want, told), lacking(told, want); missing != 5 || phantoms != 10 {
		t.Errorf("%d missing, %d did not happen", missing, phantoms)
	}
}

// One relay works at a time, and the next goes on where one has ended.
func TestOneRelayWorksAtATime(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	const sold = 201
	s.Coupon(couponID, sold)
	rdb := labtest.Dial(t, s.Redis)
	const full, fill = 101_000, "for n = 1, 1000 do redis.call('XADD', KEYS[1], '*', 'n', n) end return 1"
	for range full / 1000 {
		check.NoError(t, rdb.Eval(t.Context(), fill, []string{stream}).Err())
	}
	locker := redislock.New(rdb)
	held, err := locker.TryLock(t.Context(), "events", time.Hour)
	check.NoError(t, err)
	relays := []*events.Relay{
		runRelay(t, s.DSN, s.Redis.URL, locker), runRelay(t, s.DSN, s.Redis.URL, locker),
	}
	// A transaction for each claim: three rounds.
	i := s.Instance(withEvents, ordertest.WithStrategy(commit.PerClaim))
	if n := s.Rush(couponID, sold, 1, i); n != sold {
		t.Errorf("%d sold", n)
	}
	check.Eventually(t, "both have looked", func() bool {
		return relays[0].Stats().Oldest > 0 && relays[1].Stats().Oldest > 0
	})
	if n := waiting(s); n != sold {
		t.Errorf("%d events wait while another instance publishes", n)
	}
	check.NoError(t, held.Release(t.Context()))
	check.Eventually(t, "all is published", func() bool { return waiting(s) == 0 })
	info := rdb.XInfoStream(t.Context(), stream).Val()
	if n := info.EntriesAdded - full; n != sold || info.Length >= full {
		t.Errorf("%d events, want each once, in a stream of %d that keeps about 100,000", n, info.Length)
	}
}

// beforePipelines calls itself before each pipeline.
type beforePipelines func()

func (beforePipelines) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (beforePipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (before beforePipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { before(); return next(ctx, cmds) }
}

// Behind the rows that a long snapshot keeps, a read from the first on takes long. A row of a
// transaction that commits late waits for the next look.
func TestReadsGoOnWhereTheLastHasEnded(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	const insert = `INSERT INTO coupon_events (id, created_at, body) VALUES (?, UTC_TIMESTAMP(3), ?)`
	var want []string
	for id := range 250 {
		want = append(want, fmt.Sprint(id+10))
		s.Exec(insert, id+10, want[id])
	}
	rdb := labtest.Dial(t, s.Redis)
	rdb.AddHook(beforePipelines(sync.OnceFunc(func() { s.Exec(insert, 9, "late") })))
	r := events.NewRelay(events.Config{DB: labtest.Open(t, s.DSN), Redis: rdb, Stream: stream,
		Locks: lock.New(lock.None()), Lock: "events"})
	r.Run(func(err error) { t.Error(err) })
	t.Cleanup(r.Close)
	check.Eventually(t, "all is published", func() bool { return waiting(s) == 0 })
	var told []string
	for _, m := range rdb.XRange(t.Context(), stream, "-", "+").Val() {
		told = append(told, m.Values["body"].(string))
	}
	if want = append(want, "late"); !slices.Equal(told, want) {
		t.Errorf("%v are published, want %v", told, want)
	}
}

func TestFailureIsToldOnceByInstancesThatTakeTurns(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Coupon(couponID, 1)
	labtest.Dial(t, s.Redis).Set(t.Context(), stream, "no stream", 0)
	_, err := s.Instance(withEvents).Claim(t.Context(), 1, couponID)
	check.NoError(t, err)
	requests := 0
	turns := &ordertest.Locker{Locker: lock.None(), Try: func(string) error { // another instance tries to publish, too
		if requests++; requests%2 == 0 {
			return lock.ErrLocked
		}
		return nil
	}}
	r := events.NewRelay(events.Config{DB: labtest.Open(t, s.DSN), Redis: labtest.Dial(t, s.Redis), Stream: stream,
		Locks: lock.New(turns), Lock: "events"})
	var told atomic.Int64
	r.Run(func(error) { told.Add(1) })
	check.Eventually(t, "it has failed again", func() bool { return r.Stats().Failures > 2 })
	r.Close()
	if n := told.Load(); n != 1 {
		t.Errorf("told %d times", n)
	}
}

func TestNothingIsWrittenWithoutOutbox(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Ruled(couponID, 9, coupon.Rules{PerUser: 1, Returnable: true})
	var l *life.Orders
	i := s.Instance(func(c *ordertest.Config) { l = life.New(c.Commit.DB, c.Order.Coupons, c.Commit.Outbox, nil) })
	for user := range int64(2) {
		o, err := i.Claim(t.Context(), user, couponID)
		check.NoError(t, err)
		if user == 0 {
			_, err = l.Use(t.Context(), o.ID, 9, "till")
		} else {
			_, err = l.Return(t.Context(), o.ID, life.Caller{UserID: user})
		}
		if err != nil {
			t.Error(err)
		}
	}
	if n := waiting(s); n != 0 {
		t.Errorf("%d events", n)
	}
	if q := events.Outbox(false).Statement(order.Claimed, nil).SQL; q != "" {
		t.Errorf("statement %q", q)
	}
}

// Vitess finds the shard by it. Orders of two coupons that expire at once have an event each.
func TestHoldsAndEventsNameTheCouponOfTheirOrders(t *testing.T) {
	ordertest.ForStrategies(t, commit.Strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		var l *life.Orders
		i := s.Instance(withEvents, ordertest.WithStrategy(strategy), func(c *ordertest.Config) {
			l = life.New(c.Commit.DB, c.Order.Coupons, c.Commit.Outbox, nil)
		})
		for id := range int64(2) {
			s.Ruled(id+1, 9, coupon.Rules{PerUser: 1, HoldSeconds: 600})
			_, err := i.Claim(t.Context(), 1, id+1)
			check.NoError(t, err)
		}
		var named int
		s.Get(&named, `SELECT COUNT(*) FROM coupon_holds JOIN coupon_orders ON id = order_id
			WHERE coupon_holds.coupon_id = coupon_orders.coupon_id`)
		s.Exec(`UPDATE coupon_orders SET expires_at = UTC_TIMESTAMP(3)`)
		s.Exec(`UPDATE coupon_holds SET expires_at = UTC_TIMESTAMP(3)`)
		l.Sweep(func(err error) { t.Error(err) })
		defer l.Close()
		check.Eventually(t, "both have expired", func() (done bool) {
			s.Get(&done, `SELECT COUNT(*) = 2 FROM coupon_orders_ended`)
			return done
		})
		var events int
		s.Get(&events, `SELECT COUNT(*) FROM coupon_events WHERE body LIKE CONCAT('%","', coupon_id, '","1",1]]}')`)
		if named != 2 || events != 4 {
			t.Errorf("%d holds and %d events name their coupon", named, events)
		}
	})
}

func TestEventIsAsDocumented(t *testing.T) {
	t.Parallel()
	one := order.Order{ID: 7687453 << 32, CouponID: 12, Claimant: order.Claimant{UserID: 42, Number: 1}}
	two := order.Order{ID: 1, CouponID: 2, Claimant: order.Claimant{UserID: 3, Number: 100}}
	args := events.Outbox(true).Statement(order.Returned, slices.Values([]order.Order{one, two})).Args
	const want = `{"v":1,"kind":"returned","orders":[["33017359224537088","12","42",1],["1","2","3",100]]}`
	if args[0] != want || args[1] != one.ID {
		t.Errorf("got %v, want %s", args, want)
	}
}
