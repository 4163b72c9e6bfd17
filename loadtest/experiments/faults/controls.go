package faults

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/loadtest/holder"
	"example.com/flashsale/loadtest/rig"
)

// A setNX is a control, a lock that must fail: a zero beside another lock means nothing
// where it does not. It is SET NX PX, whose release deletes the key of whoever holds it, on
// a client that waits for a reply for longer than any lease. If extended, it extends the
// lease every third of it, and counts it from the reply, not from the request; otherwise
// nothing tells the holder that its lease is over.
type setNX struct {
	rdb      *redis.Client
	extended bool
}

func newSetNX(extended bool) setNX {
	options := &redis.Options{Addr: servers(redisAddrs)[0], ReadTimeout: time.Minute, MaxRetries: -1}
	return setNX{redis.NewClient(options), extended}
}

// acquire is a holder.Acquire.
func (s setNX) acquire(ctx context.Context, key string, lease, wait time.Duration) (holder.Held, error) {
	for end := time.Now().Add(wait); ; time.Sleep(50 * time.Millisecond) {
		err := s.rdb.SetArgs(ctx, key, 1, redis.SetArgs{Mode: "NX", TTL: lease}).Err()
		switch {
		case err == nil:
			held := &heldKey{setNX: s, key: key}
			held.ctx, held.release = context.WithCancel(ctx)
			held.granted(lease)
			go held.extend(lease)
			return held, nil
		case !errors.Is(err, redis.Nil):
			return nil, err
		case time.Now().After(end):
			return nil, lock.ErrLocked
		}
	}
}

type heldKey struct {
	setNX
	key     string
	until   atomic.Int64 // of the lease, by the holder's count
	ctx     context.Context
	release context.CancelFunc
}

func (h *heldKey) granted(lease time.Duration) { h.until.Store(time.Now().Add(lease).UnixNano()) }

func (h *heldKey) extend(lease time.Duration) {
	for h.extended && rig.Sleep(h.ctx, lease/3) {
		if ok, err := h.rdb.PExpire(context.WithoutCancel(h.ctx), h.key, lease).Result(); ok && err == nil {
			h.granted(lease)
		}
	}
}

// Err implements holder.Held.
func (h *heldKey) Err() error {
	if h.extended && time.Now().UnixNano() > h.until.Load() {
		return lock.ErrLost
	}
	return nil
}

func (h *heldKey) Fence() uint64         { return 0 }
func (h *heldKey) Done() <-chan struct{} { return nil }

// Release implements holder.Held.
func (h *heldKey) Release(ctx context.Context) error {
	h.release()
	return h.rdb.Del(ctx, h.key).Err()
}
