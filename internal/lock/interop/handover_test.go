package interop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
)

// Counters are the data that a lock guards while contenders of two languages hand it
// over. A holder reads them by one request and writes them by another, so that two holders at
// a time lose an update.
type counters struct {
	acquisitions, handovers int
	last                    string // the last contender, whose name begins with its language
	betweenLanguages        int
}

// none are the counters before the first acquisition.
var none = counters{last: "none"}

// parseCounters reads what String, or Java, has written.
func parseCounters(text string) (c counters, err error) {
	_, err = fmt.Sscan(text, &c.acquisitions, &c.handovers, &c.last, &c.betweenLanguages)
	return c, err
}

func (c counters) String() string {
	return fmt.Sprintf("%d %d %s %d", c.acquisitions, c.handovers, c.last, c.betweenLanguages)
}

// add counts an acquisition by a contender.
func (c counters) add(contender string) counters {
	c.acquisitions++
	if c.last != contender {
		c.handovers++
	}
	if c.last[0] != contender[0] {
		c.betweenLanguages++
	}
	c.last = contender
	return c
}

// A store has the counters that the lock of a name guards.
type store interface {
	read(ctx context.Context, name string) (counters, error)
	write(ctx context.Context, name string, c counters) error
}

const (
	minHandovers = 1600 // of each primitive
	contenders   = 2    // of each language
)

func (p primitive) minHandovers() int { return cmp.Or(p.handovers, minHandovers) }

// handover: Java threads and goroutines acquire the lock until it has been
// handed over often enough. Every acquisition must have been counted.
func (e env) handover(t *testing.T, p primitive) {
	name := e.name(t, p)
	check.NoError(t, e.data.write(t.Context(), name, none))
	var group sync.WaitGroup
	var acquisitions atomic.Int64
	for i := range contenders {
		th := e.thread(t)
		group.Go(func() {
			reply, err := th.call("contend", p.java, name, p.minHandovers(), fmt.Sprintf("java%d", i))
			n, err2 := strconv.Atoi(reply)
			if err != nil || err2 != nil {
				t.Errorf("Java: %s, %v", reply, err)
			}
			acquisitions.Add(int64(n))
		})
		acquire := p.acquireFunc(t, name)
		group.Go(func() {
			n, err := e.contend(t.Context(), acquire, name, fmt.Sprintf("go%d", i), p.minHandovers())
			if err != nil {
				t.Errorf("Go: %v", err)
			}
			acquisitions.Add(int64(n))
		})
	}
	if p.java == "write" {
		e.readDuringHandover(t, name)
	}
	group.Wait()
	c, err := e.data.read(t.Context(), name)
	check.NoError(t, err)
	t.Log("acquisitions, handovers, the last contender, handovers between languages:", c)
	if int64(c.acquisitions) != acquisitions.Load() || c.handovers < p.minHandovers() || c.betweenLanguages == 0 {
		t.Errorf("%d acquisitions, want %d handovers, and some between Java and Go", acquisitions.Load(), p.minHandovers())
	}
}

// contend acquires the lock until it has been handed over min times. It returns
// the number of its own acquisitions.
func (e env) contend(
	ctx context.Context, acquire acquireFunc, name, contender string, min int,
) (n int, err error) {
	for ; ; n++ {
		release, err := acquire(ctx, name, lock.Options{Wait: longTTL})
		if err != nil {
			return n, err
		}
		c, err := e.data.read(ctx, name)
		done := c.handovers >= min
		if err == nil && !done {
			err = e.data.write(ctx, name, c.add(contender))
		}
		if err = errors.Join(err, release()); err != nil || done {
			return n, err
		}
		time.Sleep(time.Millisecond) // gives the lock to another contender
	}
}
