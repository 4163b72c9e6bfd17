package bench

import (
	"encoding/json"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// A claim as users make it, behind nginx, and straight at an instance; claims that arrive at a rate,
// whether or not earlier ones have a reply; refused ones. Each is beside accepted claims of an empty
// handler in the same place.
func BenchmarkClaim(b *testing.B) {
	pair, emptyPair := grouped.behindNginx().deploy(b), empty.behindNginx().deploy(b)
	one, emptyOne := grouped.deploy(b), empty.deploy(b)
	turns(b, "nginx", emptyPair.claims(closed(defaultConns)), pair.claims(closed(defaultConns)))
	turns(b, "direct", emptyOne.claims(closed(defaultConns)), one.claims(closed(defaultConns)))
	turns(b, "arriving=5000", emptyOne.claims(arriving()), one.claims(arriving()))
	const winners = 20_000
	again, late := closed(defaultConns), closed(defaultConns)
	again.Coupons, again.Headers = []int64{one.withOrders(b, unlimited, winners)}, headers
	again.Headers.Count = winners
	late.Coupons, late.First = []int64{one.withOrders(b, 1, 1)}, 1
	turns(b, "already-claimed", emptyOne.claims(closed(defaultConns)), one.refusals("already_claimed", again))
	turns(b, "sold-out", emptyOne.claims(closed(defaultConns)), one.refusals("sold_out", late))
}

// arriving is an open model of 5,000 claims a second.
func arriving() clients.Load {
	const rate = 5000
	return clients.Load{Connect: defaultConns, Phases: []generator.Phase{
		{Rate: rate, Count: int(rate * slice.Seconds())},
	}}
}

// withOrders adds a coupon with that stock, of which the first users have the orders.
func (d *deployment) withOrders(b *testing.B, stock, orders int) int64 {
	b.Helper()
	id := d.add(b, stock, 1, coupon.Rules{PerUser: 1, Returnable: true})
	users := make([]int64, orders)
	for i := range users {
		users[i] = rig.UserID(i)
	}
	list, err := json.Marshal(users)
	check.NoError(b, err)
	_, err = d.sale.DB.ExecContext(b.Context(), `
		INSERT INTO coupon_orders (id, coupon_id, user_id, created_at)
		SELECT ? + u.n, ?, u.id, UTC_TIMESTAMP(3)
		FROM JSON_TABLE(?, '$[*]' COLUMNS (n FOR ORDINALITY, id BIGINT PATH '$')) u`, id<<32, id, string(list))
	check.NoError(b, err)
	_, err = d.sale.DB.ExecContext(b.Context(), "UPDATE coupons SET stock = stock - ? WHERE id = ?", orders, id)
	check.NoError(b, err)
	return id
}

// refusals returns claims that all get the verdict.
func (d *deployment) refusals(verdict string, l clients.Load) func(*testing.B) outcome {
	return func(b *testing.B) outcome {
		o := d.send(b, l, verdict)
		if r := o.phases[0]; r.Replies(verdict) < len(r.Claims) {
			b.Fatalf("%d of %d claims were refused: %s", r.Replies(verdict), len(r.Claims), r.Detail)
		}
		return o
	}
}

// The service as shipped beside the other strategies, each of which has a transaction for each claim, as
// the articles have it.
func BenchmarkGrouped(b *testing.B) {
	turns(b, "beside=each/nginx", service("each").behindNginx().deploy(b).claims(closed(defaultConns)),
		grouped.behindNginx().deploy(b).claims(closed(defaultConns)))
	shipped := grouped.deploy(b)
	for _, commit := range rig.Commits {
		if commit != "grouped" {
			turns(b, "beside="+commit, service(commit).deploy(b).claims(closed(defaultConns)),
				shipped.claims(closed(defaultConns)))
		}
	}
}

// The stock in 16 rows beside one, under the lock for a user as shipped, and under a lock for the row
// that alone guards the stock, held for 20 ms or no longer than a claim needs.
func BenchmarkSegments(b *testing.B) {
	locked := func(scope string, more ...string) variant {
		return variant{grouped.program, append(rig.LabSettings("redis", scope, "each", "stock"), more...), 0}
	}
	const pause = "CLAIM_PAUSE=20ms" // a critical section that is not the machine's CPU time
	for _, c := range []struct {
		name         string
		split, whole variant
	}{
		{"lock=row", locked("segment"), locked("coupon")},
		{"lock=row,pause=20ms", locked("segment", pause), locked("coupon", pause)},
		{"commit=each", service("each"), service("each")},
		{"commit=grouped", grouped, grouped},
	} {
		split := c.split.deploy(b)
		turns(b, c.name, c.whole.deploy(b).claims(closed(64)), func(b *testing.B) outcome {
			l := closed(64)
			l.Coupons = []int64{split.add(b, unlimited, 16, coupon.Rules{PerUser: 1})}
			return split.claim(b, l)
		})
	}
}

// More coupons on sale and more connections, beside one coupon and 256 connections.
func BenchmarkGrowth(b *testing.B) {
	d := grouped.deploy(b)
	few := d.claims(closed(defaultConns))
	for _, c := range []struct {
		name    string
		coupons int
	}{{"coupons=10", 10}, {"coupons=1000", 1000}} {
		turns(b, c.name, few, func(b *testing.B) outcome {
			l := closed(defaultConns)
			for range c.coupons {
				l.Coupons = append(l.Coupons, d.add(b, unlimited, 1, coupon.Rules{PerUser: 1}))
			}
			return d.claim(b, l)
		})
	}
	turns(b, "connections=4096", few, func(b *testing.B) outcome {
		l := closed(4096)
		l.Phases[0].Duration += 4 * time.Second // the first ones come at one moment
		return d.claim(b, l)
	})
}

// A million orders in the table, beside ten thousand.
func BenchmarkOrders(b *testing.B) {
	few, many := grouped.deploy(b), grouped.deploy(b)
	few.withOrders(b, unlimited, 10_000)
	many.withOrders(b, unlimited, 1_000_000)
	turns(b, "orders=1000000", few.claims(closed(defaultConns)), many.claims(closed(defaultConns)))
}
