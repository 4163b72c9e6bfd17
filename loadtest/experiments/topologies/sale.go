package topologies

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// workload is 100 users with 7 claims each of 50 coupons. A sale with a failover
// has failoverRounds of it, a second apart.
var workload = rig.SevenEach

const failoverRounds = 12

// A Sale is the claims on one topology, and their result.
type Sale struct {
	Topology string `json:"redis"`
	Failover bool   `json:"failover"`
	Rounds   int    `json:"rounds"`
	SoldOut  int    `json:"rounds_sold_out"`
	Accepted int    `json:"accepted"`
	rig.Totals
	Met int `json:"met"` // claims that were under way when there was no master
	// from the master's end until those have their replies, and until the first claim
	// accepted after the last one that failed
	Unavailable float64 `json:"unavailable_s"`
	Failed      int     `json:"unavailable"` // claims answered with 503
	trial.Judged

	stack *rig.Stack
}

// Run runs the sale.
func (sale *Sale) Run(ctx context.Context) (verdict.Verdict, error) {
	s := sale.stack
	*sale = Sale{Topology: sale.Topology, Failover: sale.Failover, Rounds: sale.Rounds, stack: s}
	err := s.WithService(ctx, sale.Topology, "redis", func(service *rig.Service) error {
		dir, err := s.Dir("claims")
		if err != nil {
			return err
		}
		schedule, died := trial.Schedule{Loaded: true}, time.Time{}
		if sale.Failover {
			schedule.Faults = []fault.Fault{{Name: "master killed",
				Strike: func(ctx context.Context) (err error) { died, err = killMaster(ctx, service); return err }}}
		}
		var burst rig.Burst
		_, err = schedule.Run(ctx, func(ctx context.Context) (err error) {
			burst, err = service.Send(ctx, dir, rig.K6, workload.Times(sale.Rounds))
			return err
		})
		if err != nil {
			return err
		}
		sale.count(burst, died)
		return sale.audit(ctx, service, burst.Acknowledged())
	})
	return sale.Verdict, err
}

// beforeNext is the time from a round's last order until shortly before the next
// round, which begins a second after this one. A stock is sold in one commit: only
// who kills before a round strikes one.
const beforeNext = 700 * time.Millisecond

// killMaster waits until the second round is sold out, kills the server that counts
// the order ids shortly before the third, and returns when it did.
func killMaster(ctx context.Context, service *rig.Service) (died time.Time, err error) {
	for orders := 0; orders < 2*workload.Stock; rig.Sleep(ctx, 5*time.Millisecond) {
		if err := service.DB.GetContext(ctx, &orders, "SELECT COUNT(*) FROM coupon_orders"); err != nil {
			return died, err
		}
	}
	if !rig.Sleep(ctx, beforeNext) {
		return died, errors.New("the sale ended before the master was killed")
	}
	master, err := service.Topology.Master(ctx, "flashsale:icr:order:"+time.Now().UTC().Format("2006:01:02"))
	if err != nil {
		return died, err
	}
	died = time.Now()
	master.Kill()
	return died, nil
}

// noMaster is how long after a master's death there is none yet: the lab's sentinels
// and nodes need up to that long, or twice as long, to notice it, and then they vote.
const noMaster = 500 * time.Millisecond

// count counts what the clients were told. died is when the master was killed,
// or zero.
func (sale *Sale) count(b rig.Burst, died time.Time) {
	sale.Accepted, sale.Failed = b.Replies(rig.Accepted), b.Failed()
	if !sale.Failover {
		return
	}
	claims := trial.Sorted(b.Claims)
	without, recovered := died.Add(noMaster), trial.Recovered(claims, trial.Span{Begin: died, End: time.Now()})
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

// audit holds of a sale that kept all promises and whose last round was sold out.
// Claims may fail only during a failover, and one that no claim met is void.
func (sale *Sale) audit(ctx context.Context, service *rig.Service, acknowledged []rig.Claim) (err error) {
	if sale.Totals, err = service.Audit(ctx, workload.Times(sale.Rounds), acknowledged); err != nil {
		return err
	}
	accounts, err := service.Accounts(ctx)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if a.Orders == workload.Stock {
			sale.SoldOut++
		}
	}
	broken := rig.Broken(accounts...)
	last := accounts[len(accounts)-1].Orders
	if sale.AckedMissing > 0 || last < workload.Stock || !sale.Failover && sale.Failed > 0 {
		broken = append(broken, fmt.Sprintf("%s: %d acknowledged orders are missing, %d claims failed, and %d were sold last",
			sale, sale.AckedMissing, sale.Failed, last))
	}
	sale.Judge(false, broken, sale.Accepted > 0 && (!sale.Failover || sale.Met > 0))
	return nil
}
