// Package memcachelock is a lock on memcached. Use it for efficiency only, to
// avoid work that may be done twice: it does not protect what must not happen
// twice. A full memcached evicts keys and a restarted one has none; both free
// the lock while its holder still works. There is no fence, because memcached
// would lose that too.
package memcachelock

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

// A Locker stores each lock under its own key, without a prefix.
type Locker struct {
	mc        *memcache.Client
	abandoned driver.Abandoned
}

// Servers returns the servers of the addresses, host:port or a path, for a client. Each
// key is at one of them, chosen by its place in the list. So that clients agree, the
// order of the addresses does not matter, nor do one that is repeated and capitals in a
// host. All clients must have the same servers, and write each as the others do: one
// more, or a name here and its number there, gives a key two holders.
//
// A name is looked up each time that the client connects: a server that is recreated may
// have another address.
func Servers(addresses ...string) memcache.ServerSelector {
	var s servers
	for _, address := range addresses {
		if strings.Contains(address, "/") {
			s = append(s, server{"unix", address})
		} else {
			s = append(s, server{"tcp", strings.ToLower(address)})
		}
	}
	slices.SortFunc(s, func(a, b server) int { return cmp.Compare(a.address, b.address) })
	return slices.Compact(s)
}

type servers []server

// A server is a net.Addr whose name the client's dialer looks up.
type server struct{ network, address string }

func (s server) Network() string { return s.network }
func (s server) String() string  { return s.address }

// PickServer implements memcache.ServerSelector.
func (s servers) PickServer(key string) (net.Addr, error) {
	return s[crc32.ChecksumIEEE([]byte(key))%uint32(len(s))], nil
}

// Each implements memcache.ServerSelector.
func (s servers) Each(f func(net.Addr) error) error {
	for _, server := range s {
		if err := f(server); err != nil {
			return err
		}
	}
	return nil
}

// New returns a locker that uses mc. The Timeout of mc bounds every request.
// The end of a context does not interrupt a request; it only prevents the next.
func New(mc *memcache.Client) *Locker { return &Locker{mc: mc} }

// Drain implements lock.Drainer.
func (l *Locker) Drain(ctx context.Context) { l.abandoned.Drain(ctx) }

// TryLock implements lock.Locker.
func (l *Locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	seconds, err := expiration(ttl)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	held := &lease{locker: l, key: key, token: rand.Text()}
	start := time.Now()
	err = l.mc.Add(&memcache.Item{Key: key, Value: []byte(held.token), Expiration: seconds})
	switch {
	case err == nil:
		return held, nil
	case errors.Is(err, memcache.ErrNotStored):
		return nil, lock.ErrLocked
	}
	l.abandoned.Release(ctx, start, held.remove)
	return nil, fmt.Errorf("memcachelock: acquire %s: %w", key, err)
}

// Ping returns an error unless all servers reply. The Timeout of the client
// bounds it, not ctx.
func (l *Locker) Ping(context.Context) error { return l.mc.Ping() }

// A lease is one token stored under one key.
type lease struct {
	locker *Locker
	key    string
	token  string
}

// Fence implements lock.Lease. It returns 0: the lease has no fence.
func (l *lease) Fence() uint64 { return 0 }

// Extend implements lock.Lease.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	seconds, err := expiration(ttl)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	if err := l.expire(seconds); err != nil {
		return fmt.Errorf("memcachelock: extend %s: %w", l.key, err)
	}
	return nil
}

// Release implements lock.Lease. If its outcome is unknown, it is repeated in the background.
func (l *lease) Release(ctx context.Context) error {
	start, err := time.Now(), ctx.Err()
	if err == nil {
		err = l.expire(inThePast)
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, lock.ErrLost) {
		l.locker.abandoned.Release(ctx, start, l.remove)
	}
	return fmt.Errorf("memcachelock: release %s: %w", l.key, err)
}

// remove deletes the key if it has the lease's token.
func (l *lease) remove(context.Context) error {
	if err := l.expire(inThePast); !errors.Is(err, lock.ErrLost) {
		return err
	}
	return nil
}

// inThePast is an expiration that deletes the key.
const inThePast = -1

// maxSwaps bounds how often a lease's own simultaneous Extend and Release may
// get into each other's way.
const maxSwaps = 10

// expire sets the key's expiration if the key still has the lease's token, and
// returns ErrLost if not. The classic protocol has no conditional delete or
// touch. It has compare-and-swap, which stores a value only if nothing has been
// stored since it was read: after a conflict the key is read again.
func (l *lease) expire(expiration int32) error {
	var err error
	for range maxSwaps {
		err = l.swap(expiration)
		if !errors.Is(err, memcache.ErrCASConflict) {
			break
		}
	}
	if errors.Is(err, memcache.ErrCacheMiss) || errors.Is(err, memcache.ErrNotStored) {
		return lock.ErrLost
	}
	return err
}

func (l *lease) swap(expiration int32) error {
	item, err := l.locker.mc.Get(l.key)
	if err != nil {
		return err
	}
	if string(item.Value) != l.token {
		return lock.ErrLost
	}
	item.Expiration = expiration
	return l.locker.mc.CompareAndSwap(item)
}

// expiration returns ttl in whole seconds plus one second, because memcached's
// clock ticks once a second and the first tick may follow immediately.
func expiration(ttl time.Duration) (int32, error) {
	const maxTTL = 30 * 24 * time.Hour // memcached reads a longer one as a date
	if ttl > maxTTL-time.Second {
		return 0, fmt.Errorf("%w: ttl of %s, memcached keeps less than %s", lock.ErrInvalid, ttl, maxTTL)
	}
	return int32(driver.Units(ttl, time.Second)) + 1, nil
}
