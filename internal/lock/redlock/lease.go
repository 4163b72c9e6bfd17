package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/internal/lock"
)

// A lease is the leases that the nodes have granted.
type lease struct {
	locker  *Locker
	key     string
	timeout time.Duration // of a release by one node

	mu         sync.Mutex
	nodeLeases []lock.Lease // by node; nil where there is none
	ended      bool

	unnotified atomic.Bool
}

// Unnotified implements lock.NotifyingLease, of any node that has replied.
func (l *lease) Unnotified() bool { return l.unnotified.Load() }

// Fence implements lock.Lease. It returns 0: the lease has no fence.
func (l *lease) Fence() uint64 { return 0 }

// Extend implements lock.Lease. As long as a majority of the nodes extends its
// lease, Extend requests new leases from the others in the background: from
// nodes that were unavailable, that replied too late, or that lost their data.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	start, timeout := time.Now(), max(l.timeout, nodeTimeout(ttl))
	r := l.requestAll(ctx, timeout, func(ctx context.Context, node int) error { return l.extendNode(ctx, node, ttl) })
	switch {
	case r.granted >= l.locker.quorum() && isValid(start, ttl):
		go l.requestAll(context.WithoutCancel(ctx), timeout, func(ctx context.Context, node int) error {
			if l.lacks(node) {
				return l.tryLockNode(ctx, node, ttl)
			}
			return nil
		})
		return nil
	case r.refused >= l.locker.refusalQuorum():
		l.releaseAll(ctx)
		return lock.ErrLost
	}
	return fmt.Errorf("redlock: extend %s: %w", l.key, r.noQuorum())
}

// Release implements lock.Lease.
func (l *lease) Release(ctx context.Context) error {
	nodeLeases := l.end()
	r := l.requestAll(ctx, l.timeout, func(ctx context.Context, node int) error {
		if nodeLeases[node] == nil {
			return lock.ErrLost
		}
		err := nodeLeases[node].Release(ctx)
		if lock.IsUnnotified(nodeLeases[node]) {
			l.unnotified.Store(true)
		}
		return err
	})
	switch {
	case r.granted >= l.locker.quorum():
		return nil
	case r.refused >= l.locker.refusalQuorum():
		return lock.ErrLost
	}
	return fmt.Errorf("redlock: release %s: %w", l.key, r.noQuorum())
}

// tryLockNode requests the lease of one node. If the lease has ended when the
// node grants its own, tryLockNode releases that and returns ErrLost.
func (l *lease) tryLockNode(ctx context.Context, node int, ttl time.Duration) error {
	granted, err := l.locker.nodes[node].TryLock(ctx, l.key, ttl)
	if err != nil || l.add(node, granted) {
		return err
	}
	l.locker.releaseNode(ctx, l.timeout, granted)
	return lock.ErrLost
}

func (l *lease) extendNode(ctx context.Context, node int, ttl time.Duration) error {
	nodeLease := l.nodeLease(node)
	if nodeLease == nil {
		return lock.ErrLost
	}
	err := nodeLease.Extend(ctx, ttl)
	if errors.Is(err, lock.ErrLost) {
		l.remove(node, nodeLease)
	}
	return err
}

func (l *lease) nodeLease(node int) lock.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nodeLeases[node]
}

// lacks reports whether the lease has not ended and has no lease of a node. After the end a new one
// would only refuse the key to others.
func (l *lease) lacks(node int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.ended && l.nodeLeases[node] == nil
}

// add stores a node's lease, unless the lease has ended or has one of that node.
func (l *lease) add(node int, granted lock.Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || l.nodeLeases[node] != nil {
		return false
	}
	l.nodeLeases[node] = granted
	return true
}

func (l *lease) remove(node int, lost lock.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nodeLeases[node] == lost {
		l.nodeLeases[node] = nil
	}
}

// end removes and returns all node leases, and lets add refuse further ones.
func (l *lease) end() []lock.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	nodeLeases := l.nodeLeases
	l.nodeLeases, l.ended = make([]lock.Lease, len(nodeLeases)), true
	return nodeLeases
}

// releaseAll ends the lease and releases its node leases. The end of ctx does
// not stop it.
func (l *lease) releaseAll(ctx context.Context) {
	var releases sync.WaitGroup
	for _, nodeLease := range l.end() {
		if nodeLease != nil {
			releases.Go(func() { l.locker.releaseNode(ctx, l.timeout, nodeLease) })
		}
	}
	releases.Wait()
}
