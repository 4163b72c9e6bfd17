// Package clients claims coupons as the users of a sale do, in this process or in
// one of its own, and says what became of each claim.
package clients

import (
	"context"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// A Load is claims of coupons in rotation, each by the next user of Headers. Phase
// follows phase, without a wait for the last replies of each.
type Load struct {
	Address string // host:port
	Coupons []int64
	Headers rig.Headers
	First   int // user
	Numbers int // that each user claims, one after the other; 0 is one
	Connect int // connections that are open before the first phase
	Phases  []generator.Phase

	// Under is a command that runs the clients in a process of their own, such as taskset with
	// the cores that they may use. Without one, they are in this process.
	Under []string
}

// replyTimeout is above every timeout of nginx and of the service.
const replyTimeout = 90 * time.Second

// Run claims, and returns what became of the claims of each phase.
func (l Load) Run(ctx context.Context) ([]Result, error) {
	if l.Under != nil {
		p, err := Start(ctx, l)
		if err != nil {
			return nil, err
		}
		return p.Run(time.Now())
	}
	c, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.run(ctx)
}

// connected are clients whose connections are open.
type connected struct {
	load      Load
	users     rig.Users
	generator *generator.Generator
	results   []Result // of the phases that have begun
}

func (l Load) connect(ctx context.Context) (*connected, error) {
	users, err := l.Headers.Open()
	if err != nil {
		return nil, err
	}
	coupons := make([]string, len(l.Coupons))
	for i, id := range l.Coupons {
		coupons[i] = strconv.FormatInt(id, 10)
	}
	c := &connected{load: l, users: users}
	c.generator, err = generator.New(l.Address, replyTimeout, func(b []byte, n int) []byte {
		user, number := l.turn(n)
		return generator.AppendClaim(b, l.Address, coupons[n%len(coupons)], number, users.Headers(user))
	}, c.add)
	if err != nil {
		return nil, err
	}
	if err := c.generator.Connect(ctx, l.Connect); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// turn returns the user and the number of the n-th claim. A thousand users claim their first number,
// then their second one, so that no user has two claims at a time.
func (l Load) turn(n int) (user, number int) {
	const group = 1000
	numbers := max(l.Numbers, 1)
	return l.First + n/(group*numbers)*group + n%group, n/group%numbers + 1
}

func (c *connected) run(ctx context.Context) ([]Result, error) {
	sent := 0
	for i, p := range c.load.Phases {
		c.results = append(c.results, Result{Begin: time.Now(), Sending: generator.Sending{First: sent}})
		c.results[i].Sending = c.generator.Run(ctx, p)
		sent += c.results[i].Count
	}
	c.generator.Drain(ctx)
	c.close()
	return c.results, ctx.Err()
}

func (c *connected) close() {
	c.generator.Close()
	c.users.Close()
}

// add adds a claim to the result of its phase.
func (c *connected) add(reply generator.Reply) {
	i := len(c.results) - 1
	for c.results[i].First > reply.Request {
		i--
	}
	c.results[i].add(reply)
}
