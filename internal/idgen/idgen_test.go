package idgen

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.RedisServer) }

// start is before the first number of a counter that begins with a second.
const start = 1 << 31

// withClock makes w's script read the time from the Redis key "clock". It
// replaces TIME and leaves the rest of the script unchanged.
func withClock(w *Worker) *Worker {
	const shim = `local server = redis
local redis = {call = function(name, ...)
  if name == 'TIME' then return {server.call('GET', 'clock'), '0'} end
  return server.call(name, ...)
end}
`
	w.script = redis.NewScript(shim + blockLua)
	return w
}

// clocked returns a worker with a Redis of its own, whose clock is set to now.
func clocked(t *testing.T, now time.Time) (*Worker, redis.UniversalClient) {
	t.Helper()
	rdb := labtest.Dial(t, labtest.Redis(t))
	setClock(t, rdb, now)
	return withClock(New(rdb, "order")), rdb
}

func setClock(t *testing.T, rdb redis.UniversalClient, now time.Time) {
	t.Helper()
	check.NoError(t, rdb.Set(t.Context(), "clock", now.Unix(), 0).Err())
}

func mustNext(t *testing.T, w *Worker) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	id, err := w.Next(ctx)
	check.NoError(t, err)
	return id
}

func mustParse(t *testing.T, id int64) Parts {
	t.Helper()
	parts, err := Parse(id)
	check.NoError(t, err)
	return parts
}

// A set of ids, of which none may be given twice.
type set map[int64]bool

func (s set) add(t *testing.T, id int64) {
	t.Helper()
	if s[id] {
		t.Fatalf("id %d (%+v) was given twice, after %d ids", id, mustParse(t, id), len(s))
	}
	s[id] = true
}

// dropBlock makes w reserve a new block for its next id.
func dropBlock(w *Worker) { w.block = block{} }

func TestAMillionIDsOfTwoInstancesAreUnique(t *testing.T) {
	t.Parallel()
	const perInstance, goroutines = 500_000, 8
	server := labtest.Redis(t)
	results := make([][]int64, 2*goroutines)
	var wg sync.WaitGroup
	for instance := range 2 {
		w := New(labtest.Dial(t, server), "order")
		for g := range goroutines {
			ids := &results[instance*goroutines+g]
			wg.Go(func() {
				for range perInstance / goroutines {
					id, err := w.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					*ids = append(*ids, id)
				}
			})
		}
	}
	wg.Wait()
	seen := set{}
	for _, ids := range results {
		for i, id := range ids {
			if i > 0 && id <= ids[i-1] {
				t.Fatalf("id %d came after %d in one goroutine", id, ids[i-1])
			}
			seen.add(t, id)
		}
	}
	if len(seen) != 2*perInstance {
		t.Errorf("%d ids, want %d", len(seen), 2*perInstance)
	}
}

func TestClockSteppingBackGivesNoIDTwice(t *testing.T) {
	t.Parallel()
	noon := time.Date(2027, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, back := range []time.Duration{time.Second, time.Hour, 13 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			t.Parallel()
			w, rdb := clocked(t, noon)
			seen, last := set{}, int64(0)
			for _, now := range []time.Time{noon.Add(-back), noon, noon.Add(-back), noon} {
				setClock(t, rdb, now)
				dropBlock(w)
				for range 50 {
					id := mustNext(t, w)
					if id < last && back < 12*time.Hour {
						t.Fatalf("id %d came after %d of the same day", id, last)
					}
					seen.add(t, id)
					last = id
				}
			}
		})
	}
}

// One instance continues to use a block of the lost counter while the other
// reserves blocks of the new one, in the same second.
func TestLossOfRedisDataGivesNoIDTwice(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	old, renewed := withClock(New(rdb, "order")), withClock(New(rdb, "order"))
	noon := time.Date(2027, 5, 1, 12, 0, 0, 0, time.UTC)
	seen := set{}
	for second := range 20 {
		now := noon.Add(time.Duration(second) * time.Second)
		setClock(t, rdb, now)
		for range 200 {
			for _, w := range []*Worker{old, renewed} {
				seen.add(t, mustNext(t, w))
			}
		}
		check.NoError(t, rdb.FlushAll(t.Context()).Err())
		setClock(t, rdb, now)
		dropBlock(renewed)
	}
}

// Redis loses or evicts the counter between the blocks of two instances, many times
// in a second.
func TestEvictionsOfTheCounterGiveNoIDTwice(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	workers := []*Worker{New(rdb, "order"), New(rdb, "order")}
	seen := set{}
	for n := range 3000 {
		seen.add(t, mustNext(t, workers[n%2]))
		if n%3 == 0 {
			check.NoError(t, rdb.FlushAll(t.Context()).Err())
			dropBlock(workers[0])
			dropBlock(workers[1])
		}
	}
}

// The counter of an older version, in a key of its own, began at 1.
func TestOlderVersionGivesOtherIDs(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	for _, day := range []time.Time{time.Now(), time.Now().Add(day)} {
		key := "old:" + day.UTC().Format("2006:01:02")
		check.NoError(t, rdb.HSet(t.Context(), key, "n", 0, "s", time.Now().Unix()+1).Err())
	}
	seen, old, renewed := set{}, New(rdb, "old"), New(rdb, "order")
	for range 20_000 {
		for _, w := range []*Worker{old, renewed} {
			seen.add(t, mustNext(t, w))
		}
	}
}

func TestNumbersRestartEachDay(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2027, 5, 2, 0, 0, 0, 0, time.UTC)
	w, rdb := clocked(t, midnight.Add(-time.Hour))
	for range 5 {
		mustNext(t, w)
		dropBlock(w)
	}
	setClock(t, rdb, midnight.Add(-time.Second))
	before := mustParse(t, mustNext(t, w))
	if before.Sequence != start+6 || !before.Time.Equal(midnight.Add(-time.Second)) {
		t.Errorf("last id of the day: %+v", before)
	}
	dropBlock(w)
	setClock(t, rdb, midnight)
	after := mustParse(t, mustNext(t, w))
	if after.Sequence != start+1 || !after.Time.Equal(midnight.Add(time.Second)) {
		t.Errorf("first id of the next day: %+v", after)
	}
	ttl, err := rdb.TTL(t.Context(), "order:2027:05:01").Result()
	if err != nil || ttl < 47*time.Hour || ttl > counterTTL {
		t.Errorf("TTL of yesterday's counter: %v, %v; want two days", ttl, err)
	}
}

// A new counter starts with the next second. In the last second of a day that
// is a second of the next day, whose counter must be used.
func TestNewCounterBeforeMidnightBelongsToTheNextDay(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2027, 5, 2, 0, 0, 0, 0, time.UTC)
	w, rdb := clocked(t, midnight.Add(-time.Second))
	first := mustParse(t, mustNext(t, w))
	if !first.Time.Equal(midnight) || first.Sequence != start+1 {
		t.Errorf("first id: %+v, want number 2^31+1 of %s", first, midnight)
	}
	setClock(t, rdb, midnight)
	dropBlock(w)
	if second := mustParse(t, mustNext(t, w)); !second.Time.Equal(midnight) || second.Sequence != start+2 {
		t.Errorf("second id: %+v, want number 2^31+2 of %s", second, midnight)
	}
}

func TestCounterThatIsUsedUpBeginsAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 5, 1, 12, 0, 0, 0, time.UTC)
	w, rdb := clocked(t, now)
	check.NoError(t, rdb.HSet(t.Context(), "order:2027:05:01", "n", maxSequence-1, "s", now.Unix()).Err())
	if p := mustParse(t, mustNext(t, w)); p.Sequence != maxSequence || !p.Time.Equal(now) {
		t.Errorf("the counter's last id: %+v", p)
	}
	check.NoError(t, w.Check(t.Context()))
	for n := range int64(10) {
		if p := mustParse(t, mustNext(t, w)); p.Sequence != start+1+n || !p.Time.Equal(now.Add(time.Second)) {
			t.Errorf("after the counter's last id: %+v", p)
		}
	}
}

func TestSecondThatNoIDCanHaveIsExhausted(t *testing.T) {
	t.Parallel()
	w, rdb := clocked(t, Epoch)
	setClock(t, rdb, Epoch.Add((maxSecond-1)*time.Second))
	if id := mustNext(t, w); id <= 0 || id>>sequenceBits != maxSecond {
		t.Errorf("id of the last second: %d", id)
	}
	dropBlock(w)
	for _, wrong := range []time.Time{Epoch.Add((maxSecond + 1) * time.Second), Epoch.Add(-time.Hour)} {
		setClock(t, rdb, wrong)
		if id, err := w.Next(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Errorf("at %s: %d, %v, want ErrExhausted", wrong, id, err)
		}
		err := w.Check(t.Context())
		check.ErrorIs(t, err, ErrExhausted)
		setClock(t, rdb, wrong.Add(time.Second))
		if next := w.Check(t.Context()); next == nil || next.Error() != err.Error() {
			t.Errorf("a second later %v instead of %v: each is logged", next, err)
		}
	}
}

func TestNextFailsWithoutRedis(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	w := New(labtest.Dial(t, server), "order")
	mustNext(t, w)
	server.Kill()
	dropBlock(w)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if id, err := w.Next(ctx); err == nil {
		t.Errorf("got id %d from a dead Redis", id)
	}
	check.NoError(t, server.Restart())
	mustNext(t, w)
}

func TestIdleWorkerLeavesNoGaps(t *testing.T) {
	t.Parallel()
	w := New(labtest.Dial(t, labtest.Redis(t)), "order")
	first := mustParse(t, mustNext(t, w)).Sequence
	w.block.expiresAt = time.Time{}
	for n := first + 1; n < first+10; n++ {
		if got := mustParse(t, mustNext(t, w)).Sequence; got != n {
			t.Errorf("number %d, want %d", got, n)
		}
		w.block.expiresAt = time.Time{} // as after a second
	}
}

// A worker that was busy reserves a thousand numbers at most, and few once it is
// idle: what a stop leaves unused is lost.
func TestBlocksFollowTheDemand(t *testing.T) {
	t.Parallel()
	w := New(labtest.Dial(t, labtest.Redis(t)), "order")
	for range 5 * maxBlock {
		mustNext(t, w)
		w.block.expiresAt = time.Now().Add(time.Hour) // however slow the machine is
	}
	if w.block.size != maxBlock {
		t.Errorf("a busy worker reserves %d numbers, want %d", w.block.size, maxBlock)
	}
	for range 2 {
		w.block.expiresAt = time.Time{}
		w.block.next = w.block.end - w.block.size + 1 // one is used
		mustNext(t, w)
	}
	if w.block.size != 1 {
		t.Errorf("a worker that has used one number of a block reserves %d, want 1", w.block.size)
	}
}

// The second of an id is at most a second old, also on a worker with numbers left.
func TestExpiredBlockGivesNoID(t *testing.T) {
	t.Parallel()
	start := Epoch.Add(100 * day)
	w, rdb := clocked(t, start)
	for w.block.end-w.block.next == 0 { // until the worker has reserved more than it has used
		mustNext(t, w)
	}
	setClock(t, rdb, start.Add(time.Hour))
	w.block.expiresAt = time.Now().Add(-1)
	if got := mustParse(t, mustNext(t, w)).Time; !got.Equal(start.Add(time.Hour)) {
		t.Errorf("an id of an expired block has the second %s, want %s", got, start.Add(time.Hour))
	}
}
