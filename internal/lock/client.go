package lock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// A Client takes locks from one Locker and keeps them: it queues the waiters of
// this process, renews leases, and tells a holder when its lock is lost. It is
// safe for concurrent use. While no lock is held or waited for, it has no
// goroutine.
type Client struct {
	locker  Locker
	observe func(Event)
	queues  queues

	closing context.Context // cancelled by Close, with ErrClosed
	close   context.CancelCauseFunc

	mu   sync.Mutex
	held map[*grant]struct{}
}

// An Option configures a Client.
type Option func(*Client)

// WithObserver reports every event of the client's locks to observe. Observe
// must be fast and must not use the client; several goroutines may call it at
// once.
func WithObserver(observe func(Event)) Option {
	return func(c *Client) { c.observe = observe }
}

// New returns a client of locker, which remains the caller's to close.
func New(locker Locker, options ...Option) *Client {
	c := &Client{locker: locker, observe: func(Event) {}, held: map[*grant]struct{}{}}
	c.closing, c.close = context.WithCancelCause(context.Background())
	for _, option := range options {
		option(c)
	}
	return c
}

// Options say how to take a lock and how to keep it.
type Options struct {
	// TTL is the length of the lease: how long the lock outlives a holder that
	// died: a millisecond to 100 years, less for some drivers. Zero means 30 seconds.
	TTL time.Duration
	// Wait is how long to wait for another holder, and for a service that does
	// not reply. Zero makes one request; a negative value waits until the
	// context ends.
	Wait time.Duration
	// NoRenewal lets the lock end with its first lease. Otherwise the client
	// extends the lease every third of TTL.
	NoRenewal bool
	// Reentrant shares the lock of this key that the context carries, if it
	// carries one of this client.
	Reentrant bool
	// Class labels the events of this lock.
	Class string
}

const (
	defaultTTL = 30 * time.Second
	minTTL     = time.Millisecond // a shorter lease would end before its owner has the reply
	// maxDuration leaves room for sums: the largest time.Duration is 292 years.
	maxDuration = 100 * 365 * 24 * time.Hour
)

// check refuses a TTL that no server counts to the end. A wait that is as long has no
// end that anyone could notice.
func (o *Options) check() error {
	if o.TTL == 0 {
		o.TTL = defaultTTL
	}
	if o.TTL < minTTL || o.TTL > maxDuration {
		return fmt.Errorf("%w: ttl of %s, want %s to 100 years", ErrInvalid, o.TTL, minTTL)
	}
	o.Wait = min(o.Wait, maxDuration)
	return nil
}

var (
	// ErrReentry reports that the context already carries a lock of this key.
	// To wait for it would be a deadlock.
	ErrReentry = errors.New("lock: the context already holds the key")
	// ErrClosed reports that the client is closed.
	ErrClosed = errors.New("lock: client closed")
)

// errLate reports a lease that may have ended before its reply arrived.
var errLate = errors.New("the reply came after the end of the lease")

// Acquire takes the lock of key. It returns
//   - ErrLocked, wrapped, with the cause that ended the wait;
//   - ErrLost if ctx carries a lock of this key that has ended, or if a new
//     lease ended before the client had the reply and there is no wait;
//   - ErrReentry if ctx carries one that is held and o.Reentrant is not set;
//   - ErrInvalid if the key or an option cannot work, or ErrClosed;
//   - any other error if the outcome is unknown: the driver releases what it may
//     have got. Without a wait that is the error of the one request. Within a
//     wait the client requests the key again, until the wait ends; the error has
//     then both causes.
//
// The client serves its own waiters in the order of arrival. Between processes
// no order is promised.
func (c *Client) Acquire(ctx context.Context, key string, o Options) (*Lock, error) {
	if err := errors.Join(checkKey(key), o.check()); err != nil {
		return nil, err
	}
	carried := chainOf(ctx)
	if outer := carried.find(c, key); outer != nil {
		return outer.reenter(ctx, carried, o)
	}
	start := time.Now()
	g := &grant{client: c, key: key, options: o, references: 1}
	if err := g.obtain(ctx); err != nil {
		c.refused(o, err, time.Since(start))
		return nil, err
	}
	g.report(Event{Kind: EventAcquired, Wait: time.Since(start)})
	return &Lock{grant: g, parent: ctx, carried: carried}, nil
}

// Do runs fn while it holds the lock of key, which it takes as Acquire does.
// The context of fn carries the lock. It is cancelled, with ErrLost as its cause,
// before another holder can have the key, unless this process is stopped (fn calls
// l.Err before each write) or the wall clock by which the server ends leases steps
// forward: only a fence covers that. Do returns the error of fn, joined with ErrLost if the
// lock was lost or with the error of the release.
func (c *Client) Do(
	ctx context.Context, key string, o Options, fn func(ctx context.Context, l *Lock) error,
) (err error) {
	l, err := c.Acquire(ctx, key, o)
	if err != nil {
		return err
	}
	defer func() {
		if e := l.Release(ctx); e != nil {
			err = errors.Join(err, e)
		}
	}()
	return fn(l.Context(), l)
}

// Close ends the client's waits with ErrClosed, refuses every new Acquire, and
// releases the locks that are still held; their holders see ErrClosed. It
// returns when each of these releases has ended or its time is over, as those of
// a Drainer have, and does not wait for a Release or an Acquire that is under
// way. A second Close does nothing.
func (c *Client) Close() {
	c.close(ErrClosed)
	c.releaseAll()
	if d, ok := c.locker.(Drainer); ok {
		ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
		defer cancel()
		d.Drain(ctx)
	}
}

// releaseAll releases the locks that are held.
func (c *Client) releaseAll() {
	c.mu.Lock()
	held := slices.Collect(maps.Keys(c.held))
	c.mu.Unlock()
	var releases sync.WaitGroup
	for _, g := range held {
		releases.Go(func() {
			if g.end(ErrClosed) {
				_ = g.released(g.releaseLease(context.Background()))
			}
		})
	}
	releases.Wait()
}

// add adds a grant to those that Close releases, or returns ErrClosed.
func (c *Client) add(g *grant) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Err() != nil {
		return ErrClosed
	}
	c.held[g] = struct{}{}
	return nil
}

func (c *Client) remove(g *grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, g)
}

func (c *Client) refused(o Options, err error, wait time.Duration) {
	kind := EventUnknown
	if errors.Is(err, ErrLocked) {
		kind = EventRefused
	}
	c.observe(Event{Kind: kind, Class: o.Class, Wait: wait, Err: err})
}
