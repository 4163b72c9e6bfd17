package topologies

import (
	"context"
	"time"

	"example.com/flashsale/loadtest/history"
	"example.com/flashsale/loadtest/rig"
)

// beforeNext is the time from a round's last order until shortly before the next
// round, which begins a second after this one. A stock is sold in one commit: only
// who kills before a round strikes one.
const beforeNext = 700 * time.Millisecond

// killMaster waits until the second round is sold out, kills the server that counts
// the order ids shortly before the third, and returns when it did. It returns the zero
// time if ctx ends before.
func killMaster(ctx context.Context, service *rig.Service) (died time.Time) {
	for orders := 0; orders < 2*workload.Stock; time.Sleep(5 * time.Millisecond) {
		if err := service.DB.GetContext(ctx, &orders, "SELECT COUNT(*) FROM coupon_orders"); err != nil {
			return died
		}
	}
	time.Sleep(beforeNext)
	master, err := service.Topology.Master(ctx, "flashsale:icr:order:"+time.Now().UTC().Format("2006:01:02"))
	if err != nil {
		return died
	}
	died = time.Now()
	master.Kill()
	return died
}

// noMaster is how long after a master's death there is none yet: the lab's sentinels
// and nodes need up to that long, or twice as long, to notice it, and then they vote.
const noMaster = 500 * time.Millisecond

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
	if sale.Failover {
		sale.countOutage(history.Sorted(claims), died)
	}
}

// countOutage gets claims in the order of their replies.
func (sale *Sale) countOutage(claims []rig.Claim, died time.Time) {
	without := died.Add(noMaster)
	recovered := history.Recovered(claims, history.Span{Begin: died, End: time.Now()})
	for _, c := range claims {
		if c.Sent.Before(without) && c.Received.After(without) {
			sale.Met++
			if c.Received.After(recovered) {
				recovered = c.Received
			}
		}
	}
	if !recovered.IsZero() {
		sale.Unavailable = recovered.Sub(died).Seconds()
	}
}
