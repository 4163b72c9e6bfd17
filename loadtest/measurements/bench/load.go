package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// A load is claims of coupons in rotation, by one user after the other. They
// follow a closed model of conns clients, or an open model that begins with conns
// connections.
type load struct {
	address string // host:port
	coupons []int64
	users   rig.Users
	conns   int
	rate    float64 // per second, of an open model; 0 if it is closed
}

// A loadResult is what became of the claims. A latency counts from the time at
// which the claim was due, so it includes the wait for this program. That rules out
// coordinated omission.
type loadResult struct {
	accepted, refused int
	took              time.Duration // from the begin to the last reply
	latencies         []time.Duration
	sendDelays        []time.Duration // of an open model: from due until sent
}

const replyTimeout = 20 * time.Second

// run claims for the given duration. A claim without a reply is an error.
func (l load) run(ctx context.Context, duration time.Duration) (r loadResult, err error) {
	coupons := make([]string, len(l.coupons))
	for i, id := range l.coupons {
		coupons[i] = strconv.FormatInt(id, 10)
	}
	var lost error
	g, err := generator.New(l.address, replyTimeout, func(b []byte, n int) []byte {
		return generator.AppendClaim(b, "bench", coupons[n%len(coupons)], l.users.Headers(n))
	}, func(reply generator.Reply) {
		if reply.Err != nil {
			lost = fmt.Errorf("claim %d: %w", reply.Request, reply.Err)
			return
		}
		r.add(reply)
	})
	if err != nil {
		return r, err
	}
	defer g.Close()
	if err := g.Connect(ctx, l.conns); err != nil {
		return r, err
	}
	phase := generator.Phase{Clients: l.conns, Duration: duration}
	if l.rate > 0 {
		phase = generator.Phase{Rate: l.rate, Count: int(l.rate * duration.Seconds())}
	}
	begin := time.Now()
	sent := g.Run(ctx, phase)
	g.Drain(ctx)
	r.took, r.sendDelays = time.Since(begin), sent.Late
	return r, lost
}

func (r *loadResult) add(reply generator.Reply) {
	r.latencies = append(r.latencies, reply.Received.Sub(reply.Due))
	if reply.Status < 300 {
		r.accepted++
	} else {
		r.refused++
	}
}

func (r loadResult) requests() int { return r.accepted + r.refused }

func (r loadResult) perSecond(n int) float64 { return float64(n) / r.took.Seconds() }

// latency returns a quantile of the latencies in milliseconds.
func (r loadResult) latency(q float64) float64 {
	return rig.Milliseconds(stats.Quantile(r.latencies, q))
}
