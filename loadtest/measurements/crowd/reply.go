package crowd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A Reply is the reply to one request, or its absence.
type Reply struct {
	Took time.Duration // from the moment of all requests to the last byte
	raw  []byte
	err  error
}

// An Outcome is what a reply says about a claim.
type Outcome struct {
	Took    time.Duration
	Verdict string // rig.Accepted, the code of a refusal, or one of the verdicts below
	Order   string // the id of the acknowledged order; empty unless accepted
	Detail  string // of what is neither accepted nor refused
}

// The verdicts of claims that were neither accepted nor refused.
const (
	Overloaded = "503 service" // the service's own, with Retry-After
	NoInstance = "503 nginx"   // nginx's, on behalf of the instances
	NoReply    = "no reply"
)

// Outcome parses the reply.
func (r Reply) Outcome() Outcome {
	o := Outcome{Took: r.Took, Verdict: NoReply}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(r.raw)), nil)
	if err != nil {
		o.Detail = fmt.Sprintf("%v: %v", r.err, err)
		return o
	}
	defer resp.Body.Close()
	var body struct{ ID, Code string }
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		o.Detail = fmt.Sprintf("status %d: %v", resp.StatusCode, err)
		return o
	}
	o.Verdict = verdict(resp, body.Code)
	if o.Verdict == rig.Accepted {
		o.Order = body.ID
	}
	if o.Verdict == rig.Unexpected {
		o.Detail = string(r.raw)
	}
	return o
}

func verdict(resp *http.Response, code string) string {
	fromInstance := resp.Header.Get("X-Instance") != ""
	switch {
	case resp.StatusCode == http.StatusCreated && fromInstance:
		return rig.Accepted
	case resp.StatusCode == http.StatusConflict && fromInstance:
		return code
	case resp.StatusCode == http.StatusServiceUnavailable && !fromInstance:
		return NoInstance
	case resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
		return Overloaded
	}
	return rig.Unexpected
}
