package crowd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// A site is two instances behind nginx.
type site struct {
	sale    *rig.Sale
	pair    *rig.Fleet
	headers rig.Headers // of the users
}

// A Burst is the result of claims that were sent at one moment.
type Burst struct {
	Verdicts map[string]int `json:"verdicts"`
	P50      float64        `json:"p50_ms"` // from the moment to the last byte of the reply
	P99      float64        `json:"p99_ms"`
	Max      float64        `json:"max_ms"`
	Late503  float64        `json:"p99_503_ms"` // of the replies with 503; 0 without one
	InFlight int            `json:"max_in_flight"`
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
	stopSampling := rig.SampleMemory(s.pair.PIDs()...)
	load := clients.Load{Address: s.pair.Address(), Coupons: []int64{id}, Headers: s.headers}
	r, err := fire(ctx, load, n)
	for attempt := 1; attempt < maxAttempts && errors.Is(err, errSlow); attempt++ {
		r, err = fire(ctx, load, n)
	}
	memory, memoryErr := stopSampling()
	if err := errors.Join(err, memoryErr); err != nil {
		return Burst{}, err
	}
	if r.Detail != "" {
		fmt.Fprintf(os.Stderr, "a claim without a verdict: %s\n", r.Detail)
	}
	b := summarize(r)
	b.Memory = memory
	b.Broken, err = s.audit(ctx, id, r)
	return b, err
}

func summarize(r clients.Result) Burst {
	b := Burst{Verdicts: map[string]int{}}
	var took, refused []time.Duration
	var spans []rig.Span
	moment := time.Now()
	for _, c := range r.Claims {
		b.Verdicts[c.Verdict]++
		spans = append(spans, rig.Span{Sent: moment.Add(c.Sent), Received: moment.Add(c.Sent + c.Took())})
		if c.Verdict != clients.NoReply {
			took = append(took, c.Received)
		}
		if c.Verdict == clients.Service503 || c.Verdict == clients.NginxOverloaded {
			refused = append(refused, c.Received)
		}
	}
	quantile := func(q float64) float64 { return rig.Milliseconds(stats.Quantile(took, q)) }
	b.P50, b.P99, b.Max = quantile(0.5), quantile(0.99), quantile(1)
	b.InFlight = rig.Burst{Spans: spans}.MaxInFlight()
	b.Late503 = rig.Milliseconds(stats.Quantile(refused, 0.99))
	return b
}

// audit says which promise is broken, or nothing. There may be more orders than
// acknowledged claims: the outcome of a claim with a 503 is unknown.
func (s *site) audit(ctx context.Context, coupon int64, r clients.Result) (broken string, err error) {
	accounts, err := s.sale.Accounts(ctx, coupon)
	if err != nil {
		return "", err
	}
	var acknowledged []rig.Claim
	for _, c := range r.Claims {
		if c.Order != "" {
			acknowledged = append(acknowledged, rig.Claim{Order: c.Order})
		}
	}
	missing, err := s.sale.Missing(ctx, acknowledged)
	if t := rig.Total(accounts, 0); t.Oversold+t.Surplus+t.Duplicates+t.Undersold+t.Unbalanced+len(missing) > 0 {
		broken = fmt.Sprintf("%+v, %d acknowledged orders are missing", accounts, len(missing))
	}
	return broken, err
}
