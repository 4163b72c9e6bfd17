package soak

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// A market is the sale, and what its clients were told of it.
type market struct {
	trial.History
	sale     *rig.Sale
	signer   rig.TokenSigner
	begin    time.Time
	settled  time.Time // no user claims any more
	log      func(format string, args ...any)
	nginx    client
	nginxPID int
	steady   int64 // the coupon of claimSteadily, which never sells out
	coupons  coupons
	changes  changes
	events   *events
	newUsers atomic.Int64
}

// A client calls the service through nginx, or an instance directly.
type client struct {
	name, address string // host:port
	rig.Client
}

// clientTimeout is longer than any reply may take, to see how long a late one
// takes.
const clientTimeout = 20 * time.Second

func newClient(name, address string) client {
	c := client{name, address, rig.NewClient("http://" + address)}
	c.HTTP.Timeout = clientTimeout
	return c
}

// An instance of the service has a client that calls it without nginx.
type instance struct {
	*fault.Instance
	client client
	tally  tally
	// lastUser is the last user of claimSteadily who claimed here.
	lastUser atomic.Int64
}

// unknown is the verdict on all claims whose outcome is unknown.
const unknown = "unknown"

// allowedVerdicts are the verdicts that a claim may have at any time.
var allowedVerdicts = slices.Concat([]string{rig.Accepted}, rig.Refusals, []string{"not_started", unknown})

func verdictOf(c rig.Claim) string {
	if c.Failed() {
		return unknown
	}
	return c.Verdict
}

// claim claims a coupon for a user, and records the reply.
func (m *market) claim(ctx context.Context, c client, user, coupon int64) rig.Claim {
	return m.send(ctx, c, rig.Claim{User: user, Coupon: coupon})
}

// send sends one claim and records the reply. The claim's instance becomes the
// name of the client.
func (m *market) send(ctx context.Context, c client, one rig.Claim) rig.Claim {
	got := c.Claim(ctx, m.signer, one)
	m.record(c, got)
	return got
}

// claimAll sends the claims of a phase and records the replies.
func (m *market) claimAll(
	ctx context.Context, c client, p generator.Phase, next func(n int) rig.Claim,
) ([]rig.Claim, error) {
	all, err := generator.Claims(ctx, c.address, clientTimeout, p, m.signer, next)
	for _, got := range all {
		m.record(c, got)
	}
	return all, err
}

func (m *market) record(c client, got rig.Claim) {
	got.Instance = c.name
	m.Add(got)
	if !slices.Contains(allowedVerdicts, verdictOf(got)) {
		m.Violations.Add("unexpected reply to a claim: %+v", got)
	}
}

// newUser returns a user who has not claimed before.
func (m *market) newUser() int64 { return rig.UserID(users + 1<<20 + int(m.newUsers.Add(1))) }

// post sends an administrator's request through nginx until the reply has the
// status want, because the service may be unavailable, or until ctx ends. It
// returns the reply. All attempts make one change: they have one key.
func (m *market) post(ctx context.Context, path string, body any, want int) []byte {
	api := m.nginx.Client
	api.Key = rand.Text()
	for {
		status, reply, err := api.Do(ctx, http.MethodPost, path, m.signer.Admin(), body)
		if err == nil && status == want {
			return reply
		}
		inProgress := status == http.StatusConflict
		if err == nil && status < http.StatusInternalServerError && !inProgress && ctx.Err() == nil {
			m.Violations.Add("POST %s: unexpected reply %d %s", path, status, reply)
		}
		if !rig.Sleep(ctx, 100*time.Millisecond) {
			return nil
		}
	}
}
