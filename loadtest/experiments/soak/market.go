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
	*trial.Pair
	stack    *rig.Stack
	steady   int64 // the coupon of claimSteadily, which never sells out
	coupons  coupons
	events   *events
	newUsers atomic.Int64

	duration time.Duration
	faults   []fault.Fault
	begin    time.Time
	settled  time.Time // no user claims any more
	log      func(format string, args ...any)
	outages  []outage

	other      sync.WaitGroup // waits for otherAfter
	otherAfter time.Duration  // of the fault that strikes
}

// newUser returns a user who has not claimed before.
func (m *market) newUser() int64 { return rig.UserID(users + 1<<20 + int(m.newUsers.Add(1))) }

// post sends an administrator's request through nginx until the reply has the
// status want, because the service may be unavailable, or until ctx ends. It
// returns the reply. All attempts make one change: they have one key.
func (m *market) post(ctx context.Context, path string, body any, want int) []byte {
	api := m.Client.Client
	api.Key = rand.Text()
	for {
		status, reply, err := api.Do(ctx, http.MethodPost, path, m.Client.Signer.Admin(), body)
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
