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

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

// TestWire lets Go live Redisson's stories and compares, step by step, every
// key and every message with what Redisson left: see testdata/wire.txt, also
// for what differs and is left out.
func TestWire(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/wire.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	for _, section := range strings.Split(string(text), "\n== ")[1:] {
		name, body, _ := strings.Cut(section, "\n")
		want[name] = strings.ReplaceAll(strings.TrimSpace(body), " only Go\n", "\n")
	}
	stories := map[string]func(*stage){
		"lock": lockStory, "fenced": fencedStory, "fair": fairStory, "read-write": rwStory,
		"semaphore": semaphoreStory, "permits": permitsStory, "latch": latchStory,
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(stories))); diff != "" {
		t.Fatalf("stories (-told +lived):\n%s", diff)
	}
	for name, live := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			live(s)
			if diff := cmp.Diff(want[name], strings.TrimSpace(s.told.String())); diff != "" {
				t.Errorf("(-Redisson +Go):\n%s", diff)
			}
		})
	}
}

const (
	subject = "myLock"
	ttl     = 30 * time.Second
)

func lockStory(s *stage) {
	a := s.takes("A locks", s.c.Lock())
	s.step("B is refused", s.refused(s.c.Lock()))
	s.step("A unlocks", a.Release)
}

func fencedStory(s *stage) {
	a := s.takes("A locks", s.c.FencedLock())
	s.step("B is refused", s.refused(s.c.FencedLock()))
	s.step("A unlocks", a.Release)
	s.takes("B locks", s.c.FencedLock())
}

func fairStory(s *stage) {
	f := s.c.FairLock()
	b, c := s.c.newOwner(), s.c.newOwner()
	waits := func(owner string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, _, err := f.try(ctx, subject, owner, ttl, 1)
			return held(err)
		}
	}
	a := s.takes("A locks", f)
	s.step("B waits", waits(b))
	s.step("C waits", waits(c))
	s.step("B tries again", waits(b))
	s.step("A unlocks", a.Release)
	s.step("C tries again", waits(c))
	s.step("B gives up", func(ctx context.Context) error {
		_, err := (&lease{locker: f.locker, key: subject, owner: b}).drop(ctx)
		return err
	})
	s.step("C locks", func(ctx context.Context) error {
		_, _, err := f.try(ctx, subject, c, ttl, 1)
		return err
	})
}

func rwStory(s *stage) {
	read, write := s.c.ReadLock(), s.c.WriteLock()
	a := s.takes("A reads", read)
	b := s.takes("B reads", read)
	s.step("C is refused to write", s.refused(write))
	s.step("A has read", a.Release)
	s.step("B has read", b.Release)
	c := s.takes("C writes", write)
	s.step("C downgrades", func(ctx context.Context) (err error) {
		c, err = write.Downgrade(ctx, c, ttl)
		return err
	})
	s.step("C has read", c.Release)
	d := s.takes("D writes", write)
	s.step("D has written", d.Release)
}

func semaphoreStory(s *stage) {
	sem := s.c.Semaphore(subject)
	s.step("trySetPermits(3)", func(ctx context.Context) error { return first(sem.TrySetPermits(ctx, 3)) })
	s.step("tryAcquire(2)", func(ctx context.Context) error { return sem.TryAcquire(ctx, 2) })
	s.step("tryAcquire(2) is refused", func(ctx context.Context) error { return held(sem.TryAcquire(ctx, 2)) })
	s.step("release(2)", func(ctx context.Context) error { return sem.Release(ctx, 2) })
	s.step("addPermits(-1)", func(ctx context.Context) error { return sem.AddPermits(ctx, -1) })
}

func permitsStory(s *stage) {
	p := s.c.PermitExpirableSemaphore()
	s.step("trySetPermits(1)", func(ctx context.Context) error { return p.SetPermits(ctx, subject, 1) })
	a := s.takes("A takes it", p)
	s.step("B is refused", s.refused(p))
	if err := a.Extend(s.t.Context(), time.Millisecond); err != nil {
		s.t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	b := s.takes("B takes it, as A's time is up", p)
	s.step("B gives it back", b.Release)
}

func latchStory(s *stage) {
	l := s.c.CountDownLatch(subject)
	s.step("trySetCount(2)", func(ctx context.Context) error { return first(l.TrySetCount(ctx, 2)) })
	s.step("trySetCount again is refused", func(ctx context.Context) error {
		if first(l.TrySetCount(ctx, 2)) == nil {
			return errors.New("it was set")
		}
		return nil
	})
	s.step("countDown", l.CountDown)
	s.step("countDown to zero", l.CountDown)
	s.step("countDown past zero", l.CountDown)
}

func first(done bool, err error) error {
	if err == nil && !done {
		return errors.New("it was not the first")
	}
	return err
}

// held turns the expected refusal into success.
func held(err error) error {
	if errors.Is(err, lock.ErrLocked) {
		return nil
	}
	return fmt.Errorf("%w, want ErrLocked", err)
}

// A stage is an empty Redis on which one story is lived and told.
type stage struct {
	t      *testing.T
	c      *Client
	rdb    redis.UniversalClient
	heard  *redis.PubSub
	owners map[string]string // as they are called in the story
	tokens []string
	told   strings.Builder
}

func newStage(t *testing.T) *stage {
	rdb := labtest.Dial(t, labtest.Redis(t))
	s := &stage{t: t, c: New(rdb, Auto), rdb: rdb, owners: make(map[string]string)}
	s.heard = rdb.PSubscribe(t.Context(), "*")
	t.Cleanup(func() { _ = s.heard.Close() })
	if _, err := s.heard.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) takes(what string, l lock.Locker) (lease lock.Lease) {
	s.t.Helper()
	s.step(what, func(ctx context.Context) (err error) {
		lease, err = l.TryLock(ctx, subject, ttl)
		return err
	})
	return lease
}

func (s *stage) refused(l lock.Locker) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := l.TryLock(ctx, subject, ttl)
		return held(err)
	}
}

func (s *stage) step(what string, do func(context.Context) error) {
	s.t.Helper()
	if err := do(s.t.Context()); err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	fmt.Fprintf(&s.told, "> %s\n", what)
	keys, err := s.rdb.Keys(s.t.Context(), "*").Result()
	if err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	for _, key := range keys {
		lines = append(lines, s.name(key+" "+s.state(key)))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(sortable(a), sortable(b)) })
	for _, line := range append(lines, s.messages()...) {
		fmt.Fprintln(&s.told, line)
	}
}

// sortable puts the lock itself before its side keys.
func sortable(line string) string { return strings.TrimPrefix(line, subject) }

var owner = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}:[0-9]+`)

// name calls owners by letters.
func (s *stage) name(text string) string {
	return owner.ReplaceAllStringFunc(text, func(owner string) string {
		if s.owners[owner] == "" {
			s.owners[owner] = string(rune('A' + len(s.owners)))
		}
		return s.owners[owner]
	})
}

func (s *stage) state(key string) string {
	ctx := s.t.Context()
	kind, left := s.rdb.Type(ctx, key).Val(), s.rdb.PTTL(ctx, key).Val()
	end := "none"
	if left > 0 {
		end = fmt.Sprint((left + 9*time.Second).Truncate(10 * time.Second))
	}
	return kind + " " + end + " " + s.value(key, kind)
}

func (s *stage) value(key, kind string) string {
	ctx := s.t.Context()
	switch kind {
	case "hash":
		fields := s.rdb.HGetAll(ctx, key).Val()
		var pairs []string
		for field, value := range fields {
			pairs = append(pairs, s.name(field+"="+value))
		}
		slices.Sort(pairs)
		return strings.Join(pairs, " ")
	case "list":
		return strings.Join(s.rdb.LRange(ctx, key, 0, -1).Val(), " ")
	case "zset":
		members := s.rdb.ZRange(ctx, key, 0, -1).Val()
		for i, member := range members {
			if !owner.MatchString(member) {
				members[i] = fmt.Sprintf("%d bytes", len(member))
			} else {
				members[i] = s.name(member)
			}
		}
		slices.Sort(members) // their order is the deadlines'
		return strings.Join(members, " ")
	}
	value := s.rdb.Get(ctx, key).Val()
	if strings.HasPrefix(key, "redisson_lock_token") {
		return s.token(value)
	}
	return value
}

// token is the rank of a fence.
func (s *stage) token(value string) string {
	if n := len(s.tokens); n == 0 || len(value) == len(s.tokens[n-1]) && value > s.tokens[n-1] {
		s.tokens = append(s.tokens, value)
	}
	return fmt.Sprintf("token %d", 1+slices.Index(s.tokens, value))
}

// messages are what was published since the last step.
func (s *stage) messages() (lines []string) {
	if err := s.rdb.Publish(s.t.Context(), "end of step", "").Err(); err != nil {
		s.t.Fatal(err)
	}
	for {
		m, err := s.heard.ReceiveMessage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if m.Channel == "end of step" {
			return lines
		}
		lines = append(lines, s.name("PUBLISH "+m.Channel+" "+m.Payload))
	}
}
