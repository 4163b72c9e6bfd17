package lock

import (
	"context"
	"sync"
)

// ReleaseAll calls Release on locks of this client, all at once, and in few
// round trips if the Locker is a BatchReleaser. The result of each is that of its
// Release, which every further call returns.
func (c *Client) ReleaseAll(ctx context.Context, locks []*Lock) {
	releaser, ok := c.locker.(BatchReleaser)
	if !ok {
		var releases sync.WaitGroup
		for _, l := range locks {
			releases.Go(func() { _ = l.Release(ctx) })
		}
		releases.Wait()
		return
	}
	c.releaseBatch(ctx, releaser, locks)
	for _, l := range locks {
		_ = l.Release(ctx) // waits for those that other goroutines release
	}
}

// releaseBatch releases those of locks whose release has not begun.
func (c *Client) releaseBatch(ctx context.Context, releaser BatchReleaser, locks []*Lock) {
	batch, leases := make([]*Lock, 0, len(locks)), make([]Lease, 0, len(locks))
	for _, l := range locks {
		if !l.releasing.TryLock() {
			continue
		}
		if l.beginRelease() {
			batch, leases = append(batch, l), append(leases, l.grant.lease)
		} else {
			l.releasing.Unlock()
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for i, err := range releaser.ReleaseAll(ctx, leases) {
		batch[i].endRelease(batch[i].grant.released(err))
		batch[i].releasing.Unlock()
	}
}
