package crowd

import (
	"context"
	"time"

	"example.com/flashsale/loadtest/generator"
)

// Clients are open connections, each for one claim.
type Clients struct {
	generator *generator.Generator
	moment    time.Time
	outcomes  []Outcome
}

// replyTimeout is above every timeout of nginx and of the service.
const replyTimeout = 90 * time.Second

// Connect opens n connections to address. request appends the n-th claim to b.
func Connect(ctx context.Context, address string, n int, request func(b []byte, n int) []byte) (*Clients, error) {
	c := &Clients{outcomes: make([]Outcome, n)}
	var err error
	done := func(r generator.Reply) { c.outcomes[r.Request] = outcomeOf(r, c.moment) }
	c.generator, err = generator.New(address, replyTimeout, request, done)
	if err != nil {
		return nil, err
	}
	if err := c.generator.Connect(ctx, n); err != nil {
		c.generator.Close()
		return nil, err
	}
	return c, nil
}

// Fire sends all claims at the moment, returns when each has its reply, or has
// failed, and closes the connections.
func (c *Clients) Fire(ctx context.Context, moment time.Time) []Outcome {
	c.moment = moment
	time.Sleep(time.Until(moment))
	c.generator.Run(ctx, generator.Phase{Clients: len(c.outcomes), Count: len(c.outcomes)})
	c.generator.Drain(ctx)
	c.generator.Close()
	return c.outcomes
}
