package holder

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Waiters returns a lock of n waiters at a time. Acquire returns when the first of them
// holds l. Release releases it and returns when each of the others has held l, too, and
// released it; it returns an error, which is no verdict, if one of them got no lock, or
// two held it at once.
func Waiters(l Lock, n int) Lock { return waiters{l, n} }

type waiters struct {
	lock Lock
	n    int
}

// Acquire implements Lock.
func (w waiters) Acquire(ctx context.Context, key string, lease, wait time.Duration) (Held, error) {
	h := &heldByOne{waiting: w.n, arrivals: make(chan arrival, w.n)}
	for range w.n {
		go func() {
			held, err := w.lock.Acquire(ctx, key, lease, wait)
			h.arrivals <- h.arrive(held, err)
		}()
	}
	first, err := h.next()
	if err != nil {
		return nil, err
	}
	h.Held = first
	return h, nil
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

func (h *heldByOne) arrive(held Held, err error) arrival {
	if err == nil && h.holding.Add(1) > 1 {
		err = errTwoAtOnce
	}
	return arrival{held, err}
}

func (h *heldByOne) next() (Held, error) {
	h.waiting--
	a := <-h.arrivals
	return a.held, a.err
}

// Release implements Held.
func (h *heldByOne) Release(ctx context.Context) error {
	failed, last := 0, h.releaseOne(ctx, h.Held)
	for h.waiting > 0 {
		held, err := h.next()
		if held != nil {
			err = errors.Join(err, h.releaseOne(ctx, held))
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

func (h *heldByOne) releaseOne(ctx context.Context, held Held) error {
	h.holding.Add(-1)
	return held.Release(ctx)
}
