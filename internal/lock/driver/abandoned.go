package driver

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// firstRelease bounds the release that is sent while the caller waits.
	firstRelease = 500 * time.Millisecond
	// releaseTimeout bounds a release in the background.
	releaseTimeout = 500 * time.Millisecond
	// concurrentReleases is how many are sent at once, so that a server that
	// does not reply delays the releases of the others little.
	concurrentReleases = 16
	// maxAbandoned bounds the memory. A request beyond it leaves its key to its
	// expiry.
	maxAbandoned = 10_000
	// longestOutage is how long a release is repeated to a server that never
	// replies.
	longestOutage = 10 * time.Minute
	// retransmission is the shortest interval at which TCP repeats a packet, and the
	// pause when no server has replied.
	retransmission = 200 * time.Millisecond
)

// Abandoned are the requests whose outcome is unknown and whose callers have
// given up. A server that stalled, or a network that was partitioned, may still
// run such a request: after the release that was sent to clean up after it. Its
// key would then be locked without a holder until the end of its lease.
//
// Abandoned therefore repeats the release until the server has replied to one
// that it must have run after the request. That is one which is sent when, since
// the server's first reply, as much time has passed as between the request and
// that reply: TCP repeats a packet at intervals that double, so by then the
// request has arrived if it ever does. Until then the intervals of the releases double, too:
// most requests arrive at once.
//
// One goroutine sends the releases. It runs while there are any. The zero value
// is ready for use, by several goroutines at once.
type Abandoned struct {
	mu       sync.Mutex
	requests []*abandonedRequest
	wake     chan struct{} // ends a pause; nil while the goroutine does not run
	empty    chan struct{} // closed when the goroutine ends
	draining int           // calls of Drain: one reply ends a request
}

type abandonedRequest struct {
	requestedAt time.Time
	repliedAt   time.Time // the first reply; zero before it
	due         time.Time // of the next release
	release     func(context.Context) error
}

// Release releases what a request that was made at requestedAt, or later, may
// have acquired. Release must be repeatable and return nil if the server has
// replied, whether it found anything to release or not. It is called once before
// Release returns, for half a second at most and also if ctx has ended, and
// again in the background until the request can no longer acquire anything.
func (a *Abandoned) Release(ctx context.Context, requestedAt time.Time, release func(context.Context) error) {
	r := &abandonedRequest{requestedAt: requestedAt, release: release}
	ctx, cancel := Cleanup(ctx, firstRelease)
	defer cancel()
	r.send(ctx)
	a.add(r)
}

// send sends the release, and reports whether the server has replied, and whether this
// release was the last. If not, a reply sets the time of the next one.
func (r *abandonedRequest) send(ctx context.Context) (replied, last bool) {
	sent := time.Now()
	if r.release(ctx) != nil {
		return false, false
	}
	if r.repliedAt.IsZero() {
		r.repliedAt = time.Now()
		sent = r.repliedAt
	}
	passed, all := sent.Sub(r.repliedAt), r.repliedAt.Sub(r.requestedAt)+retransmission
	next := all
	for next/2 > max(passed, retransmission) {
		next /= 2
	}
	r.due = r.repliedAt.Add(next)
	return true, passed >= all
}

// add adds r and starts the goroutine.
func (a *Abandoned) add(r *abandonedRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.requests) >= maxAbandoned {
		return
	}
	a.requests = append(a.requests, r)
	if a.wake == nil {
		a.wake, a.empty = make(chan struct{}, 1), make(chan struct{})
		go a.run(a.wake)
	}
}

// Drain sends a release of each request now, and returns when the server has
// replied to all of them or ctx ends. One reply then ends a request.
func (a *Abandoned) Drain(ctx context.Context) {
	empty := a.beginDrain()
	if empty == nil {
		return
	}
	select {
	case <-empty:
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.draining--
}

// beginDrain makes all requests due. It returns nil if there are none.
func (a *Abandoned) beginDrain() (empty <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.wake == nil {
		return nil
	}
	a.draining++
	for _, r := range a.requests {
		r.due = time.Time{}
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
	return a.empty
}

func (a *Abandoned) run(wake <-chan struct{}) {
	for {
		due, more := a.take(time.Now())
		if !more {
			return
		}
		if replied := a.send(due); replied {
			continue
		}
		select {
		case <-wake:
		case <-time.After(retransmission):
		}
	}
}

// take removes and returns the requests that are due, concurrentReleases at
// most. It reports whether there are any requests; if not, the goroutine ends.
func (a *Abandoned) take(now time.Time) (due []*abandonedRequest, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.requests) == 0 {
		close(a.empty)
		a.requests, a.wake = nil, nil
		return nil, false
	}
	seen := 0
	var waiting []*abandonedRequest
	for ; seen < len(a.requests) && len(due) < concurrentReleases; seen++ {
		if r := a.requests[seen]; r.due.After(now) {
			waiting = append(waiting, r)
		} else {
			due = append(due, r)
		}
	}
	a.requests = append(waiting, a.requests[seen:]...)
	return due, true
}

// send sends the releases of requests at once, and reports whether there was any
// reply.
func (a *Abandoned) send(requests []*abandonedRequest) (replied bool) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	var sending sync.WaitGroup
	var replies atomic.Int64
	for _, r := range requests {
		sending.Go(func() {
			replied, last := r.send(ctx)
			if replied {
				replies.Add(1)
			}
			a.sent(r, replied, last)
		})
	}
	sending.Wait()
	return replies.Load() > 0
}

// sent keeps a request whose release has been sent, behind the others, unless
// the release was the last.
func (a *Abandoned) sent(r *abandonedRequest, replied, last bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	done := replied && (last || a.draining > 0)
	if !done && time.Since(r.requestedAt) < longestOutage {
		a.requests = append(a.requests, r)
	}
}
