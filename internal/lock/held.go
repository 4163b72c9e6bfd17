package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrReleased says that a lock is no longer held because its holder let go.
var ErrReleased = errors.New("lock: released")

// releasing bounds a release, which the caller's cancellation does not stop.
const releasing = 2 * time.Second

// Held is a lock in somebody's hands. It is safe for concurrent use.
type Held struct {
	hold   *hold
	parent context.Context // of Acquire

	mu     sync.Mutex
	ctx    context.Context // nil until asked for
	cancel context.CancelCauseFunc
	over   bool  // released
	result error // of Release
	once   sync.Once
}

// A hold is one lease and everybody who has entered it.
type hold struct {
	policy *policy
	locker Locker
	key    string
	o      Options
	lease  Lease
	asked  time.Time // before the request that made the lease was sent
	began  time.Time

	mu      sync.Mutex
	entered int   // how many Held share it
	err     error // why it has ended
	done    chan struct{}
	cancels []context.CancelCauseFunc

	schedule // guarded by the watchdog
}

// Fence is the lease's fence; all who re-entered share it. Zero if the driver
// has none.
func (h *Held) Fence() uint64 { return h.hold.lease.Fence() }

// Key is the lock's name.
func (h *Held) Key() string { return h.hold.key }

// Deadline is until when the lock is held for certain, unless it is extended,
// by this process's monotonic clock: counted from before the server was asked,
// less a margin for the drift of clocks.
func (h *Held) Deadline() time.Time { return h.hold.policy.watchdog.deadlineOf(h.hold) }

// Done is closed when the lock is lost, or the last who entered has let go.
func (h *Held) Done() <-chan struct{} {
	h.hold.mu.Lock()
	defer h.hold.mu.Unlock()
	if h.hold.done == nil {
		h.hold.done = make(chan struct{})
		if h.hold.err != nil {
			close(h.hold.done)
		}
	}
	return h.hold.done
}

// Err is nil while the lock is held, ErrReleased after Release, and ErrLost,
// wrapped with the reason, once it is lost.
func (h *Held) Err() error {
	if err := h.hold.ended(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return ErrReleased
	}
	return nil
}

// Context is the context of Acquire, carrying the hold for those who re-enter.
// It is cancelled with the cause that Err gives.
func (h *Held) Context() context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil {
		h.ctx, h.cancel = context.WithCancelCause(carry(h.parent, h.hold))
		if h.over {
			h.cancel(ErrReleased)
		} else {
			h.hold.whenOver(h.cancel)
		}
	}
	return h.ctx
}

// Release lets go. It returns ErrLost, with the reason, if the lock was lost
// before, and an error that is neither if the outcome is unknown; the lock
// then ends with its lease. ctx gives values, and neither cancels nor limits
// it. Every further call returns what the first one did.
func (h *Held) Release(ctx context.Context) error {
	h.once.Do(func() {
		h.mu.Lock()
		h.over = true
		cancel := h.cancel
		h.mu.Unlock()
		h.result = h.hold.leave(ctx)
		if cancel != nil {
			cancel(ErrReleased)
		}
	})
	return h.result
}

// leave is the way out; the last one closes the door.
func (h *hold) leave(ctx context.Context) error {
	h.mu.Lock()
	h.entered--
	last := h.entered == 0
	h.mu.Unlock()
	if !last {
		return h.ended()
	}
	h.policy.watchdog.remove(h)
	held := h.end(ErrReleased)
	err := h.letGo(ctx)
	h.policy.queues.released(h)
	if !held {
		return h.ended() // whatever the server says now
	}
	return h.released(err)
}

func (h *hold) letGo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasing)
	defer cancel()
	return h.lease.Release(ctx)
}

// released turns the driver's answer into the holder's.
func (h *hold) released(err error) error {
	e := Event{Kind: EventReleased, Hold: time.Since(h.began), Err: err}
	switch {
	case errors.Is(err, ErrLost):
		e.Kind = EventLost
		err = fmt.Errorf("lock %s: %w", h.key, err)
	case err != nil:
		e.Kind = EventReleaseUnknown
		err = fmt.Errorf("lock %s: release: %w", h.key, err)
	}
	h.o.observe(e)
	return err
}

// lose ends the hold for a reason that is not its holder's.
func (h *hold) lose(reason string) {
	err := fmt.Errorf("lock %s: %w: %s", h.key, ErrLost, reason)
	if h.end(err) {
		h.o.observe(Event{Kind: EventLost, Hold: time.Since(h.began), Err: err})
	}
}

// end is where every hold ends, once; it reports whether this was the time.
func (h *hold) end(err error) bool {
	h.mu.Lock()
	if h.err != nil {
		h.mu.Unlock()
		return false
	}
	h.err = err
	if h.done != nil {
		close(h.done)
	}
	cancels := h.cancels
	h.cancels = nil
	h.mu.Unlock()
	for _, cancel := range cancels {
		cancel(err)
	}
	return true
}

func (h *hold) ended() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// whenOver calls cancel when the hold ends, or now if it has.
func (h *hold) whenOver(cancel context.CancelCauseFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		cancel(h.err)
		return
	}
	h.cancels = append(h.cancels, cancel)
}

// watch ends the hold when its lease says that it is lost.
func (h *hold) watch(lease Watched) {
	over := (&Held{hold: h}).Done()
	select {
	case <-lease.Lost():
		h.policy.watchdog.remove(h)
		h.lose("its session ended")
	case <-over:
	}
}
