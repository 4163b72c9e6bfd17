package locktest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
)

// The operations of a history.
const (
	tryLock = iota
	release
	extend
	expire // by the service, some time after the lease was abandoned
)

type request struct {
	op    int
	lease int // number of the lease
}

type reply struct {
	err   error
	fence uint64
}

// lockState is the state of a sequential lock.
type lockState struct {
	holder int // number of the lease, 0 if there is none
	fence  uint64
}

// step reports whether a lock in state s may give that reply, and returns the
// state that follows.
func (s lockState) step(q request, r reply) (bool, lockState) {
	held := s.holder == q.lease
	switch {
	case q.op == expire && held:
		return true, lockState{0, s.fence}
	case q.op == expire:
		return true, s
	case q.op == tryLock && r.err != nil:
		return s.holder != 0, s
	case q.op == tryLock:
		rises := r.fence == 0 || r.fence > s.fence
		return s.holder == 0 && rises, lockState{q.lease, r.fence}
	case r.err != nil: // ErrLost
		return !held, s
	case q.op == release:
		return held, lockState{0, s.fence}
	}
	return held, s // extend
}

var model = porcupine.Model{
	Init: func() any { return lockState{} },
	Step: func(state, input, output any) (bool, any) {
		return state.(lockState).step(input.(request), output.(reply))
	},
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%+v -> %+v", input, output)
	},
}

// A history is the requests of several clients for one key, with the replies.
type history struct {
	start  time.Time
	leases atomic.Int64

	mu      sync.Mutex
	ops     []porcupine.Operation
	unknown error // of a TryLock whose outcome is unknown: a busy server has not replied in time
}

func (h *history) now() int64 { return int64(time.Since(h.start)) }

func (h *history) add(client int, q request, r reply, call, ret int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: q, Output: r, Call: call, Return: ret})
}

// record runs an operation on a lease and adds it to the history.
func (h *history) record(client, op, lease int, do func() error) {
	call := h.now()
	err := do()
	h.add(client, request{op, lease}, reply{err: err}, call, h.now())
}

// historyIsLinearizable lets clients acquire, extend, release and abandon one
// lock at random. It checks that there is an order of the operations in which
// at most one lease holds the key at a time, ErrLocked and ErrLost are true, and
// fences rise.
func (s suite) historyIsLinearizable(t *testing.T) {
	if !s.promises.Exclusive {
		t.Skip("the driver promises no exclusion")
	}
	const attempts = 10 // on a busy machine
	var unknown error
	for range attempts {
		h := s.record(t)
		if unknown = h.unknown; unknown == nil {
			h.check(t)
			return
		}
	}
	t.Errorf("each of %d histories has a TryLock without an outcome, the last one %v", attempts, unknown)
}

// record returns the history of several clients.
func (s suite) record(t *testing.T) *history {
	const clients, perClient = 5, 60
	h := &history{start: time.Now()}
	key := newKey()
	lockers := s.openEach(t, clients)
	check.AtOnce(clients, func(client int) {
		for range perClient {
			s.useLock(t, h, client, lockers[client], key)
			time.Sleep(rand.N(2 * time.Millisecond))
		}
	})
	return h
}

func (h *history) check(t *testing.T) {
	switch porcupine.CheckOperationsTimeout(model, h.ops, time.Minute) {
	case porcupine.Illegal:
		t.Errorf("the history of %d operations is not linearizable", len(h.ops))
		h.print(t)
	case porcupine.Unknown:
		t.Errorf("the history of %d operations could not be checked within a minute", len(h.ops))
	}
}

// useLock calls TryLock once. It then extends, releases or abandons the lease.
func (s suite) useLock(t *testing.T, h *history, client int, l lock.Locker, key string) {
	number := int(h.leases.Add(1))
	ttl := longTTL
	abandon := s.promises.Expires && rand.N(12) == 0
	if abandon {
		ttl = max(50*time.Millisecond, s.promises.Tick) // longer than TryLock takes on a busy machine
	}
	call := h.now()
	lease, err := l.TryLock(t.Context(), key, ttl)
	r := reply{err: err}
	switch {
	case err == nil:
		r.fence = lease.Fence()
	case errors.Is(err, lock.ErrLocked):
	default:
		h.mu.Lock()
		defer h.mu.Unlock()
		h.unknown = err
		return
	}
	if err == nil || !s.promises.SpuriousRefusals {
		h.add(client, request{tryLock, number}, r, call, h.now())
	}
	switch {
	case err != nil:
	case abandon:
		h.add(serviceClient, request{expire, number}, reply{}, call+int64(ttl-min(s.promises.Tick, ttl)),
			int64(time.Hour))
		if rand.N(2) == 0 {
			time.Sleep(rand.N(2 * ttl))
			h.record(client, release, number, func() error { return lease.Release(t.Context()) })
		}
	default:
		if rand.N(2) == 0 {
			h.record(client, extend, number, func() error { return lease.Extend(t.Context(), longTTL) })
		}
		time.Sleep(rand.N(time.Millisecond))
		h.record(client, release, number, func() error { return lease.Release(t.Context()) })
		if rand.N(4) == 0 {
			h.record(client, release, number, func() error { return lease.Release(t.Context()) })
		}
	}
}

// serviceClient is the client number of the operations of the service itself.
const serviceClient = 99

func (h *history) print(t *testing.T) {
	for _, op := range h.ops[:min(len(h.ops), 60)] {
		t.Logf("%2d %9d..%-9d %+v %+v", op.ClientId, op.Call/1000, op.Return/1000, op.Input, op.Output)
	}
}
