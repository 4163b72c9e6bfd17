package topologies

import (
	"context"
	"slices"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// killMaster waits for the third round, kills the server that counts the order
// ids and returns when it did. It returns the zero time if ctx ends before.
func killMaster(ctx context.Context, service *rig.Service) (died time.Time) {
	for orders := 0; orders <= 2*workload.Stock; time.Sleep(5 * time.Millisecond) {
		if err := service.DB.GetContext(ctx, &orders, "SELECT COUNT(*) FROM coupon_orders"); err != nil {
			return died
		}
	}
	master, err := service.Topology.Master(ctx, "icr:order:"+time.Now().UTC().Format("2006:01:02"))
	if err != nil {
		return died
	}
	died = time.Now()
	master.Kill()
	return died
}

// count counts what the clients were told. died is when the master was killed,
// or zero.
func (sale *Sale) count(claims []rig.Claim, died time.Time) {
	slices.SortFunc(claims, func(a, b rig.Claim) int { return a.Received.Compare(b.Received) })
	var lastFailed time.Time
	for _, c := range claims {
		switch c.Verdict {
		case rig.Accepted:
			sale.Accepted++
		case rig.Unexpected:
			sale.Failed++
			lastFailed = c.Received
		}
	}
	if died.IsZero() || lastFailed.IsZero() {
		return
	}
	recovered := slices.IndexFunc(claims,
		func(c rig.Claim) bool { return c.Verdict == rig.Accepted && c.Received.After(lastFailed) })
	if recovered >= 0 {
		sale.Unavailable = claims[recovered].Received.Sub(died).Seconds()
	}
}
