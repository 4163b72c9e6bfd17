package lock

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// queues let one goroutine of this process at a time contend for a key. The
// others wait behind it, in the order of arrival, without requests to the
// server.
type queues struct {
	mu    sync.Mutex
	byKey map[string]*queue
}

// A queue exists while at least one waiter is in it.
type queue struct {
	waiters list.List     // of chan struct{}; closed when the waiter comes first
	wake    chan struct{} // receives when the key may be free
	stop    func()        // stops the notifications; nil before they are started; used by the first waiter only
}

const (
	// backupPoll is how often a waiter polls although it gets notifications:
	// the holder may have died, or a notification been lost.
	backupPoll = time.Second
	// Without notifications a waiter polls after pauses that double from
	// firstPause to lastPause.
	firstPause = 2 * time.Millisecond
	lastPause  = 200 * time.Millisecond
	// lastRequest is how long before the end of a wait the waiter requests the
	// lock for the last time: a lease may have expired since the last poll,
	// and no notification reports that.
	lastRequest = 10 * time.Millisecond
	// requestGrace is how long after the end of a wait its last request may
	// take.
	requestGrace = 250 * time.Millisecond
)

var errWaitEnded = errors.New("the time to wait is over")

// wait obtains the lease within the limits of the options.
func (g *grant) wait(ctx context.Context) error {
	g.report(Event{Kind: EventWaiting})
	defer g.report(Event{Kind: EventWaited})
	limited, cancel := g.limit(ctx)
	defer cancel()
	ctx, cancelRequests := g.limitRequests(ctx)
	defer cancelRequests()
	queues := &g.client.queues
	q, place, first := queues.join(g.key)
	defer queues.leave(g.key, q, place)
	select {
	case <-place.Value.(chan struct{}):
	case <-limited.Done():
		return g.waitEnded(limited)
	}
	if l, ok := g.client.locker.(BlockingLocker); ok {
		return g.lockBlocking(ctx, limited, l)
	}
	return q.contend(ctx, limited, g, first)
}

// limitRequests returns ctx with a limit for the requests of a wait. A request
// that is under way at the end of the wait may still get its reply; one that
// hangs must not outlast the wait for long.
func (g *grant) limitRequests(ctx context.Context) (context.Context, context.CancelFunc) {
	if g.options.Wait < 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, g.options.Wait+requestGrace, errWaitEnded)
}

// limit returns ctx with the limits of a wait: Options.Wait and Client.Close.
func (g *grant) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	closing := g.client.closing
	limited, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(closing, func() { cancel(context.Cause(closing)) })
	cancelTimeout := func() {}
	if g.options.Wait > 0 {
		limited, cancelTimeout = context.WithTimeoutCause(limited, g.options.Wait, errWaitEnded)
	}
	return limited, func() {
		stop()
		cancelTimeout()
		cancel(nil)
	}
}

// join appends a waiter to the queue of key, and reports whether it is the
// first.
func (qs *queues) join(key string) (q *queue, place *list.Element, first bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.byKey == nil {
		qs.byKey = map[string]*queue{}
	}
	q = qs.byKey[key]
	if q == nil {
		q = &queue{wake: make(chan struct{}, 1)}
		qs.byKey[key] = q
	}
	turn := make(chan struct{})
	place = q.waiters.PushBack(turn)
	if first = q.waiters.Len() == 1; first {
		close(turn)
	}
	return q, place, first
}

// leave removes a waiter and lets the next one contend. The last waiter stops
// the notifications.
func (qs *queues) leave(key string, q *queue, place *list.Element) {
	qs.mu.Lock()
	contended := q.waiters.Front() == place
	q.waiters.Remove(place)
	next := q.waiters.Front()
	if next == nil {
		delete(qs.byKey, key)
	} else if contended {
		close(next.Value.(chan struct{}))
	}
	qs.mu.Unlock()
	if next == nil && q.stop != nil {
		q.stop()
	}
}

// wakeNext wakes this process's next waiter after a release where the service
// sends no notifications.
func (qs *queues) wakeNext(g *grant) {
	if _, ok := g.client.locker.(Notifier); ok {
		return // the notification wakes it; a second request would be superfluous
	}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if q := qs.byKey[g.key]; q != nil {
		notify(q.wake)
	}
}

// contend requests the lock whenever the key may have become free. A waiter
// that comes after another one first waits for a notification, because it knows
// that the key is held.
func (q *queue) contend(ctx, limited context.Context, g *grant, request bool) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if request {
			if err := g.tryLock(ctx); !errors.Is(err, ErrLocked) {
				if err != nil {
					notify(q.wake) // the next waiter has to request for itself
				}
				return err
			}
		}
		request = true
		if q.listen(g) {
			pause = backupPoll
		}
		if err := q.pause(limited, g, beforeEnd(limited, jitter(pause))); err != nil {
			return err
		}
	}
}

// listen starts the notifications of the key once, and reports whether there
// are any.
func (q *queue) listen(g *grant) bool {
	if q.stop != nil {
		return true
	}
	notifier, ok := g.client.locker.(Notifier)
	if !ok {
		return false
	}
	stop, err := notifier.Notify(g.key, q.wake)
	if err != nil {
		return false
	}
	q.stop = stop
	return true
}

// pause blocks until a notification, or for d at most.
func (q *queue) pause(ctx context.Context, g *grant, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-q.wake:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return g.waitEnded(ctx)
	}
}

// beforeEnd shortens a pause that would outlast the wait.
func beforeEnd(ctx context.Context, pause time.Duration) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		if left := time.Until(end) - lastRequest; left > lastRequest {
			return min(pause, left)
		}
	}
	return pause
}

func (g *grant) waitEnded(ctx context.Context) error {
	return fmt.Errorf("lock %s: %w: %w", g.key, ErrLocked, context.Cause(ctx))
}

// lockBlocking waits in the service. After a long wait it is unknown when the
// lease began, so the lease is extended to its full length; the end of the wait
// does not stop that.
func (g *grant) lockBlocking(ctx, limited context.Context, l BlockingLocker) (err error) {
	g.requestedAt = time.Now()
	if g.lease, err = l.Lock(limited, g.key, g.options.TTL); err != nil {
		return fmt.Errorf("lock %s: %w", g.key, err)
	}
	if time.Since(g.requestedAt) < g.options.TTL/10 {
		return nil
	}
	g.requestedAt = time.Now()
	if err := g.lease.Extend(ctx, g.options.TTL); err != nil {
		return fmt.Errorf("lock %s: %w", g.key, errors.Join(err, g.releaseLease(ctx)))
	}
	return nil
}

// notify sends on wake without blocking. One pending notification is enough.
func notify(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
