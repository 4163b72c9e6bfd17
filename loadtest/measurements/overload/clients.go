package overload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/stats"
)

// replyTimeout is above every timeout of nginx and of the service.
const replyTimeout = 20 * time.Second

// RunClients is a process of clients. It reads a Load from stdin and writes the
// results to stdout.
func RunClients(ctx context.Context) error {
	var load Load
	if err := json.NewDecoder(os.Stdin).Decode(&load); err != nil {
		return err
	}
	results, err := load.run(ctx)
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(results))
}

// A running phase has the samples of its claims so far.
type running struct {
	first   int // claim
	begin   time.Time
	samples []sample
}

// run runs the phases one after the other, without a wait for the last replies of
// each.
func (l Load) run(ctx context.Context) ([]Result, error) {
	users, err := l.Headers.Open()
	if err != nil {
		return nil, err
	}
	coupon := strconv.FormatInt(l.Coupon, 10)
	var phases []running
	detail := ""
	g, err := generator.New(l.Address, replyTimeout, func(b []byte, n int) []byte {
		return generator.AppendClaim(b, l.Address, coupon, users.Headers(l.First+n))
	}, func(r generator.Reply) {
		i := len(phases) - 1
		for phases[i].first > r.Request {
			i--
		}
		s := sample{r.Sent.Sub(phases[i].begin), r.Took(), outcomeOf(r)}
		phases[i].samples = append(phases[i].samples, s)
		detail = describe(s, r, detail)
	})
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(l.Phases))
	claims := 0
	for i, p := range l.Phases {
		phases = append(phases, running{first: claims, begin: time.Now()})
		results[i].send(ctx, g, p)
		claims += results[i].Offered
	}
	g.Drain(ctx)
	g.Close()
	for i, p := range phases {
		results[i].Detail = detail
		results[i].summarize(p.samples, l.Phases[i].Duration)
	}
	return results, ctx.Err()
}

// send sends the claims of a phase.
func (r *Result) send(ctx context.Context, g *generator.Generator, p Phase) {
	used := cpuTime()
	s := g.Run(ctx, generator.Phase{Rate: p.Rate, Clients: p.Conns, Duration: p.Duration})
	r.Due, r.Offered, r.Unsent = int(p.Rate*p.Duration.Seconds()), s.Count, s.Unsent
	r.LateP99, r.ConnectP99 = stats.Quantile(s.Late, 0.99), stats.Quantile(s.Connects, 0.99)
	r.Connected, r.CPU = len(s.Connects), cpuTime()-used
}

// cpuTime returns the CPU time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for another argument
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func outcomeOf(r generator.Reply) outcome {
	switch {
	case r.Err != nil:
		return unanswered
	case r.Status == http.StatusCreated:
		return made
	case r.Status == http.StatusServiceUnavailable && r.RetryAfter:
		return refused
	}
	return other
}

// describe returns the details of a claim that was neither made nor refused, or
// those of an earlier one.
func describe(s sample, r generator.Reply, earlier string) string {
	switch s.outcome {
	case unanswered:
		return fmt.Sprintf("after %s: %v", s.took, r.Err)
	case other:
		return string(r.Text)
	}
	return earlier
}
