package redisson

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

// TestWire runs the scenarios of testdata/wire.txt in Go. After each step it
// compares every key and every message with those of Redisson. The file says
// which differences are allowed.
func TestWire(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/wire.txt")
	check.NoError(t, err)
	want := make(map[string]string)
	for _, section := range strings.Split(string(text), "\n== ")[1:] {
		name, body, _ := strings.Cut(section, "\n")
		want[name] = strings.ReplaceAll(strings.TrimSpace(body), " only Go\n", "\n")
	}
	scenarios := map[string]func(*recorder){
		"lock": lockScenario, "fenced": fencedScenario, "fair": fairScenario, "read-write": readWriteScenario,
		"semaphore": semaphoreScenario, "permits": permitsScenario, "latch": latchScenario,
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(scenarios))); diff != "" {
		t.Fatalf("scenarios (-wire.txt +test):\n%s", diff)
	}
	for name, run := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorder(t)
			run(r)
			if diff := cmp.Diff(want[name], strings.TrimSpace(r.recorded.String())); diff != "" {
				t.Errorf("(-Redisson +Go):\n%s", diff)
			}
		})
	}
}

const (
	lockName = "myLock"
	ttl      = 30 * time.Second
)

func lockScenario(r *recorder) {
	a := r.tryLock("A locks", r.c.Lock())
	r.step("B is refused", r.refused(r.c.Lock()))
	r.step("A unlocks", a.Release)
}

func fencedScenario(r *recorder) {
	a := r.tryLock("A locks", r.c.FencedLock())
	r.step("B is refused", r.refused(r.c.FencedLock()))
	r.step("A unlocks", a.Release)
	r.tryLock("B locks", r.c.FencedLock())
}

func fairScenario(r *recorder) {
	f := r.c.FairLock()
	b, c := r.c.newOwner(), r.c.newOwner()
	waits := func(owner string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, _, err := f.try(ctx, lockName, owner, ttl, 1)
			return wantLocked(err)
		}
	}
	a := r.tryLock("A locks", f)
	r.step("B waits", waits(b))
	r.step("C waits", waits(c))
	r.step("B tries again", waits(b))
	r.step("A unlocks", a.Release)
	r.step("C tries again", waits(c))
	r.step("B stops waiting", func(ctx context.Context) error {
		_, err := (&lease{locker: f.locker, key: lockName, owner: b}).remove(ctx)
		return err
	})
	r.step("C locks", func(ctx context.Context) error {
		_, _, err := f.try(ctx, lockName, c, ttl, 1)
		return err
	})
}

func readWriteScenario(r *recorder) {
	read, write := r.c.ReadLock(), r.c.WriteLock()
	a := r.tryLock("A locks for reading", read)
	b := r.tryLock("B locks for reading", read)
	r.step("C is refused the write lock", r.refused(write))
	r.step("A unlocks", a.Release)
	r.step("B unlocks", b.Release)
	c := r.tryLock("C locks for writing", write)
	r.step("C downgrades", func(ctx context.Context) (err error) {
		c, err = write.Downgrade(ctx, c, ttl)
		return err
	})
	r.step("C unlocks", c.Release)
	d := r.tryLock("D locks for writing", write)
	r.step("D unlocks", d.Release)
}

func semaphoreScenario(r *recorder) {
	sem := r.c.Semaphore(lockName)
	r.step("trySetPermits(3)", func(ctx context.Context) error { return wantTrue(sem.TrySetPermits(ctx, 3)) })
	r.step("tryAcquire(2)", func(ctx context.Context) error { return sem.TryAcquire(ctx, 2) })
	r.step("tryAcquire(2) is refused", func(ctx context.Context) error { return wantLocked(sem.TryAcquire(ctx, 2)) })
	r.step("release(2)", func(ctx context.Context) error { return sem.Release(ctx, 2) })
	r.step("addPermits(-1)", func(ctx context.Context) error { return sem.AddPermits(ctx, -1) })
}

func permitsScenario(r *recorder) {
	p := r.c.PermitExpirableSemaphore()
	r.step("trySetPermits(1)", func(ctx context.Context) error { return p.SetPermits(ctx, lockName, 1) })
	a := r.tryLock("A acquires", p)
	r.step("B is refused", r.refused(p))
	check.NoError(r.t, a.Extend(r.t.Context(), time.Millisecond))
	time.Sleep(20 * time.Millisecond)
	b := r.tryLock("B acquires, as A's permit has expired", p)
	r.step("B releases", b.Release)
}

func latchScenario(r *recorder) {
	l := r.c.CountDownLatch(lockName)
	r.step("trySetCount(2)", func(ctx context.Context) error { return wantTrue(l.TrySetCount(ctx, 2)) })
	r.step("trySetCount again is refused", func(ctx context.Context) error {
		if wantTrue(l.TrySetCount(ctx, 2)) == nil {
			return errors.New("true, want false")
		}
		return nil
	})
	r.step("countDown", l.CountDown)
	r.step("countDown to zero", l.CountDown)
	r.step("countDown past zero", l.CountDown)
}

func wantTrue(result bool, err error) error {
	if err == nil && !result {
		return errors.New("false, want true")
	}
	return err
}

// wantLocked returns nil if err is lock.ErrLocked.
func wantLocked(err error) error {
	if errors.Is(err, lock.ErrLocked) {
		return nil
	}
	return fmt.Errorf("%w, want ErrLocked", err)
}

// A recorder runs the steps of one scenario on a Redis of its own and records
// the keys and messages after each.
type recorder struct {
	t        *testing.T
	c        *Client
	rdb      redis.UniversalClient
	pubsub   *redis.PubSub
	letters  map[string]string // by owner
	tokens   []string
	recorded strings.Builder
}

func newRecorder(t *testing.T) *recorder {
	rdb := labtest.Dial(t, labtest.Redis(t))
	r := &recorder{t: t, c: New(rdb), rdb: rdb, letters: make(map[string]string)}
	r.pubsub = rdb.PSubscribe(t.Context(), "*")
	t.Cleanup(func() { _ = r.pubsub.Close() })
	if _, err := r.pubsub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *recorder) tryLock(step string, l lock.Locker) (lease lock.Lease) {
	r.t.Helper()
	r.step(step, func(ctx context.Context) (err error) {
		lease, err = l.TryLock(ctx, lockName, ttl)
		return err
	})
	return lease
}

func (r *recorder) refused(l lock.Locker) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := l.TryLock(ctx, lockName, ttl)
		return wantLocked(err)
	}
}

func (r *recorder) step(step string, f func(context.Context) error) {
	r.t.Helper()
	if err := f(r.t.Context()); err != nil {
		r.t.Fatalf("%s: %v", step, err)
	}
	fmt.Fprintf(&r.recorded, "> %s\n", step)
	keys, err := r.rdb.Keys(r.t.Context(), "*").Result()
	check.NoError(r.t, err)
	var lines []string
	for _, key := range keys {
		lines = append(lines, r.replaceOwners(key+" "+r.state(key)))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(sortKey(a), sortKey(b)) })
	for _, line := range append(lines, r.messages()...) {
		fmt.Fprintln(&r.recorded, line)
	}
}

// sortKey makes the lock itself the first of its keys.
func sortKey(line string) string { return strings.TrimPrefix(line, lockName) }

var ownerPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}:[0-9]+`)

// replaceOwners replaces each owner by a letter: A is the first to appear.
func (r *recorder) replaceOwners(text string) string {
	return ownerPattern.ReplaceAllStringFunc(text, func(owner string) string {
		if r.letters[owner] == "" {
			r.letters[owner] = string(rune('A' + len(r.letters)))
		}
		return r.letters[owner]
	})
}

// state returns the type, the ttl and the value of key.
func (r *recorder) state(key string) string {
	ctx := r.t.Context()
	typ, pttl := r.rdb.Type(ctx, key).Val(), r.rdb.PTTL(ctx, key).Val()
	ttl := "none"
	if pttl > 0 {
		ttl = fmt.Sprint((pttl + 9*time.Second).Truncate(10 * time.Second))
	}
	return typ + " " + ttl + " " + r.value(key, typ)
}

func (r *recorder) value(key, typ string) string {
	ctx := r.t.Context()
	switch typ {
	case "hash":
		fields := r.rdb.HGetAll(ctx, key).Val()
		var pairs []string
		for field, value := range fields {
			pairs = append(pairs, r.replaceOwners(field+"="+value))
		}
		slices.Sort(pairs)
		return strings.Join(pairs, " ")
	case "list":
		return strings.Join(r.rdb.LRange(ctx, key, 0, -1).Val(), " ")
	case "zset":
		members := r.rdb.ZRange(ctx, key, 0, -1).Val()
		for i, member := range members {
			if !ownerPattern.MatchString(member) {
				members[i] = fmt.Sprintf("%d bytes", len(member))
			} else {
				members[i] = r.replaceOwners(member)
			}
		}
		slices.Sort(members) // the deadlines are not compared
		return strings.Join(members, " ")
	}
	value := r.rdb.Get(ctx, key).Val()
	if strings.HasPrefix(key, "redisson_lock_token") {
		return r.token(value)
	}
	return value
}

// token returns the rank of a fence among those seen before.
func (r *recorder) token(value string) string {
	if n := len(r.tokens); n == 0 || len(value) == len(r.tokens[n-1]) && value > r.tokens[n-1] {
		r.tokens = append(r.tokens, value)
	}
	return fmt.Sprintf("token %d", 1+slices.Index(r.tokens, value))
}

// messages returns the messages that were published since the last step.
func (r *recorder) messages() (lines []string) {
	check.NoError(r.t, r.rdb.Publish(r.t.Context(), "end of step", "").Err())
	for {
		m, err := r.pubsub.ReceiveMessage(r.t.Context())
		check.NoError(r.t, err)
		if m.Channel == "end of step" {
			return lines
		}
		lines = append(lines, r.replaceOwners("PUBLISH "+m.Channel+" "+m.Payload))
	}
}
