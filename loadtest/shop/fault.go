package shop

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Fault is two commands of the shop's owner: the first stops something, the other,
// after a time, starts it again and returns when it serves.
type Fault struct {
	Name  string        `yaml:"name"`
	Stop  Text          `yaml:"stop"`
	Start Text          `yaml:"start"`
	For   time.Duration `yaml:"for"`
}

// Strike stops what f names after a time and starts it again. What was stopped is also
// started if ctx ends.
func (f Fault) Strike(ctx context.Context, after time.Duration) error {
	if !sleep(ctx, after) {
		return nil
	}
	_, stopErr := run(ctx, string(f.Stop), nil)
	if stopErr == nil {
		sleep(ctx, f.For)
	}
	_, startErr := run(context.WithoutCancel(ctx), string(f.Start), nil)
	if err := errors.Join(stopErr, startErr); err != nil {
		return fmt.Errorf("fault %s: %w", f.Name, err)
	}
	return nil
}

// sleep waits for d and returns true, or returns false when ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
