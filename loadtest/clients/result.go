package clients

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// A Result is what became of the claims of one phase.
type Result struct {
	generator.Sending
	Claims []Claim
	Detail string // of one claim that got no verdict
	begin  time.Time
}

// A Claim is one claim. Its times count from the begin of its phase. Received is
// when the reply arrived at the socket: the process may have read it later.
type Claim struct {
	Due, Sent, Received time.Duration
	Verdict             string // rig.Accepted, the code of a refusal, or one of those below
	Order               string // the id of the acknowledged order; empty unless accepted
}

// The verdicts of claims that were neither accepted nor refused for what they are.
const (
	Service503      = "503 service"          // the service's own, which has not made the claim
	Unavailable503  = "503 unavailable"      // the service's own: the outcome is unknown
	NginxOverloaded = "503 nginx overloaded" // nginx's, which has not passed the claim on
	Nginx503        = "503 nginx"            // nginx's, on behalf of the instances
	NoReply         = "no reply"
)

// Took returns the time from the first byte of the claim to its reply.
func (c Claim) Took() time.Duration { return max(0, c.Received-c.Sent) }

// Latency returns the time from the moment at which the claim was due to its reply.
// It includes the wait for this program, which rules out coordinated omission.
func (c Claim) Latency() time.Duration { return c.Received - c.Due }

// Replies returns how many claims got one of the verdicts.
func (r Result) Replies(verdicts ...string) (n int) {
	for _, c := range r.Claims {
		if slices.Contains(verdicts, c.Verdict) {
			n++
		}
	}
	return n
}

// Times returns a time of each claim that got the verdict, or of all if none is
// named.
func (r Result) Times(of func(Claim) time.Duration, verdicts ...string) (times []time.Duration) {
	for _, c := range r.Claims {
		if len(verdicts) == 0 || slices.Contains(verdicts, c.Verdict) {
			times = append(times, of(c))
		}
	}
	return times
}

func (r *Result) add(reply generator.Reply) {
	c := Claim{
		Due: reply.Due.Sub(r.begin), Sent: reply.Sent.Sub(r.begin), Received: reply.Received.Sub(r.begin),
		Verdict: verdict(reply),
	}
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
