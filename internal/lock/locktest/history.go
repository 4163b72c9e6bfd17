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

	"example.com/flashsale/internal/lock"
)

// What an operation of a history asks.
const (
	tryLock = iota
	release
	extend
	expire // the service's own, some time after a lease was left to die
)

type question struct {
	op    int
	lease int // which, by number
}

type answer struct {
	err   error
	fence uint64
}

// oneLock is a lock as a sequential machine: who holds it, and the last fence.
type oneLock struct {
	holder int // 0 is nobody
	fence  uint64
}

// step reports whether a lock in that state may give that answer.
func (s oneLock) step(q question, a answer) (bool, oneLock) {
	mine := s.holder == q.lease
	switch {
	case q.op == expire && mine:
		return true, oneLock{0, s.fence}
	case q.op == expire:
		return true, s
	case q.op == tryLock && a.err != nil:
		return s.holder != 0, s
	case q.op == tryLock:
		rises := a.fence == 0 || a.fence > s.fence
		return s.holder == 0 && rises, oneLock{q.lease, a.fence}
	case a.err != nil: // ErrLost
		return !mine, s
	case q.op == release:
		return mine, oneLock{0, s.fence}
	}
	return mine, s // an extension
}

var model = porcupine.Model{
	Init: func() any { return oneLock{} },
	Step: func(state, input, output any) (bool, any) {
		return state.(oneLock).step(input.(question), output.(answer))
	},
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%+v -> %+v", input, output)
	},
}

// A history is what several clients asked of one key, and what they heard.
type history struct {
	start  time.Time
	leases atomic.Int64

	mu  sync.Mutex
	ops []porcupine.Operation
}

func (h *history) now() int64 { return int64(time.Since(h.start)) }

func (h *history) add(client int, q question, a answer, call, ret int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: q, Output: a, Call: call, Return: ret})
}

// ask does an operation on a lease and writes it down.
func (h *history) ask(client, op, lease int, do func() error) error {
	call := h.now()
	err := do()
	h.add(client, question{op, lease}, answer{err: err}, call, h.now())
	return err
}

// histories has clients take, extend, release and abandon one lock at random,
// and looks for an order in which a lock could have answered so: one in which
// no two holds overlap, every refusal had a holder, every loss was one, and
// fences rise.
func (s suite) histories(t *testing.T) {
	t.Parallel()
	if !s.p.Exclusive {
		t.Skip("promises no exclusion")
	}
	const clients, each = 5, 60
	h := &history{start: time.Now()}
	k := key()
	var group sync.WaitGroup
	for client := range clients {
		l := s.open(t)
		group.Go(func() {
			for range each {
				s.turn(t, h, client, l, k)
				time.Sleep(rand.N(2 * time.Millisecond))
			}
		})
	}
	group.Wait()
	switch porcupine.CheckOperationsTimeout(model, h.ops, time.Minute) {
	case porcupine.Illegal:
		t.Errorf("no lock could have answered like this: %d operations", len(h.ops))
		h.print(t)
	case porcupine.Unknown:
		t.Errorf("undecided after a minute: %d operations", len(h.ops))
	}
}

// turn is one attempt and, if it got the lease, what becomes of that.
func (s suite) turn(t *testing.T, h *history, client int, l lock.Locker, k string) {
	number := int(h.leases.Add(1))
	ttl := long
	abandon := s.p.Expires && rand.N(12) == 0
	if abandon {
		ttl = max(20*time.Millisecond, s.p.Tick)
	}
	call := h.now()
	lease, err := l.TryLock(t.Context(), k, ttl)
	a := answer{err: err}
	if err == nil {
		a.fence = lease.Fence()
	} else if !errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock: %v", err)
		return
	}
	if err == nil || !s.p.Splits {
		h.add(client, question{tryLock, number}, a, call, h.now())
	}
	switch {
	case err != nil:
	case abandon:
		h.add(clientOfTime, question{expire, number}, answer{}, call+int64(ttl-min(s.p.Tick, ttl)), int64(time.Hour))
		if rand.N(2) == 0 {
			time.Sleep(rand.N(2 * ttl))
			_ = h.ask(client, release, number, func() error { return lease.Release(t.Context()) })
		}
	default:
		if rand.N(2) == 0 {
			_ = h.ask(client, extend, number, func() error { return lease.Extend(t.Context(), long) })
		}
		time.Sleep(rand.N(time.Millisecond))
		_ = h.ask(client, release, number, func() error { return lease.Release(t.Context()) })
		if rand.N(4) == 0 {
			_ = h.ask(client, release, number, func() error { return lease.Release(t.Context()) })
		}
	}
}

// clientOfTime is who lets leases expire.
const clientOfTime = 99

func (h *history) print(t *testing.T) {
	for _, op := range h.ops[:min(len(h.ops), 60)] {
		t.Logf("%2d %9d..%-9d %+v %+v", op.ClientId, op.Call/1000, op.Return/1000, op.Input, op.Output)
	}
}
