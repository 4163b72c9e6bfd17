// Package driver holds what lock drivers share: the context of a cleanup, the
// release of what a request with an unknown outcome may have acquired, and the
// state of a lease that expires. A driver that needs none of it need not use it.
package driver

import (
	"context"
	"time"
)

// Cleanup returns a context for the release of a lease that is no longer
// wanted. It has the values of ctx and not its end, and ends after timeout.
func Cleanup(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}
