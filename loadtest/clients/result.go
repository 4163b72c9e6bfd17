package clients

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// A Result is what became of the claims of one phase. Only accepted ones have an order. A claim with
// status 503 has an instance if that replied, and none if nginx did.
type Result struct {
	generator.Sending
	rig.Burst
	Begin  time.Time // of the phase
	Detail string    // of one claim that got no verdict
}

// Replies returns how many claims got one of the verdicts.
func (r Result) Replies(verdicts ...string) (n int) {
	for _, c := range r.Claims {
		if slices.Contains(verdicts, c.Verdict) {
			n++
		}
	}
	return n
}

// Ended returns when c got its reply, from the begin of the phase on.
func (r Result) Ended(c rig.Claim) time.Duration { return c.Received.Sub(r.Begin) }

// Times returns a time of each claim that got the verdict, or of all if none is
// named.
func (r Result) Times(of func(rig.Claim) time.Duration, verdicts ...string) (times []time.Duration) {
	for _, c := range r.Claims {
		if len(verdicts) == 0 || slices.Contains(verdicts, c.Verdict) {
			times = append(times, of(c))
		}
	}
	return times
}

func (r *Result) add(reply generator.Reply) {
	c := rig.Claim{Due: reply.Due, Sent: reply.Sent, Received: reply.Received, Verdict: verdict(reply),
		Instance: reply.Instance}
	switch {
	case c.Verdict == rig.Accepted:
		c.Order = reply.Order
	case reply.Err != nil:
		r.Detail = fmt.Sprintf("after %s: %v", c.Took(), reply.Err)
	case reply.Code == "" || c.Verdict == rig.Lost || c.Verdict == rig.Unexpected:
		r.Detail = string(reply.Text)
	}
	r.Claims = append(r.Claims, c)
}

// verdict is rig.VerdictOf, but that a 503 has to say when to come again.
func verdict(r generator.Reply) string {
	if r.Status == http.StatusServiceUnavailable && !r.RetryAfter {
		return rig.Unexpected
	}
	return rig.VerdictOf(r.Status, r.Code)
}
