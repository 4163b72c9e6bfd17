package redlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/flashsale/internal/lock"
)

var (
	errNoQuorum = errors.New("no majority in time")
	errTimeout  = errors.New("no reply in time")
)

// A splitVote is the error of a request that some nodes have granted and others
// refused.
type splitVote struct {
	refusal error // what they tell, if the request is not repeated
}

func (*splitVote) Error() string { return "redlock: split vote" }

// replies are the nodes' replies to one request. A refusal is ErrLocked or
// ErrLost; every other error leaves the node's outcome unknown.
type replies struct {
	granted, refused int
	left             []time.Duration // of the leases that nodes refused for, as far as they know
	errs             []error
}

func (r *replies) add(err error) {
	switch {
	case err == nil:
		r.granted++
	case errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost):
		r.refused++
		if locked, ok := errors.AsType[*lock.LockedError](err); ok {
			r.left = append(r.left, locked.Left)
		}
	default:
		r.errs = append(r.errs, err)
	}
}

// locked returns ErrLocked, with the time after which fewer than refusalQuorum nodes
// refuse if no lease is extended, if enough of them know it.
func (r *replies) locked(refusalQuorum int) error {
	ends := r.refused - refusalQuorum // of so many leases, and of one more
	if ends < 0 || len(r.left) <= ends {
		return lock.ErrLocked
	}
	slices.Sort(r.left)
	return lock.Locked(r.left[ends])
}

// noQuorum returns the error of a request that neither enough nodes granted nor
// enough refused.
func (r *replies) noQuorum() error { return errors.Join(append(r.errs, errNoQuorum)...) }

// requestAll sends a request to all nodes. It returns when a majority has
// granted it, when enough nodes have refused it, at the timeout, or when ctx
// ends. The remaining requests continue until the timeout.
//
// After enough nodes have refused, requestAll waits briefly for the remaining
// replies, so that the caller can release late grants. Until they are released
// they would refuse the next request for the key.
func (l *lease) requestAll(
	ctx context.Context, timeout time.Duration, request func(ctx context.Context, node int) error,
) (r replies) {
	n := len(l.locker.nodes)
	start := time.Now()
	results := make(chan error, n)
	for node := range n {
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
			defer cancel()
			results <- request(ctx, node)
		}()
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var refused <-chan time.Time
	for range n {
		select {
		case err := <-results:
			r.add(err)
		case <-refused:
			return r
		case <-timer.C:
			r.errs = append(r.errs, errTimeout)
			return r
		case <-ctx.Done():
			r.errs = append(r.errs, context.Cause(ctx))
			return r
		}
		if r.granted >= l.locker.quorum() {
			return r
		}
		if r.refused >= l.locker.refusalQuorum() && refused == nil {
			refused = time.After(2*time.Since(start) + time.Millisecond)
		}
	}
	return r
}

// nodeTimeout bounds the request to one node.
func nodeTimeout(ttl time.Duration) time.Duration { return min(ttl/4, 500*time.Millisecond) }

// isValid reports whether a lease of ttl that was requested at start is still
// valid, on clocks that drift by one in a hundred.
func isValid(start time.Time, ttl time.Duration) bool {
	drift := ttl/100 + 2*time.Millisecond
	return time.Since(start) < ttl-drift
}
