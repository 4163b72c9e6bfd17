package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// backupPoll is how often a waiter polls although it gets notifications:
	// the holder may have died, or a notification been lost.
	backupPoll = time.Second
	// Without notifications, and after a request whose outcome is unknown, a
	// waiter polls after pauses that double from firstPause to lastPause.
	firstPause = 2 * time.Millisecond
	lastPause  = 200 * time.Millisecond
	// lastRequest is how long before the end of a wait the waiter requests the
	// lock for the last time: a lease may have expired since the last poll,
	// and no notification reports that.
	lastRequest = 10 * time.Millisecond
	// requestGrace is how long after the end of a wait its last request may
	// take.
	requestGrace = 250 * time.Millisecond
	// spread is the time over which the waiters of several processes spread
	// their requests after the end of a lease.
	spread = 10 * time.Millisecond
)

var (
	errWaitEnded = errors.New("the time to wait is over")
	errNoReply   = errors.New("no reply in time")
)

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
		return waitEnded(limited, q.lastOutcome())
	}
	if l, ok := g.client.locker.(BlockingLocker); ok {
		limited = context.WithValue(limited, queueKey{}, q)
		return q.contend(limited, g, true, func() error { return g.lockBlocking(ctx, limited, l) })
	}
	return q.contend(limited, g, first, func() error { return g.tryLock(ctx) })
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

// contend calls request whenever the key may have become free, and again if the
// outcome is unknown: the driver releases what such a request may have got. It
// repeats no request that can never succeed. A waiter that comes after another one
// first waits for a notification if it knows that the key is held.
func (q *queue) contend(limited context.Context, g *grant, first bool, request func() error) error {
	outcome := q.lastOutcome()
	due := first || !errors.Is(outcome, ErrLocked)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if due {
			if outcome = request(); outcome == nil {
				q.granted(g)
				return nil
			}
			q.refused(outcome)
		}
		if errors.Is(outcome, ErrInvalid) {
			return outcome
		}
		due = true
		if errors.Is(outcome, ErrLocked) && limited.Err() == nil && q.listen(g) {
			pause = backupPoll
		}
		if err := q.pause(limited, outcome, beforeEnd(limited, q.beforeLeaseEnds(jitter(pause)))); err != nil {
			return err
		}
		if !errors.Is(outcome, ErrLocked) {
			g.report(Event{Kind: EventRetried, Err: outcome})
		}
	}
}

// granted records that this process has the lock. If it is neither extended nor
// released, its lease ends without a notification.
func (q *queue) granted(g *grant) {
	q.record(ErrLocked)
	q.endAt = g.requestedAt.Add(g.options.TTL)
}

// refused records the outcome of a request that got no lease.
func (q *queue) refused(outcome error) {
	q.record(outcome)
	q.endAt = time.Time{}
	if locked, ok := errors.AsType[*LockedError](outcome); ok {
		q.endAt = time.Now().Add(locked.Left)
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
	q.listens.Store(true)
	return true
}

// pause blocks until a notification, or for d at most. It returns an error, with
// the last outcome, if the wait has ended.
func (q *queue) pause(ctx context.Context, outcome error, d time.Duration) error {
	if ctx.Err() != nil {
		return waitEnded(ctx, outcome)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-q.wake:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return waitEnded(ctx, outcome)
	}
}

// beforeLeaseEnds shortens a pause that would outlast the holder's lease.
func (q *queue) beforeLeaseEnds(pause time.Duration) time.Duration {
	if left := time.Until(q.endAt); left > 0 && left < pause {
		return left + rand.N(spread)
	}
	return pause
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

// waitEnded returns the error of a wait that has ended: ErrLocked only if that
// was the last outcome.
func waitEnded(ctx context.Context, outcome error) error {
	if errors.Is(outcome, ErrLocked) {
		return fmt.Errorf("%w: %w", ErrLocked, context.Cause(ctx))
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), outcome)
}

// lockBlocking waits in the service. After a long wait it is unknown when the
// lease began, so the lease is extended to its full length; the end of the wait
// does not stop that.
func (g *grant) lockBlocking(ctx, limited context.Context, l BlockingLocker) (err error) {
	g.requestedAt = now()
	if g.lease, err = l.Lock(limited, g.key, g.options.TTL); err != nil {
		return err
	}
	if g.requestedAt.since() < g.options.TTL/10 {
		return nil
	}
	g.requestedAt = now()
	if err := g.lease.Extend(ctx, g.options.TTL); err != nil {
		return errors.Join(err, g.releaseLease(ctx))
	}
	return g.refuseLate(ctx)
}
