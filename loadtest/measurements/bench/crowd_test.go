package bench

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/rig"
)

// Clients that connect to nginx first and then claim at one moment a coupon that has stock for all of
// them. Every one must get a verdict, or an honest 503, and every promise must be kept. nginx passes on
// 12,000 at a time (deploy/nginx/site/claims.conf).
func BenchmarkCrowd(b *testing.B) {
	v := grouped
	v.instances = 2
	d := v.start(b, stack, lab.StartCrowdNginx)
	for _, n := range []int{666, 4000, 12_000, 20_000} {
		b.Run(fmt.Sprintf("clients=%d", n), func(b *testing.B) {
			for b.Loop() {
				d.crowd(b, n)
			}
		})
	}
}

// crowd is one burst, and at most five attempts at one in which the clients met: half of their claims
// were in progress at one moment.
func (d *deployment) crowd(b *testing.B, n int) {
	b.Helper()
	for range 5 {
		id := d.add(b, n, 1, coupon.Rules{PerUser: 1})
		stopSampling := lab.SampleMemory(d.PIDs()...)
		load := clients.Load{Address: d.Address(), Coupons: []int64{id}, Headers: headers}
		r, err := fire(b.Context(), load, n)
		memory, memoryErr := stopSampling()
		if errors.Is(err, errSlow) {
			continue
		}
		check.NoError(b, errors.Join(err, memoryErr, d.auditCrowd(b.Context(), id, r)))
		if n := r.Unexpected() - r.Replies(rig.Overloaded, rig.Unavailable); n > 0 {
			b.Fatalf("%d clients got no verdict: %s", n, r.Detail)
		}
		if r.MaxInFlight() >= n/2 {
			reportCrowd(b, r)
			b.ReportMetric(memory, "mem-mb")
			return
		}
	}
	void(b)
}

func reportCrowd(b *testing.B, r clients.Result) {
	b.Helper()
	received := r.Times(r.Ended)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(r.Replies(rig.Accepted)), "accepted")
	from := map[bool]float64{} // an instance
	for _, c := range r.Claims {
		if c.Verdict == rig.Overloaded || c.Verdict == rig.Unavailable {
			from[c.Instance != ""]++
		}
	}
	b.ReportMetric(from[true], "service-503")
	b.ReportMetric(from[false], "nginx-503")
	b.ReportMetric(quantile(received, 0.5)/1000, "p50-s")
	b.ReportMetric(quantile(received, 0.99)/1000, "p99-s")
}

// auditCrowd returns an error if a promise is broken. There may be more orders than acknowledged claims:
// the outcome of a claim with a 503 is unknown.
func (d *deployment) auditCrowd(ctx context.Context, id int64, r clients.Result) error {
	accounts, err := d.sale.Accounts(ctx, id)
	if err != nil {
		return err
	}
	missing, err := d.sale.Missing(ctx, r.Acknowledged())
	if broken := rig.Broken(accounts...); len(broken)+len(missing) > 0 {
		return fmt.Errorf("%s; %d acknowledged orders are missing", broken, len(missing))
	}
	return err
}
