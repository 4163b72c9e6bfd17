package clients

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// A Result is what became of the claims of one phase. Their verdicts are rig.Accepted, the code of a
// refusal, rig.Unexpected, or one of those below. Only accepted ones have an order.
type Result struct {
	generator.Sending
	rig.Burst
	Begin  time.Time // of the phase
	Detail string    // of one claim that got no verdict
}

// The verdicts of claims that were neither accepted nor refused for what they are.
const (
	Service503      = "503 service"          // the service's own, which has not made the claim
	Unavailable503  = "503 unavailable"      // the service's own: the outcome is unknown
	NginxOverloaded = "503 nginx overloaded" // nginx's, which has not passed the claim on
	Nginx503        = "503 nginx"            // nginx's, on behalf of the instances
	NoReply         = "no reply"
)

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
	switch c.Verdict {
	case rig.Accepted:
		c.Order = reply.Order
	case rig.Unexpected:
		r.Detail = string(reply.Text)
	case NoReply:
		r.Detail = fmt.Sprintf("after %s: %v", c.Took(), reply.Err)
	}
	r.Claims = append(r.Claims, c)
}

func verdict(r generator.Reply) string {
	switch {
	case r.Err != nil:
		return NoReply
	case r.Status == http.StatusCreated:
		return rig.Accepted
	case r.Status == http.StatusConflict && r.Code != "":
		return r.Code
	case r.Status == http.StatusServiceUnavailable && r.Instance == "" && r.Code == "overloaded":
		return NginxOverloaded
	case r.Status == http.StatusServiceUnavailable && r.Instance == "":
		return Nginx503
	case r.Status == http.StatusServiceUnavailable && r.RetryAfter && r.Code == "overloaded":
		return Service503
	case r.Status == http.StatusServiceUnavailable && r.RetryAfter:
		return Unavailable503
	}
	return rig.Unexpected
}
