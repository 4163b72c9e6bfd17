package clients

import (
	"fmt"
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

// Ended returns when c got its reply, from the begin of the phase on.
func (r Result) Ended(c rig.Claim) time.Duration { return c.Received.Sub(r.Begin) }

func (r *Result) add(reply generator.Reply) {
	c := rig.Claim{Due: reply.Due, Sent: reply.Sent, Received: reply.Received, Verdict: reply.Verdict(),
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
