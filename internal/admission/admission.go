// Package admission has what the limits share that refuse too much load. Most of
// them are in the packages below it. A claim passes, in this order,
//
//   - nginx: connections and requests of one address (deploy/nginx);
//   - package listener: connections, and how long they wait for the server;
//   - Claims.Overloaded: whether the coupon's claims wait for too long already;
//   - package ratelimit: how often a user, or an address without a token, asks;
//   - package slots: claims that run at a time, and how long others wait;
//   - package slots again: batches that are tried again alone;
//   - the pools of connections to MySQL and Redis (package connect).
//
// Each of them admits a request at once, lets it wait within Limits, or refuses it.
// docs/admission.md follows a claim through all of them, with their settings.
package admission

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
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

// Timeout is the longest time from the arrival of a request until its response,
// CLAIM_TIMEOUT. Its methods are its shares.
type Timeout time.Duration

// Work returns the time from the arrival until the operation has a result. The
// rest is for releasing the lock, and for reading back a commit whose outcome is
// unknown.
func (t Timeout) Work() time.Duration { return time.Duration(t) * 2 / 3 }

// Waits returns how long a request may wait until the work begins.
func (t Timeout) Waits() Limits {
	return Limits{Burst: time.Duration(t) / 2, Standing: time.Duration(t) / 15}
}

// Write returns the time from the end of a request's header until its response is
// written: that of reading the body and of handling it, and some for a client that
// reads slowly.
func (t Timeout) Write() time.Duration { return time.Duration(t) + 20*time.Second }

// An Arrival is when the latest request of a connection arrived. It is safe for
// concurrent use.
type Arrival struct{ unixNano atomic.Int64 }

// Set notes the arrival of a request.
func (a *Arrival) Set(t time.Time) { a.unixNano.Store(t.UnixNano()) }

// Time returns the time of the last Set.
func (a *Arrival) Time() time.Time { return time.Unix(0, a.unixNano.Load()) }

// A Place is what a connection has while its server works on its latest request.
type Place struct {
	Arrival
	Free func() // gives it to another connection, before the response; may be nil
}

type placeKey struct{}

// WithPlace returns ctx for the requests of a connection.
func WithPlace(ctx context.Context, p *Place) context.Context {
	return context.WithValue(ctx, placeKey{}, p)
}

// Arrived returns when the request of ctx arrived. Without WithPlace it is the time
// of the call.
func Arrived(ctx context.Context) time.Time {
	if p, ok := ctx.Value(placeKey{}).(*Place); ok {
		return p.Time()
	}
	return time.Now()
}

// FreePlace is called by a request that will only wait, until its response. Another
// one may be worked on instead.
func FreePlace(ctx context.Context) {
	if p, ok := ctx.Value(placeKey{}).(*Place); ok && p.Free != nil {
		p.Free()
	}
}
