// Package admission has what the limits share that refuse too much load, and the first
// of an instance's own. A claim passes, in this order,
//
//   - nginx: connections and requests of one address, claims in progress (deploy/nginx);
//   - Listener: connections;
//   - Claims.Overloaded: whether the coupon is stuck;
//   - package ratelimit: how often a user, or an address without a token, asks;
//   - package slots: claims that run at a time;
//   - package slots again: batches that are tried again alone;
//   - the pools of connections to MySQL and Redis (package connect).
//
// Each of them admits a request at once, lets it wait, or refuses it.
// docs/admission.md follows a claim through all of them, with their settings.
package admission

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrOverloaded says that a request was refused, because it would have had to wait
// for too long behind others.
var ErrOverloaded = errors.New("admission: overloaded")

// WaitedInVain returns the error of an operation that has done nothing yet, and whose wait
// has ended with err. At its deadline that is ErrOverloaded, because its outcome is known.
// One whose client has gone needs no verdict.
func WaitedInVain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrOverloaded, err)
	}
	return err
}

// Timeout is the longest time from the header of a request until its response,
// CLAIM_TIMEOUT. Its methods are its shares.
type Timeout time.Duration

// Connect returns how long a connection may wait until it is served, before the header of
// its first request is read.
func (t Timeout) Connect() time.Duration { return t.Work() / 2 }

// Work returns the time from the header until the operation has a result. The
// rest is for releasing the lock, and for reading back a commit whose outcome is
// unknown.
func (t Timeout) Work() time.Duration { return time.Duration(t) * 2 / 3 }

// Write returns the time from the end of a request's header until its response is
// written: that of reading the body and of handling it, and some for a client that
// reads slowly.
func (t Timeout) Write() time.Duration { return time.Duration(t) + 20*time.Second }
