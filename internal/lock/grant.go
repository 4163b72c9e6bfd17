package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// releaseTimeout bounds a release, which the caller's cancellation does not
// stop.
const releaseTimeout = 2 * time.Second

// A grant is one lease and the Locks that share it by re-entry.
type grant struct {
	client      *Client
	key         string
	options     Options
	lease       Lease
	requestedAt instant // before the request for the first lease of full length
	start       time.Time

	mu         sync.Mutex
	references int           // Locks that are not released
	err        error         // why the grant has ended; nil while it is held
	done       chan struct{} // closed at the end; nil until doneChannel is called
	contexts   []*Lock       // those whose context is to be cancelled at the end
	renewal
}

// obtain gets the lease and starts its renewal.
func (g *grant) obtain(ctx context.Context) error {
	if g.client.closing.Err() != nil {
		return fmt.Errorf("lock %s: %w", g.key, ErrClosed)
	}
	request := g.tryLock
	if g.options.Wait != 0 {
		request = g.wait
	}
	if err := request(ctx); err != nil {
		return fmt.Errorf("lock %s: %w", g.key, err)
	}
	g.start = time.Now()
	if err := g.client.add(g); err != nil {
		return fmt.Errorf("lock %s: %w", g.key, errors.Join(err, g.releaseLease(ctx)))
	}
	g.startRenewal()
	return nil
}

// tryLock requests the lease once.
func (g *grant) tryLock(ctx context.Context) (err error) {
	g.requestedAt = now()
	if g.lease, err = g.client.locker.TryLock(ctx, g.key, g.options.TTL); err != nil {
		return err
	}
	return g.refuseLate(ctx)
}

// refuseLate releases the lease, and returns an error, if it may have ended
// before its reply arrived.
func (g *grant) refuseLate(ctx context.Context) error {
	if g.requestedAt.since() < safeTTL(g.options.TTL) {
		return nil
	}
	return errors.Join(errLate, g.releaseLease(ctx))
}

// leave drops one reference. With the last one the grant ends. It reports whether
// the lease is to be released: also a lease that is lost, because the server may still
// have it.
func (g *grant) leave() (needsRelease bool) {
	g.mu.Lock()
	g.references--
	last := g.references == 0
	g.mu.Unlock()
	return last && (g.end(ErrReleased) || errors.Is(g.ended(), ErrLost))
}

func (g *grant) releaseLease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return g.lease.Release(ctx)
}

// released returns the result of a release to which the driver has returned err,
// and reports it. For a lock that was lost it returns why, whatever the server has
// replied.
func (g *grant) released(err error) error {
	g.client.queues.wakeNext(g)
	if ended := g.ended(); errors.Is(ended, ErrLost) {
		return ended
	}
	e := Event{Kind: EventReleased, Hold: time.Since(g.start), Err: err}
	switch {
	case errors.Is(err, ErrLost):
		e.Kind = EventLost
		err = fmt.Errorf("lock %s: %w", g.key, err)
	case err != nil:
		e.Kind = EventReleaseUnknown
		err = fmt.Errorf("lock %s: release: %w", g.key, err)
	}
	g.report(e)
	if err == nil && IsUnnotified(g.lease) {
		g.report(Event{Kind: EventUnnotified})
	}
	return err
}

// lose ends the grant because its lease is lost.
func (g *grant) lose(reason string) {
	err := fmt.Errorf("lock %s: %w: %s", g.key, ErrLost, reason)
	if g.end(err) {
		g.report(Event{Kind: EventLost, Hold: time.Since(g.start), Err: err})
	}
}

// end records why the grant has ended and tells its holders. It returns false
// if the grant had already ended.
func (g *grant) end(err error) bool {
	g.mu.Lock()
	if g.err != nil {
		g.mu.Unlock()
		return false
	}
	g.err = err
	if g.timer != nil {
		g.timer.Stop()
	}
	if g.done != nil {
		close(g.done)
	}
	contexts := g.contexts
	g.contexts = nil
	g.mu.Unlock()
	g.client.remove(g)
	for _, l := range contexts {
		l.cancel(err)
	}
	return true
}

// ended returns why the grant has ended, or nil while it is held.
func (g *grant) ended() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// doneChannel returns the channel that is closed when the grant ends.
func (g *grant) doneChannel() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done == nil {
		g.done = make(chan struct{})
		if g.err != nil {
			close(g.done)
		}
	}
	return g.done
}

// cancelAtEnd cancels the context of l when the grant ends, or now if it has.
func (g *grant) cancelAtEnd(l *Lock) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		l.cancel(g.err)
		return
	}
	g.contexts = append(g.contexts, l)
}

// forgetContext undoes cancelAtEnd. The latest contexts end first as a rule.
func (g *grant) forgetContext(l *Lock) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range slices.Backward(g.contexts) {
		if other == l {
			g.contexts = slices.Delete(g.contexts, i, i+1)
			return
		}
	}
}

func (g *grant) report(e Event) {
	e.Class = g.options.Class
	g.client.observe(e)
}
