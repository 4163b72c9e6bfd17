// Package redlock is one lock over several that fail independently, as
// described at redis.io under "Distributed Locks": it is held by whoever holds
// most of them.
//
// It survives the death of a minority, and the failovers of none. It trusts
// the nodes' clocks to run alike. A node that forgets its data, and comes back
// before the leases it forgot have ended, can help a second holder to a
// majority: let it stay away for longer than the longest ttl, or be durable.
// A node that was paused may grant, when it goes on, what nobody waits for any
// more; that ends with its ttl.
// There is no fence, for no node knows what the others have given.
package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
)

// A Locker asks all its nodes at once. It answers as soon as a majority has;
// the others have until their time is up to do as they were asked.
type Locker struct{ nodes []lock.Locker }

// New returns a locker over nodes, an odd number of them, each a service of
// its own.
func New(nodes ...lock.Locker) *Locker { return &Locker{nodes} }

func (l *Locker) quorum() int { return len(l.nodes)/2 + 1 }

var errSplit = errors.New("redlock: split vote")

// TryLock implements lock.Locker. When several ask at once, each may get some
// nodes and none the majority. Whoever got some then lets go and asks again
// after a random pause, a few times. Whoever got none is refused, though there
// may be no holder yet: nodes do not say whom they refuse for.
func (l *Locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for pause := time.Millisecond; ; pause *= 2 {
		held, err := l.try(ctx, key, ttl)
		if !errors.Is(err, errSplit) {
			return held, err
		}
		const last = 64 * time.Millisecond
		if pause > last {
			return nil, lock.ErrLocked
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return nil, fmt.Errorf("redlock: take %s: %w", key, context.Cause(ctx))
		}
	}
}

func (l *Locker) try(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	began := time.Now()
	held := &lease{locker: l, key: key, timeout: timeout(ttl), parts: make([]lock.Lease, len(l.nodes))}
	votes := held.ask(ctx, held.timeout, func(ctx context.Context, node int) error { return held.take(ctx, node, ttl) })
	if votes.yes >= l.quorum() && inTime(began, ttl) {
		return held, nil
	}
	held.abandon(ctx)
	switch {
	case votes.yes > 0 && votes.yes < l.quorum() && votes.no > 0:
		return nil, errSplit
	case votes.no > len(l.nodes)-l.quorum():
		return nil, lock.ErrLocked
	}
	return nil, fmt.Errorf("redlock: take %s: %w", key, errors.Join(append(votes.errs, errNoQuorum)...))
}

var errNoQuorum = errors.New("no majority in time")

// timeout bounds the asking of one node.
func timeout(ttl time.Duration) time.Duration { return min(ttl/4, 500*time.Millisecond) }

// inTime reports whether a ttl that began after began still runs, on clocks
// that drift apart by one in a hundred.
func inTime(began time.Time, ttl time.Duration) bool {
	drift := ttl/100 + 2*time.Millisecond
	return time.Since(began) < ttl-drift
}

// Notify implements lock.Notifier, with the hints of those nodes that give
// any.
func (l *Locker) Notify(key string, wake chan<- struct{}) (stop func(), err error) {
	var stops []func()
	errs := []error{errors.New("redlock: no node that notifies")}
	for _, node := range l.nodes {
		if n, ok := node.(lock.Notifier); ok {
			stop, err := n.Notify(key, wake)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			stops = append(stops, stop)
		}
	}
	if len(stops) == 0 {
		return nil, errors.Join(errs...)
	}
	return sync.OnceFunc(func() {
		for _, stop := range stops {
			stop()
		}
	}), nil
}
