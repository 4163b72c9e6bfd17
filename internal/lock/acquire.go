package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Options say how to take a lock and how to keep it.
type Options struct {
	// TTL is the time of one lease: how long the lock stays closed after its
	// holder's death. 30 seconds if zero.
	TTL time.Duration
	// Wait is how long to wait for another holder: zero asks once, a negative
	// one waits as long as the context does.
	Wait time.Duration
	// NoRenewal lets the lock end with its first lease. Otherwise the lease is
	// extended every third of TTL.
	NoRenewal bool
	// MaxHold, if positive, is when a renewed lock is lost at the latest.
	MaxHold time.Duration
	// Reentrant joins the hold that ctx carries, if it carries one of this
	// locker and key.
	Reentrant bool
	// Class labels the events of this lock.
	Class string
	// Observe, if not nil, is told what happens. It must be fast and must not
	// use this lock; it may be called by several goroutines at once.
	Observe func(Event)
}

// ErrReentry says that the context already holds the key: to wait would be to
// wait for itself.
var ErrReentry = errors.New("lock: this context holds it already")

const defaultTTL = 30 * time.Second

// A policy is what the locks of one process share.
type policy struct {
	watchdog watchdog
	queues   queues
}

// process is the policy of this process. Tests make their own.
var process policy

// Acquire takes the lock, or returns ErrLocked (wrapped, with the cause of ctx
// if that ended the wait), ErrReentry, ErrLost if ctx carries a hold of this
// key that has ended, or an error that leaves the outcome unknown, after the
// driver has tried to let go.
//
// Acquirers of one process are served in the order of their coming, as far as
// they wait; the processes among each other are not.
func Acquire(ctx context.Context, l Locker, key string, o Options) (*Held, error) {
	return process.acquire(ctx, l, key, o)
}

// Do runs fn while it holds the lock, as Acquire takes it. The context of fn
// carries the hold and is cancelled, with ErrLost as its cause, before the
// lease can be another's. Do returns what fn returns, joined with ErrLost if
// the lock was lost, or with the failure to release it.
func Do(ctx context.Context, l Locker, key string, o Options, fn func(ctx context.Context, h *Held) error) error {
	return process.do(ctx, l, key, o, fn)
}

func (p *policy) do(ctx context.Context, l Locker, key string, o Options, fn func(context.Context, *Held) error) (err error) {
	h, err := p.acquire(ctx, l, key, o)
	if err != nil {
		return err
	}
	defer func() {
		if e := h.Release(ctx); e != nil {
			err = errors.Join(err, e)
		}
	}()
	return fn(h.Context(), h)
}

func (p *policy) acquire(ctx context.Context, l Locker, key string, o Options) (*Held, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	if o.TTL == 0 {
		o.TTL = defaultTTL
	}
	if outer := carriedBy(ctx, l, key); outer != nil {
		return outer.reenter(ctx, o)
	}
	began := time.Now()
	h := &hold{policy: p, locker: l, key: key, o: o, entered: 1}
	if err := h.take(ctx); err != nil {
		o.observe(refusal(err, time.Since(began)))
		return nil, err
	}
	h.began = time.Now()
	o.observe(Event{Kind: EventAcquired, Wait: h.began.Sub(began)})
	p.watchdog.add(h)
	if w, ok := h.lease.(Watched); ok {
		go h.watch(w)
	}
	return &Held{hold: h, parent: ctx}, nil
}

// take gets the lease, and notes from when it counts for certain.
func (h *hold) take(ctx context.Context) error {
	take := h.try
	if h.o.Wait != 0 {
		take = h.wait
	}
	if err := take(ctx); err != nil {
		return err
	}
	if time.Since(h.asked) < certain(h.o.TTL) {
		return nil
	}
	return fmt.Errorf("lock %s: %w", h.key, errors.Join(errLate, h.letGo(ctx)))
}

var errLate = errors.New("the lease may have ended before its answer came")

// try asks once.
func (h *hold) try(ctx context.Context) (err error) {
	h.asked = time.Now()
	if h.lease, err = h.locker.TryLock(ctx, h.key, h.o.TTL); err != nil {
		return fmt.Errorf("lock %s: %w", h.key, err)
	}
	return nil
}

func refusal(err error, wait time.Duration) Event {
	if errors.Is(err, ErrLocked) {
		return Event{Kind: EventRefused, Wait: wait}
	}
	return Event{Kind: EventUnknown, Wait: wait, Err: err}
}

func (o *Options) observe(e Event) {
	if o.Observe != nil {
		e.Class = o.Class
		o.Observe(e)
	}
}
