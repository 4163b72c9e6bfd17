// Package redlock is one lock over several nodes that fail independently, as
// described at redis.io under "Distributed Locks with Redis". A client that has
// locked a majority of the nodes holds the lock.
//
// The lock survives the failure of any minority of the nodes, but no failover
// of a node. It relies on the nodes' clocks to run at nearly the same rate. A
// node that loses its data and restarts before the leases it lost would have
// expired can give a second holder a majority: keep it stopped for longer than
// the longest ttl, or make it durable. A node that was paused may grant, when it
// resumes, a lease whose client has given up; the node's driver then releases it.
//
// There is no fence, because no node knows the fences of the others.
//
// Over nodes of package redisson the lock is also that of Java's RedissonRedLock.
package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

// A Locker sends every request to all its nodes at once, and returns as soon as
// a majority has replied. The requests to the others continue in the background
// until they time out.
type Locker struct {
	nodes     []lock.Locker
	abandoned driver.Abandoned
}

// New returns a locker over an odd number of nodes. Each must be a service of
// its own.
func New(nodes ...lock.Locker) *Locker { return &Locker{nodes: nodes} }

// quorum is the number of grants that make a majority.
func (l *Locker) quorum() int { return len(l.nodes)/2 + 1 }

// refusalQuorum is the number of refusals that leave no majority of grants.
func (l *Locker) refusalQuorum() int { return len(l.nodes) - l.quorum() + 1 }

// maxPause is the longest pause before TryLock repeats a split vote.
const maxPause = 64 * time.Millisecond

// TryLock implements lock.Locker. Of several concurrent requests each may lock
// some nodes and none a majority. A request that has locked some then releases
// them and is repeated after a random pause, a few times. A request that has
// locked none returns ErrLocked, although the key may be free: a node does not
// report whether the lease that it refuses for is part of a majority.
func (l *Locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for pause := time.Millisecond; ; pause *= 2 {
		held, err := l.try(ctx, key, ttl)
		split, ok := errors.AsType[*splitVote](err)
		if !ok {
			return held, err
		}
		if pause > maxPause {
			return nil, split.refusal
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return nil, fmt.Errorf("redlock: acquire %s: %w", key, context.Cause(ctx))
		}
	}
}

func (l *Locker) try(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	start := time.Now()
	held := &lease{locker: l, key: key, timeout: nodeTimeout(ttl), nodeLeases: make([]lock.Lease, len(l.nodes))}
	r := held.requestAll(ctx, held.timeout,
		func(ctx context.Context, node int) error { return held.tryLockNode(ctx, node, ttl) })
	if r.granted >= l.quorum() && isValid(start, ttl) {
		return held, nil
	}
	held.releaseAll(ctx)
	switch {
	case r.granted > 0 && r.granted < l.quorum() && r.refused > 0:
		return nil, &splitVote{r.locked(l.refusalQuorum())}
	case r.refused >= l.refusalQuorum():
		return nil, r.locked(l.refusalQuorum())
	}
	return nil, fmt.Errorf("redlock: acquire %s: %w", key, r.noQuorum())
}

// Drain implements lock.Drainer. It also drains those nodes that are a
// lock.Drainer.
func (l *Locker) Drain(ctx context.Context) {
	var drains sync.WaitGroup
	drains.Go(func() { l.abandoned.Drain(ctx) })
	for _, node := range l.nodes {
		if d, ok := node.(lock.Drainer); ok {
			drains.Go(func() { d.Drain(ctx) })
		}
	}
	drains.Wait()
}

// releaseNode releases the lease of one node, and again in the background if the
// node does not reply in time. The end of ctx does not stop it.
func (l *Locker) releaseNode(ctx context.Context, timeout time.Duration, nodeLease lock.Lease) {
	release := func(ctx context.Context) error {
		if err := nodeLease.Release(ctx); !errors.Is(err, lock.ErrLost) {
			return err
		}
		return nil
	}
	start := time.Now()
	first, cancel := driver.Cleanup(ctx, timeout)
	defer cancel()
	if release(first) != nil {
		l.abandoned.Release(ctx, start, release)
	}
}

// Notify implements lock.Notifier with the notifications of those nodes that
// are a lock.Notifier.
func (l *Locker) Notify(key string, wake chan<- struct{}) (stop func(), err error) {
	var stops []func()
	errs := []error{errors.New("redlock: no node notifies")}
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
