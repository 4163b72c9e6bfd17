package holder

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Waiters returns an Acquire of n waiters at a time. It returns when the first of them holds
// the lock. Release releases it and returns when each of the others has held it, too, and
// released it; it returns an error, which is no verdict, if one of them got no lock, or
// two held it at once.
func Waiters(acquire Acquire, n int) Acquire {
	return func(ctx context.Context, key string, lease, wait time.Duration) (Held, error) {
		h := &heldByOne{waiting: n, arrivals: make(chan arrival, n)}
		for range n {
			go func() {
				held, err := acquire(ctx, key, lease, wait)
				if err == nil && h.holding.Add(1) > 1 {
					err = errTwoAtOnce
				}
				h.arrivals <- arrival{held, err}
			}()
		}
		if err := h.next(); err != nil {
			return nil, err
		}
		return h, nil
	}
}

// An arrival is the end of one wait.
type arrival struct {
	held Held
	err  error
}

// heldByOne is a lock that one of many waiters holds.
type heldByOne struct {
	Held
	waiting  int
	arrivals chan arrival
	holding  atomic.Int32
}

var errTwoAtOnce = errors.New("two waiters held at once")

// next takes what the next of the waiters holds.
func (h *heldByOne) next() error {
	h.waiting--
	a := <-h.arrivals
	h.Held = a.held
	return a.err
}

// Release implements Held.
func (h *heldByOne) Release(ctx context.Context) error {
	failed, last := 0, h.releaseOne(ctx)
	for h.waiting > 0 {
		err := h.next()
		if h.Held != nil {
			err = errors.Join(err, h.releaseOne(ctx))
		}
		if err != nil {
			failed, last = failed+1, err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d waiters: %v", failed, last) //nolint:errorlint // one waiter's verdict is not that of all
	}
	return last
}

func (h *heldByOne) releaseOne(ctx context.Context) error {
	h.holding.Add(-1)
	return h.Held.Release(ctx)
}
