package bench

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/rig"
)

// What the rules of a coupon cost: three orders of each user beside one; 5,000 claims/s while 500 orders
// of another coupon expire each second, beside those claims alone; refusals of a coupon that is sold out,
// of which a unit is returned every second and sold again, beside those without returns.
func BenchmarkRules(b *testing.B) {
	d := grouped.deploy(b)
	turns(b, "per-user=3", d.claims(closed(defaultConns)), func(b *testing.B) outcome {
		l := closed(defaultConns)
		l.Coupons, l.Numbers = []int64{d.add(b, unlimited, 1, coupon.Rules{PerUser: 3})}, 3
		return d.claim(b, l)
	})
	turns(b, "expiring=500", d.claims(arriving()), func(b *testing.B) outcome {
		held := d.expiring(b, 500)
		o := d.claim(b, arriving())
		b.ReportMetric(float64(d.expired(b, held))/slice.Seconds(), "expired-per-s")
		return o
	})
	sold := d.withOrders(b, returnable, returnable)
	load := closed(defaultConns)
	load.Coupons, load.First, load.Phases[0].Duration = []int64{sold}, returnable, max(slice, 2*time.Second)
	next := 0 // order to return
	turns(b, "returned=1", func(b *testing.B) outcome { return d.send(b, load, "sold_out") },
		func(b *testing.B) outcome { return d.whileReturned(b, load, &next) })
}

// returnable is more than all orders that a run returns.
const returnable = 1000

// expiring adds a coupon of whose orders that many expire in each second from now on.
func (d *deployment) expiring(b *testing.B, perSecond int) int64 {
	b.Helper()
	orders := int(float64(perSecond) * slice.Seconds())
	id := d.withOrders(b, orders, orders)
	for _, q := range []string{
		`UPDATE coupon_orders SET expires_at = UTC_TIMESTAMP(3) + INTERVAL (id % 4294967296) * 1000000 DIV ? MICROSECOND
		WHERE coupon_id = ?`,
		`INSERT INTO coupon_holds (expires_at, order_id) SELECT expires_at, id FROM coupon_orders WHERE ? > 0 AND coupon_id = ?`,
	} {
		if _, err := d.sale.DB.ExecContext(b.Context(), q, perSecond, id); err != nil {
			b.Fatal(err)
		}
	}
	return id
}

// expired returns how many orders of a coupon have expired. None is an error.
func (d *deployment) expired(b *testing.B, id int64) (n int) {
	b.Helper()
	const q = `SELECT COUNT(*) FROM coupon_orders_ended WHERE coupon_id = ? AND how = 'expired'`
	if err := d.sale.DB.GetContext(b.Context(), &n, q, id); err != nil || n == 0 {
		b.Fatalf("%d orders have expired: %v", n, err)
	}
	return n
}

// whileReturned sends l while an order of its coupon is returned each second. No more may be sold
// than was returned.
func (d *deployment) whileReturned(b *testing.B, l clients.Load, next *int) outcome {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	returned := make(chan int)
	go func() { returned <- d.returnEachSecond(ctx, b, l.Coupons[0], next) }()
	o := d.send(b, l, "sold_out")
	stop()
	if units, sold := <-returned, o.phases[0].Replies(rig.Accepted); units == 0 || sold > units {
		b.Fatalf("%d units were returned, and %d sold again: %s", units, sold, o.phases[0].Detail)
	}
	return o
}

// returnEachSecond returns an order of the coupon, and another one each second until ctx ends.
func (d *deployment) returnEachSecond(ctx context.Context, b *testing.B, id int64, next *int) (n int) {
	client, admin := rig.NewClient("http://"+d.Address()), d.stack.Signer().Admin()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		*next++
		path := "/orders/" + strconv.FormatInt(id<<32+int64(*next), 10)
		status, reply, err := client.Do(context.WithoutCancel(ctx), http.MethodDelete, path, admin, nil)
		if err != nil || status/100 != 2 {
			b.Errorf("return: status %d, %v: %s", status, err, reply)
			return n
		}
		n++
		select {
		case <-ctx.Done():
			return n
		case <-tick.C:
		}
	}
}
