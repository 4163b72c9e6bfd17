package crowd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// A site is two instances behind nginx.
type site struct {
	sale    *rig.Sale
	pair    *rig.Pair
	headers rig.Headers // of the users
}

// A Burst is the result of claims that were sent at one moment.
type Burst struct {
	Verdicts map[string]int `json:"verdicts"`
	P50      float64        `json:"p50_ms"` // from the moment to the last byte of the reply
	P99      float64        `json:"p99_ms"`
	Max      float64        `json:"max_ms"`
	Memory   float64        `json:"memory_mb"` // of the larger instance, at its peak
	Broken   string         `json:"broken,omitempty"`
}

// maxAttempts is how often clients try to connect in time.
const maxAttempts = 5

// burst has n users claim a new coupon that has stock for all of them, so that
// every claim has to be committed, and audits it.
func (s *site) burst(ctx context.Context, n int) (Burst, error) {
	id, err := s.sale.AddCoupon(ctx, n)
	if err != nil {
		return Burst{}, err
	}
	stopA, stopB := rig.SampleMemory(s.pair.A.PID()), rig.SampleMemory(s.pair.B.PID())
	var outcomes []Outcome
	err = errSlow
	for attempt := 0; attempt < maxAttempts && errors.Is(err, errSlow); attempt++ {
		outcomes, err = fire(ctx,
			share{Address: s.pair.Address(), Coupon: strconv.FormatInt(id, 10), Headers: s.headers, Count: n})
	}
	a, errA := stopA()
	b, errB := stopB()
	if err := errors.Join(err, errA, errB); err != nil {
		return Burst{}, err
	}
	result := summarize(outcomes)
	result.Memory = max(a, b)
	result.Broken, err = s.audit(ctx, id, outcomes)
	return result, err
}

func summarize(outcomes []Outcome) Burst {
	b := Burst{Verdicts: map[string]int{}}
	var took []time.Duration
	for _, o := range outcomes {
		if b.Verdicts[o.Verdict]++; b.Verdicts[o.Verdict] == 1 && o.Detail != "" {
			fmt.Fprintf(os.Stderr, "the first %s: %s\n", o.Verdict, o.Detail)
		}
		if o.Verdict != NoReply {
			took = append(took, o.Took)
		}
	}
	b.P50, b.P99, b.Max = rig.Milliseconds(stats.Quantile(took, 0.5)), rig.Milliseconds(stats.Quantile(took, 0.99)),
		rig.Milliseconds(stats.Quantile(took, 1))
	return b
}

// audit says which promise is broken, or nothing. There may be more orders than
// acknowledged claims: the outcome of a claim with a 503 is unknown.
func (s *site) audit(ctx context.Context, coupon int64, outcomes []Outcome) (broken string, err error) {
	accounts, err := s.sale.Accounts(ctx, coupon)
	if err != nil {
		return "", err
	}
	var acknowledged []rig.Claim
	for _, o := range outcomes {
		if o.Verdict == rig.Accepted {
			acknowledged = append(acknowledged, rig.Claim{Order: o.Order})
		}
	}
	missing, err := s.sale.Missing(ctx, acknowledged)
	if t := rig.Total(accounts, 0); t.Oversold+t.Duplicates+t.Undersold+t.Unbalanced+len(missing) > 0 {
		broken = fmt.Sprintf("%+v, %d acknowledged orders are missing", accounts, len(missing))
	}
	return broken, err
}
