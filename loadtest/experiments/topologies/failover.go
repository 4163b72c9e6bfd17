package topologies

import (
	"context"
	"time"

	"example.com/flashsale/loadtest/history"
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
	for _, c := range claims {
		switch {
		case history.Accepted(c):
			sale.Accepted++
		case c.Failed():
			sale.Failed++
		}
	}
	recovered := history.Recovered(history.Sorted(claims), history.Span{Begin: died, End: time.Now()})
	if sale.Failover && !recovered.IsZero() {
		sale.Unavailable = recovered.Sub(died).Seconds()
	}
}
