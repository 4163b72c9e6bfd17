package idgen

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }

// atClock makes w see the time in the Redis key "clock" instead of the
// server's own: the script stays as it is, its TIME is replaced.
func atClock(w *Worker) *Worker {
	const shim = `local server = redis
local redis = {call = function(name, ...)
  if name == 'TIME' then return {server.call('GET', 'clock'), '0'} end
  return server.call(name, ...)
end}
`
	w.script = redis.NewScript(shim + blockLua)
	return w
}

func setClock(t *testing.T, rdb redis.UniversalClient, at time.Time) {
	t.Helper()
	if err := rdb.Set(t.Context(), "clock", at.Unix(), 0).Err(); err != nil {
		t.Fatal(err)
	}
}

func mustNext(t *testing.T, w *Worker) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	id, err := w.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func mustParse(t *testing.T, id int64) Parts {
	t.Helper()
	parts, err := Parse(id)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// drop makes the worker forget its block, so that the next id asks Redis.
func drop(w *Worker) { w.block = block{} }

func TestAMillionIDsOfTwoInstancesHaveNoTwin(t *testing.T) {
	t.Parallel()
	const each, goroutines = 500_000, 8
	server := labtest.Redis(t)
	ids := make([][]int64, 2*goroutines)
	var wg sync.WaitGroup
	for instance := range 2 {
		w := New(labtest.Dial(t, server), "order")
		for g := range goroutines {
			mine := &ids[instance*goroutines+g]
			wg.Go(func() {
				for range each / goroutines {
					id, err := w.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					*mine = append(*mine, id)
				}
			})
		}
	}
	wg.Wait()
	seen := make(map[int64]bool, 2*each)
	for _, mine := range ids {
		for i, id := range mine {
			if seen[id] {
				t.Fatalf("id %d was given twice", id)
			}
			if i > 0 && id <= mine[i-1] {
				t.Fatalf("id %d came after %d in one goroutine", id, mine[i-1])
			}
			seen[id] = true
		}
	}
	if len(seen) != 2*each {
		t.Errorf("%d ids, want %d", len(seen), 2*each)
	}
}

func TestClockSteppingBackGivesNoIDTwice(t *testing.T) {
	t.Parallel()
	noon := time.Date(2027, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, back := range []time.Duration{time.Second, time.Hour, 13 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			t.Parallel()
			rdb := labtest.Dial(t, labtest.Redis(t))
			w := atClock(New(rdb, "order"))
			seen, last := map[int64]bool{}, int64(0)
			for _, at := range []time.Time{noon.Add(-back), noon, noon.Add(-back), noon} {
				setClock(t, rdb, at)
				drop(w)
				for range 50 {
					id := mustNext(t, w)
					if seen[id] {
						t.Fatalf("id %d (%+v) was given twice", id, mustParse(t, id))
					}
					if id < last && back < 12*time.Hour {
						t.Fatalf("id %d came after %d of the same day", id, last)
					}
					seen[id], last = true, id
				}
			}
		})
	}
}

// One instance goes on using a block of the lost counter while the other takes
// from the new one, in the same second.
func TestRedisEmptiedGivesNoIDTwice(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	old, renewed := atClock(New(rdb, "order")), atClock(New(rdb, "order"))
	noon := time.Date(2027, 5, 1, 12, 0, 0, 0, time.UTC)
	seen := map[int64]bool{}
	for second := range 20 {
		at := noon.Add(time.Duration(second) * time.Second)
		setClock(t, rdb, at)
		for range 200 {
			for _, w := range []*Worker{old, renewed} {
				id := mustNext(t, w)
				if seen[id] {
					t.Fatalf("id %d (%+v) was given twice", id, mustParse(t, id))
				}
				seen[id] = true
			}
		}
		if err := rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		setClock(t, rdb, at)
		drop(renewed)
	}
}

func TestDayRollsOver(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	w := atClock(New(rdb, "order"))
	midnight := time.Date(2027, 5, 2, 0, 0, 0, 0, time.UTC)
	setClock(t, rdb, midnight.Add(-time.Hour))
	for range 5 {
		mustNext(t, w)
		drop(w)
	}
	setClock(t, rdb, midnight.Add(-time.Second))
	before := mustParse(t, mustNext(t, w))
	if before.Sequence != 6 || !before.Time.Equal(midnight.Add(-time.Second)) {
		t.Errorf("last of the day = %+v", before)
	}
	drop(w)
	setClock(t, rdb, midnight)
	after := mustParse(t, mustNext(t, w))
	if after.Sequence != 1 || !after.Time.Equal(midnight.Add(time.Second)) {
		t.Errorf("first of the next day = %+v", after)
	}
	ttl, err := rdb.TTL(t.Context(), "icr:order:2027:05:01").Result()
	if err != nil || ttl < 47*time.Hour || ttl > keep {
		t.Errorf("yesterday's counter is kept for %v, %v; want two days", ttl, err)
	}
}

// A counter that begins in the last second of a day stamps the first second of
// the next one, and so must be the next one's.
func TestCounterThatBeginsAtMidnightIsTheNextDays(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	midnight := time.Date(2027, 5, 2, 0, 0, 0, 0, time.UTC)
	setClock(t, rdb, midnight.Add(-time.Second))
	w := atClock(New(rdb, "order"))
	first := mustParse(t, mustNext(t, w))
	if !first.Time.Equal(midnight) || first.Sequence != 1 {
		t.Errorf("first = %+v, want number 1 of %s", first, midnight)
	}
	setClock(t, rdb, midnight)
	drop(w)
	if second := mustParse(t, mustNext(t, w)); !second.Time.Equal(midnight) || second.Sequence != 2 {
		t.Errorf("second = %+v, want number 2 of %s", second, midnight)
	}
}

func TestInstanceClockDoesNotMatter(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	far := time.Date(2031, 1, 1, 6, 0, 0, 0, time.UTC) // Redis's time; this machine's is another
	setClock(t, rdb, far)
	if p := mustParse(t, mustNext(t, atClock(New(rdb, "order")))); !p.Time.Equal(far.Add(time.Second)) {
		t.Errorf("stamped %s, want %s", p.Time, far.Add(time.Second))
	}
}

func TestLimitsOfBothFields(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	w := atClock(New(rdb, "order"))
	now := time.Date(2027, 5, 1, 12, 0, 0, 0, time.UTC)
	setClock(t, rdb, now)
	if err := rdb.HSet(t.Context(), "icr:order:2027:05:01", "n", maxSequence-1, "s", now.Unix()).Err(); err != nil {
		t.Fatal(err)
	}
	if p := mustParse(t, mustNext(t, w)); p.Sequence != maxSequence || !p.Time.Equal(now) {
		t.Errorf("the day's last id = %+v", p)
	}
	for range 2 {
		if id, err := w.Next(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Errorf("after the day's last id: %d, %v, want ErrExhausted", id, err)
		}
	}
	setClock(t, rdb, Epoch.Add((maxSecond-1)*time.Second))
	if id := mustNext(t, w); id <= 0 || id>>sequenceBits != maxSecond {
		t.Errorf("id of the last second = %d", id)
	}
	drop(w)
	setClock(t, rdb, Epoch.Add((maxSecond+1)*time.Second))
	if id, err := w.Next(t.Context()); !errors.Is(err, ErrExhausted) {
		t.Errorf("after the last second: %d, %v, want ErrExhausted", id, err)
	}
}

func TestWithoutRedisThereIsNoID(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	w := New(labtest.Dial(t, server), "order")
	mustNext(t, w)
	server.Kill()
	drop(w)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if id, err := w.Next(ctx); err == nil {
		t.Errorf("got id %d from a dead Redis", id)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	mustNext(t, w)
}

func TestIdleWorkerLeavesNoGaps(t *testing.T) {
	t.Parallel()
	w := New(labtest.Dial(t, labtest.Redis(t)), "order")
	for n := int64(1); n < 10; n++ {
		if got := mustParse(t, mustNext(t, w)).Sequence; got != n {
			t.Errorf("number %d, want %d", got, n)
		}
		w.block.until = time.Time{} // as if more than a second passed
	}
}

func TestParseRefusesWhatIsNoID(t *testing.T) {
	t.Parallel()
	for _, id := range []int64{0, -1, -1 << 63, 7 << sequenceBits} {
		if _, err := Parse(id); !errors.Is(err, ErrInvalid) {
			t.Errorf("Parse(%d) = %v, want ErrInvalid", id, err)
		}
	}
}

func ExampleParse() {
	parts, _ := Parse(120347448945147905)
	fmt.Println(parts.Time.Format(time.RFC3339), parts.Sequence)
	// Output: 2026-11-21T07:29:34Z 1
}

func BenchmarkNext(b *testing.B) {
	server, err := labtest.Lab(b).Redis()
	if err != nil {
		b.Fatal(err)
	}
	w := New(labtest.Dial(b, server), "order")
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := w.Next(b.Context()); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
