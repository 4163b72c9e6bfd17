package soak

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// A market is the sale, and what its clients were told of it.
type market struct {
	trial.History
	stack    *rig.Stack
	sale     *rig.Sale
	a, b     *instance
	nginx    trial.Client
	nginxPID int
	steady   int64 // the coupon of claimSteadily, which never sells out
	coupons  coupons
	events   *events
	newUsers atomic.Int64
	headers  rig.Headers // of the users of overloads
	refused  int         // claims of overloads

	duration time.Duration
	faults   []fault.Fault
	begin    time.Time
	settled  time.Time // no user claims any more
	log      func(format string, args ...any)
	outages  []outage
	pauses   []pause

	other      sync.WaitGroup // waits for otherAfter
	otherAfter time.Duration  // of the fault that strikes
}

// An instance of the service has a client that calls it without nginx.
type instance struct {
	*fault.Instance
	client trial.Client
	tally  tally
	// lastUser is the last user of claimSteadily who claimed here.
	lastUser atomic.Int64
}

func (m *market) client(name, address string) trial.Client {
	return trial.NewClient(name, address, m.stack.Signer(), &m.History)
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
		status, reply, err := api.Do(ctx, http.MethodPost, path, m.nginx.Signer.Admin(), body)
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
