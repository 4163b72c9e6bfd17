// Package driver holds what lock drivers share: the context of a cleanup, the
// release of what a request with an unknown outcome may have acquired, and the
// state of a lease that expires. A driver that needs none of it need not use it.
package driver

import (
	"context"
	"time"
)

// Units returns ttl in whole units, rounded up to at least one: the server must not
// end a lease before its ttl, and some take zero for something else.
func Units(ttl, unit time.Duration) int64 {
	n := ttl / unit
	if ttl%unit > 0 {
		n++
	}
	return int64(max(n, 1))
}

// Milliseconds returns ttl as Redis takes it, rounded up as Units does.
func Milliseconds(ttl time.Duration) int64 { return Units(ttl, time.Millisecond) }

// Cleanup returns a context for the release of a lease that is no longer
// wanted. It has the values of ctx and not its end, and ends after timeout.
func Cleanup(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}
