package redisson

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
)

// A lease is one hold by one owner.
type lease struct {
	locker locker
	key    string
	owner  string
	fence  uint64

	mu    sync.Mutex
	valid time.Time // the server cannot have ended the hold before
	asked bool      // to let go, without an answer
	over  bool      // released, or known to be lost
}

// Fence implements lock.Lease. Only fenced locks have one.
func (l *lease) Fence() uint64 { return l.fence }

// Extend implements lock.Lease.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	return l.locker.ExtendAll(ctx, ttl, []lock.Lease{l})[0]
}

// Release lets go. When a reply is lost and the next attempt finds nothing
// before the lease's time was up, the first one is what took it: that is a
// release, not a loss.
func (l *lease) Release(ctx context.Context) error {
	if l.ended() {
		return lock.ErrLost
	}
	released, err := l.drop(ctx)
	if err != nil {
		return fmt.Errorf("redisson: release %s: %w", l.key, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return lock.ErrLost // another Release was faster
	}
	l.over = true
	if released || l.asked && time.Now().Before(l.valid) {
		return nil
	}
	return lock.ErrLost
}

// drop removes the hold, and whatever else is the owner's, from the server,
// and reports whether there was a hold.
func (l *lease) drop(ctx context.Context) (released bool, err error) {
	client, kind := l.locker.c, l.locker.typ
	publish, err := client.publishCommand(ctx)
	if err != nil {
		return false, err
	}
	for range 3 {
		released, err = kind.release.Run(ctx, noRetryClient{client.rdb}, kind.keys(l.key, l.owner),
			kind.member(l.owner), publish, kind.channel(l.key)).Bool()
		if err == nil {
			return released, nil
		}
		l.mu.Lock()
		l.asked = true
		l.mu.Unlock()
	}
	return false, err
}

// abandon tries to let go of what an unknown outcome may have left, whatever
// has become of ctx. Should it fail too, the ttl is what ends the lease.
func (l *lease) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_, _ = l.drop(ctx)
}

func (l *lease) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// end notes that the lease is over.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// expect notes that the hold's end is about to be moved to end; until the
// answer is there, the nearer of the two ends counts.
func (l *lease) expect(end time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if end.Before(l.valid) {
		l.valid = end
	}
}

// extended notes the answer to an extension up to end.
func (l *lease) extended(ok bool, end time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !ok || l.over {
		l.over = true
		return lock.ErrLost
	}
	l.valid = end
	return nil
}
