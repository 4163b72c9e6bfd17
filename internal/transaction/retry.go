package transaction

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// ErrConflict says that a row's version changed between read and write.
var ErrConflict = errors.New("version changed")

// maxAttempts bounds how often one transaction is executed.
const maxAttempts = 200

// Retry executes a transaction again, after a short random pause, while it
// fails because of a conflict or because its connection has become unusable,
// until ctx ends.
func Retry(ctx context.Context, transaction func() error) error {
	wait := time.Millisecond
	for attempt := 1; ; attempt++ {
		err := transaction()
		if err == nil || attempt == maxAttempts || !errors.Is(err, ErrConflict) && !IsConflict(err) {
			return err
		}
		if ended := Pause(ctx, wait/2+rand.N(wait)); ended != nil {
			return errors.Join(err, ended)
		}
		wait = min(2*wait, 20*time.Millisecond)
	}
}

// Pause waits for d, or returns why ctx has ended before.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
