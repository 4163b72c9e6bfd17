package race

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// A burst is the claims of one side. Each user's claims are adjacent, so that
// they are sent at the same moment.
type burst struct {
	address string // of nginx
	coupon  string
	signer  rig.TokenSigner
	Workload
}

const (
	// maxConnections bounds the open connections, each of which costs nginx and
	// an instance a connection too. Of a larger burst the claims beyond that are
	// sent as the connections become free.
	maxConnections = 1000
	replyTimeout   = 90 * time.Second // nginx gives up before
)

// send opens all connections, calls begin, and sends the claims. It records each when it is
// sent and when it is answered, and returns after the last.
func (b burst) send(ctx context.Context, begin func(), record func(Claim)) error {
	requests := b.requests()
	g, err := generator.New(b.address, replyTimeout, func(request []byte, n int) []byte {
		record(Claim{N: n, User: b.user(n), Sent: time.Now().UnixMicro(), Answered: -1})
		return append(request, requests[n]...)
	}, func(r generator.Reply) { record(b.claim(r)) })
	if err != nil {
		return err
	}
	defer g.Close()
	clients := min(b.Claims(), maxConnections)
	if err := g.Connect(ctx, clients); err != nil {
		return err
	}
	begin()
	g.Run(ctx, generator.Phase{Clients: clients, Count: b.Claims()})
	g.Drain(ctx)
	return ctx.Err()
}

// user returns the user of the n-th claim.
func (b burst) user(n int) string { return fmt.Sprint(n/b.ClaimsPerUser + 1) }

// requests returns all claims, ready to be sent. Those of a user are for each of his
// numbers in turn.
func (b burst) requests() (requests [][]byte) {
	for n := range b.Claims() {
		number := 1 + n%b.ClaimsPerUser%b.PerUser
		headers := fmt.Appendf(nil, "%sX-Lab-Claim: %d\r\n", b.signer.Headers(int64(n/b.ClaimsPerUser+1)), n)
		requests = append(requests, generator.AppendClaim(nil, b.address, b.coupon, number, headers))
	}
	return requests
}

// claim returns the claim that has the reply r. Without a reply the claim's status
// is 0: whether it was placed is unknown.
func (b burst) claim(r generator.Reply) Claim {
	c := Claim{
		N: r.Request, User: b.user(r.Request), Instance: r.Instance, Status: r.Status, Code: r.Code,
		Sent: r.Sent.UnixMicro(), Answered: r.Sent.Add(r.Took()).UnixMicro(),
	}
	switch {
	case r.Err != nil:
		c.Code = "no_reply"
	case r.Status == http.StatusCreated:
		c.Order = r.Order
	}
	return c
}
