package topologies

import (
	"context"
	"errors"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// workload is 100 users with 7 claims each of 50 coupons. A sale with a failover
// has failoverRounds of it, a second apart.
var workload = rig.SevenEach

const failoverRounds = 12

// A Sale is the result of the claims on one topology.
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
	Unavailable float64         `json:"unavailable_s"`
	Failed      int             `json:"unavailable"` // claims answered with 503
	Verdict     verdict.Verdict `json:"verdict"`
}

func sell(ctx context.Context, s *rig.Stack, topology string, failover bool) (Sale, error) {
	sale := Sale{Topology: topology, Failover: failover, Rounds: 1}
	if failover {
		sale.Rounds = failoverRounds
	}
	err := s.WithService(ctx, topology, "redis", func(v *rig.Service) error { return sale.run(ctx, s, v) })
	return sale, err
}

func (sale *Sale) run(ctx context.Context, s *rig.Stack, service *rig.Service) error {
	dir, err := s.Dir("claims")
	if err != nil {
		return err
	}
	t := rig.Target{URL: service.Nginx.URL, Secret: s.Secret}
	for range sale.Rounds {
		id, err := service.AddCoupon(ctx, workload.Stock)
		if err != nil {
			return err
		}
		t.Coupons = append(t.Coupons, strconv.FormatInt(id, 10))
	}
	killed := make(chan time.Time, 1)
	during, cancel := context.WithCancel(ctx)
	defer cancel()
	if sale.Failover {
		go func() { killed <- killMaster(during, service) }()
	}
	burst, err := rig.K6(ctx, dir, t, workload.Times(sale.Rounds))
	if err != nil {
		return err
	}
	var died time.Time
	if sale.Failover {
		cancel()
		if died = <-killed; died.IsZero() {
			return errors.New("the master was not killed during the sale")
		}
	}
	sale.count(burst.Claims, died)
	return sale.audit(ctx, service, burst.Acknowledged())
}

// audit holds of a sale that kept all promises and whose last round was sold out.
// Claims may fail only during a failover, and one that no claim met is void.
func (sale *Sale) audit(ctx context.Context, service *rig.Service, acknowledged []rig.Claim) error {
	var err error
	sale.Totals, err = service.Audit(ctx, workload.Times(sale.Rounds), acknowledged)
	if err != nil {
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
	kept := sale.Oversold+sale.Duplicates+sale.Undersold+sale.AckedMissing == 0
	recovered := accounts[len(accounts)-1].Orders == workload.Stock && (sale.Failover || sale.Failed == 0)
	sale.Verdict = verdict.Of(false, !kept || !recovered, sale.Accepted > 0 && (!sale.Failover || sale.Met > 0))
	return nil
}
