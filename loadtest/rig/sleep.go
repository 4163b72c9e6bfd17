package rig

import (
	"context"
	"time"
)

// Sleep waits for d and returns true, or returns false when ctx ends.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
