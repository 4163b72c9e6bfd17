package crowd

import (
	"net/http"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// An Outcome is what a reply says about a claim.
type Outcome struct {
	Took    time.Duration // from the moment of all claims to the last byte of the reply
	Verdict string        // rig.Accepted, the code of a refusal, or one of the verdicts below
	Order   string        // the id of the acknowledged order; empty unless accepted
	Detail  string        // of what is neither accepted nor refused
}

// The verdicts of claims that were neither accepted nor refused.
const (
	Overloaded = "503 service" // the service's own, with Retry-After
	NoInstance = "503 nginx"   // nginx's, on behalf of the instances
	NoReply    = "no reply"
)

func outcomeOf(r generator.Reply, moment time.Time) Outcome {
	o := Outcome{Took: r.Received.Sub(moment), Verdict: verdict(r)}
	switch o.Verdict {
	case rig.Accepted:
		o.Order = r.Order
	case rig.Unexpected:
		o.Detail = string(r.Text)
	case NoReply:
		o.Detail = r.Err.Error()
	}
	return o
}

func verdict(r generator.Reply) string {
	fromInstance := r.Instance != ""
	switch {
	case r.Err != nil:
		return NoReply
	case r.Status == http.StatusCreated && fromInstance:
		return rig.Accepted
	case r.Status == http.StatusConflict && fromInstance && r.Code != "":
		return r.Code
	case r.Status == http.StatusServiceUnavailable && !fromInstance:
		return NoInstance
	case r.Status == http.StatusServiceUnavailable && r.RetryAfter:
		return Overloaded
	}
	return rig.Unexpected
}
