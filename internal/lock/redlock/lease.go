package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
)

// A lease is what the nodes have granted of it.
type lease struct {
	locker  *Locker
	key     string
	timeout time.Duration // of one node that is to let go

	mu    sync.Mutex
	parts []lock.Lease // by node; nil where there is none
	over  bool
}

// Fence implements lock.Lease: there is none.
func (l *lease) Fence() uint64 { return 0 }

// Extend implements lock.Lease. While a majority still has our lease, the
// others are asked for it again: one that died, or was late, or forgot.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	began, wait := time.Now(), max(l.timeout, timeout(ttl))
	votes := l.ask(ctx, wait, func(ctx context.Context, node int) error { return l.extend(ctx, node, ttl) })
	switch {
	case votes.yes >= l.locker.quorum() && inTime(began, ttl):
		go l.ask(context.WithoutCancel(ctx), wait, func(ctx context.Context, node int) error {
			if l.part(node) != nil {
				return nil
			}
			return l.take(ctx, node, ttl)
		})
		return nil
	case votes.no > len(l.locker.nodes)-l.locker.quorum():
		l.abandon(ctx)
		return lock.ErrLost
	}
	return fmt.Errorf("redlock: extend %s: %w", l.key, errors.Join(append(votes.errs, errNoQuorum)...))
}

// Release implements lock.Lease.
func (l *lease) Release(ctx context.Context) error {
	parts := l.end()
	votes := l.ask(ctx, l.timeout, func(ctx context.Context, node int) error {
		if parts[node] == nil {
			return lock.ErrLost
		}
		return parts[node].Release(ctx)
	})
	switch {
	case votes.yes >= l.locker.quorum():
		return nil
	case votes.no > len(l.locker.nodes)-l.locker.quorum():
		return lock.ErrLost
	}
	return fmt.Errorf("redlock: release %s: %w", l.key, errors.Join(append(votes.errs, errNoQuorum)...))
}

type votes struct {
	yes, no int
	errs    []error
}

// ask puts a question to all nodes, and returns when their majority agrees,
// the timeout is over, or ctx ends. Nodes are not disturbed by the first and
// the last, and let go later of what they grant too late. A no waits a little for the others' answers: until then
// they might hold, for one who has gone away, what the next one asks for.
func (l *lease) ask(ctx context.Context, timeout time.Duration, question func(ctx context.Context, node int) error) (v votes) {
	n := len(l.locker.nodes)
	began := time.Now()
	answers := make(chan error, n)
	for node := range n {
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
			defer cancel()
			answers <- question(ctx, node)
		}()
	}
	silent := time.NewTimer(timeout)
	defer silent.Stop()
	var refused <-chan time.Time
	for range n {
		select {
		case err := <-answers:
			v.count(err)
		case <-refused:
			return v
		case <-silent.C:
			v.errs = append(v.errs, errSilent)
			return v
		case <-ctx.Done():
			v.errs = append(v.errs, context.Cause(ctx))
			return v
		}
		if v.yes >= l.locker.quorum() {
			return v
		}
		if v.no > n-l.locker.quorum() && refused == nil {
			refused = time.After(2*time.Since(began) + time.Millisecond)
		}
	}
	return v
}

var errSilent = errors.New("no answer in time")

func (v *votes) count(err error) {
	switch {
	case err == nil:
		v.yes++
	case errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost):
		v.no++
	default:
		v.errs = append(v.errs, err)
	}
}

// take asks node for its part, and lets go of it at once if that comes after
// the end.
func (l *lease) take(ctx context.Context, node int, ttl time.Duration) error {
	got, err := l.locker.nodes[node].TryLock(ctx, l.key, ttl)
	if err != nil {
		return err
	}
	l.mu.Lock()
	if !l.over && l.parts[node] == nil {
		l.parts[node] = got
		got = nil
	}
	l.mu.Unlock()
	if got == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	return errors.Join(lock.ErrLost, got.Release(ctx))
}

func (l *lease) extend(ctx context.Context, node int, ttl time.Duration) error {
	part := l.part(node)
	if part == nil {
		return lock.ErrLost
	}
	err := part.Extend(ctx, ttl)
	if errors.Is(err, lock.ErrLost) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.parts[node] == part {
			l.parts[node] = nil
		}
	}
	return err
}

func (l *lease) part(node int) lock.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.parts[node]
}

// end takes the parts away; none is taken after it.
func (l *lease) end() []lock.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	parts := l.parts
	l.parts, l.over = make([]lock.Lease, len(parts)), true
	return parts
}

// abandon lets go of all that has been granted, whatever has become of ctx.
func (l *lease) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	var releases sync.WaitGroup
	for _, part := range l.end() {
		if part != nil {
			releases.Go(func() { _ = part.Release(ctx) })
		}
	}
	releases.Wait()
}
