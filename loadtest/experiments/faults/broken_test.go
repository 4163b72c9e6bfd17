package faults

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/loadtest/holder"
)

// broken are locks of ours with one promise broken each. TestMain adds them to holders.
var broken = map[string]func(context.Context) (holder.Lock, error){
	"not-extended": func(ctx context.Context) (holder.Lock, error) {
		l, err := openLocker(ctx, "redis-each")
		return holder.FromClient(lock.New(notExtended{l})), err
	},
	"told-late": func(ctx context.Context) (holder.Lock, error) {
		l, err := openDriver(ctx, "redis-each")
		return toldLate{l}, err
	},
	"released-without-owner": func(ctx context.Context) (holder.Lock, error) {
		l, err := openDriver(ctx, "redis-each")
		return releasedWithoutOwner{l, redis.NewClient(&redis.Options{Addr: servers("REDIS_ADDRS")[0]})}, err
	},
}

// Each cell must fail the command: in a table that has no cell for a mistake, a clean row
// says nothing.
func TestBrokenLockOfOursFailsTheCommand(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{
		"not-extended":           "reply of extend lost",
		"told-late":              "partition, long",
		"released-without-owner": "partition, long",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := own(name, name, oneRedis, false, "")
			cell := tryColumn(t, c, fault)
			if failed := (&experiment{cells: []Cell{cell}}).failures(); len(failed) == 0 {
				t.Errorf("%+v", cell.Trials)
			}
		})
	}
}

// notExtended says that it has extended a lease, and has not.
type notExtended struct{ lock.Locker }

func (n notExtended) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	l, err := n.Locker.TryLock(ctx, key, ttl)
	if err != nil {
		return nil, err
	}
	return notExtendedLease{l}, nil
}

type notExtendedLease struct{ lock.Lease }

func (notExtendedLease) Extend(context.Context, time.Duration) error { return nil }

// toldLate tells of a loss a whole lease late: on a busy machine the next holder itself may
// enter more than a second after the loss.
type toldLate struct{ holder.Lock }

func (l toldLate) Acquire(ctx context.Context, key string, lease, wait time.Duration) (holder.Held, error) {
	h, err := l.Lock.Acquire(ctx, key, lease, wait)
	if err != nil {
		return nil, err
	}
	return &toldLateHeld{Held: h}, nil
}

type toldLateHeld struct {
	holder.Held
	lost time.Time
}

func (h *toldLateHeld) Done() <-chan struct{} { return nil }

func (h *toldLateHeld) Err() error {
	err := h.Held.Err()
	if errors.Is(err, lock.ErrLost) && h.lost.IsZero() {
		h.lost = time.Now()
	}
	if time.Since(h.lost) < leaseTime {
		return nil
	}
	return err
}

// releasedWithoutOwner deletes the key at its release, whoever holds it.
type releasedWithoutOwner struct {
	holder.Lock
	rdb redis.UniversalClient
}

func (l releasedWithoutOwner) Acquire(
	ctx context.Context, key string, lease, wait time.Duration,
) (holder.Held, error) {
	h, err := l.Lock.Acquire(ctx, key, lease, wait)
	if err != nil {
		return nil, err
	}
	return releasedWithoutOwnerHeld{h, l.rdb, key}, nil
}

type releasedWithoutOwnerHeld struct {
	holder.Held
	rdb redis.UniversalClient
	key string
}

func (h releasedWithoutOwnerHeld) Release(ctx context.Context) error {
	return errors.Join(h.Held.Release(ctx), h.rdb.Del(ctx, h.key).Err())
}
