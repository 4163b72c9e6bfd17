// Package overload offers the service more claims than it can make. Its clients
// are an open model: claims arrive at a fixed rate whether or not earlier ones have
// a reply, and a claim that finds no free connection opens another one, as the
// users of a sale do. They run in a process of their own.
package overload

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// A Load is what a process of clients has to do, phase after phase. The claims are
// of as many users of Headers, one after the other.
type Load struct {
	Address string // host:port
	Coupon  int64
	Headers rig.Headers
	First   int // of the users
	Phases  []Phase

	// LowPriority leaves the process the CPU time that the servers do not want. It
	// takes nothing from them, but cannot send more than that allows.
	LowPriority bool
}

// A Phase is a time with a fixed rate of claims. If the rate is 0, the model is
// closed: each of Conns connections sends its next claim after the reply to the
// previous one.
type Phase struct {
	Rate     float64 // per second
	Conns    int     // of a closed model
	Duration time.Duration
}

// A Result is what became of the claims of one phase. The times of replies count
// from the first byte of the claim until the reply arrives at the socket: the
// process may read it later.
type Result struct {
	Due        int `json:"due"`        // claims that the rate asks for
	Offered    int `json:"offered"`    // of those, the ones that the process had the time to send
	Made       int `json:"made"`       // 201
	InTime     int `json:"in_time"`    // of those, the ones whose reply came before the end of the phase
	Refused    int `json:"refused"`    // 503 with Retry-After
	Other      int `json:"other"`      // another reply
	Unanswered int `json:"unanswered"` // no reply
	Unsent     int `json:"unsent"`     // because the process had too many connections
	Connected  int `json:"connected"`  // connections that were opened

	MadeP50    time.Duration `json:"made_p50"`
	MadeP99    time.Duration `json:"made_p99"`
	MadeMax    time.Duration `json:"made_max"`
	RefusedP99 time.Duration `json:"refused_p99"`
	ConnectP99 time.Duration `json:"connect_p99"`
	LateP99    time.Duration `json:"late_p99"` // how late the process itself sent the claims
	CPU        time.Duration `json:"cpu"`      // that the process itself used
	// from the begin of the phase until inARow claims were made within quick, or its duration
	Normal time.Duration `json:"normal"`

	Detail string `json:"detail,omitempty"` // of one claim that was neither made nor refused
}

// A service is back to normal when inARow claims have been made within quick.
const (
	quick  = 100 * time.Millisecond
	inARow = 20
)

// Run runs load in a process and returns the result of each phase.
func Run(ctx context.Context, load Load) (results []Result, err error) {
	p, err := generator.StartProcess(ctx, "overload-clients")
	if err != nil {
		return nil, err
	}
	if load.LowPriority {
		err = p.LowerPriority()
	}
	if err = errors.Join(err, p.Send(load)); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	err = p.Receive(&results)
	return results, errors.Join(err, p.Wait())
}

// An outcome is what became of a claim.
type outcome uint8

const (
	unanswered outcome = iota
	made
	refused
	other
)

// A sample is one claim.
type sample struct {
	sent, took time.Duration // sent counts from the begin of the phase
	outcome    outcome
}

// summarize adds the samples of one phase to r.
func (r *Result) summarize(samples []sample, duration time.Duration) {
	var madeTook, refusedTook []time.Duration
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Compare(a.sent, b.sent) })
	r.Normal = duration
	row := 0
	for _, s := range samples {
		switch s.outcome {
		case made:
			r.Made++
			if s.sent+s.took <= duration {
				r.InTime++
			}
			madeTook = append(madeTook, s.took)
		case refused:
			r.Refused++
			refusedTook = append(refusedTook, s.took)
		case other:
			r.Other++
		case unanswered:
			r.Unanswered++
		}
		if row++; s.outcome != made || s.took > quick {
			row = 0
		}
		if row == inARow {
			r.Normal = min(r.Normal, s.sent+s.took)
		}
	}
	r.MadeP50, r.MadeP99, r.MadeMax = stats.Quantile(madeTook, 0.5), stats.Quantile(madeTook, 0.99),
		stats.Quantile(madeTook, 1)
	r.RefusedP99 = stats.Quantile(refusedTook, 0.99)
}
