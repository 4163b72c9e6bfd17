package redisson_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
)

const (
	handovers   = 1600 // of each primitive, at least
	competitors = 2    // of each language
)

// protectee is what a lock protects: read by one command and written by two
// others, so that any overlap of two holders can lose or tear it.
type protectee struct {
	taken, handed, crossed int
	last                   string
}

func readProtectee(ctx context.Context, rdb redis.UniversalClient, name string) (p protectee, err error) {
	text, err := rdb.Get(ctx, name+":protected").Result()
	if err == nil {
		_, err = fmt.Sscan(text, &p.taken, &p.handed, &p.last, &p.crossed)
	}
	return p, err
}

func (p protectee) String() string {
	return fmt.Sprintf("%d %d %s %d", p.taken, p.handed, p.last, p.crossed)
}

// takenBy counts a taking; who begins with the language's letter.
func (p protectee) takenBy(who string) protectee {
	p.taken++
	if p.last != who {
		p.handed++
	}
	if p.last[0] != who[0] {
		p.crossed++
	}
	p.last = who
	return p
}

// compete lets threads of Java and goroutines of Go take the lock until it has
// been handed over often enough. Every taking must have been counted.
func (a arena) compete(t *testing.T, p primitive) {
	start := time.Now()
	name := a.name(t, p)
	noError(t, a.rdb.MSet(t.Context(), name+":protected", "0 0 nobody 0", name+":copy", "0 0 nobody 0").Err())
	var group sync.WaitGroup
	var takings atomic.Int64
	for i := range competitors {
		th := a.thread(t)
		group.Go(func() {
			answer, err := th.ask("compete", p.java, name, handovers, fmt.Sprintf("java%d", i))
			n, err2 := strconv.Atoi(answer)
			if err != nil || err2 != nil {
				t.Errorf("Java: %s, %v", answer, err)
			}
			takings.Add(int64(n))
		})
		take := p.taking(a.client(), name)
		group.Go(func() {
			n, err := a.goCompete(t.Context(), take, name, fmt.Sprintf("go%d", i))
			if err != nil {
				t.Errorf("Go: %v", err)
			}
			takings.Add(int64(n))
		})
	}
	reads := 0
	if p.java == "write" {
		reads = a.readMeanwhile(t, name)
	}
	group.Wait()
	end, err := readProtectee(t.Context(), a.rdb, name)
	noError(t, err)
	if int64(end.taken) != takings.Load() || end.handed < handovers {
		t.Errorf("%d takings, of which %d were counted, with %d hand-overs, want %d", takings.Load(), end.taken, end.handed, handovers)
	}
	a.out.mu.Lock()
	defer a.out.mu.Unlock()
	a.out.ByKind[p.java] = row{end.taken, end.handed, end.crossed, reads, time.Since(start).Seconds()}
}

func (a arena) goCompete(ctx context.Context, take taking, name, me string) (mine int, err error) {
	for ; ; mine++ {
		release, err := take(ctx, name, lock.Options{Wait: longTTL})
		if err != nil {
			return mine, err
		}
		is, err := readProtectee(ctx, a.rdb, name)
		done := is.handed >= handovers
		if err == nil && !done {
			next := is.takenBy(me).String()
			err = a.rdb.Set(ctx, name+":protected", next, 0).Err()
			if err == nil {
				err = a.rdb.Set(ctx, name+":copy", next, 0).Err()
			}
		}
		if failed := release(); err == nil {
			err = failed
		}
		if err != nil || done {
			return mine, err
		}
		time.Sleep(time.Millisecond) // lets another have it
	}
}

// readMeanwhile reads in both languages, under the read lock, what the writers
// keep equal, until they are done.
func (a arena) readMeanwhile(t *testing.T, name string) (reads int) {
	t.Helper()
	th, l := a.thread(t), lock.New(a.client().ReadLock())
	for {
		th.says(t, "ok", "read", "read", name)
		held, err := l.Acquire(t.Context(), name, lock.Options{Wait: longTTL})
		noError(t, err)
		is, err := readProtectee(t.Context(), a.rdb, name)
		noError(t, err)
		text, err := a.rdb.Get(t.Context(), name+":copy").Result()
		noError(t, err)
		noError(t, held.Release(t.Context()))
		if is.String() != text {
			t.Fatalf("torn: %s / %s", is, text)
		}
		if reads += 2; is.handed >= handovers {
			return reads
		}
		time.Sleep(5 * time.Millisecond)
	}
}
