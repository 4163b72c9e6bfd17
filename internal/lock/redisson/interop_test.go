package redisson_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redisson"
)

// A taking holds what a primitive protects until release.
type taking func(ctx context.Context, name string, o lock.Options) (release func() error, err error)

// locking makes a taking of a locker, by a lock.Client.
func locking(l lock.Locker) taking {
	client := lock.New(l)
	return func(ctx context.Context, name string, o lock.Options) (func() error, error) {
		held, err := client.Acquire(ctx, name, o)
		if err != nil {
			return nil, err
		}
		return func() error { return held.Release(context.Background()) }, nil
	}
}

// A primitive is one of Redisson's, as Java (by name) and Go see it.
type primitive struct {
	java   string
	forces bool                                              // Redisson can take it from its holder
	locker func(c *redisson.Client, name string) lock.Locker // nil: a plain semaphore
}

var primitives = []primitive{
	{"lock", true, func(c *redisson.Client, _ string) lock.Locker { return c.Lock() }},
	{"fair", true, func(c *redisson.Client, _ string) lock.Locker { return c.FairLock() }},
	{"fenced", true, func(c *redisson.Client, _ string) lock.Locker { return c.FencedLock() }},
	{"write", true, func(c *redisson.Client, _ string) lock.Locker { return c.WriteLock() }},
	{"multi", false, func(c *redisson.Client, name string) lock.Locker {
		return redisson.NewMultiLock(redisson.Part{Locker: c.Lock(), Key: name + ":1"}, redisson.Part{Locker: c.Lock(), Key: name + ":2"})
	}},
	{"permit", false, func(c *redisson.Client, _ string) lock.Locker { return c.PermitExpirableSemaphore() }},
	{"semaphore", false, nil},
}

func (p primitive) taking(c *redisson.Client, name string) taking {
	if p.locker != nil {
		return locking(p.locker(c, name))
	}
	return func(ctx context.Context, name string, o lock.Options) (func() error, error) {
		s := c.Semaphore(name)
		if o.Wait == 0 {
			if err := s.TryAcquire(ctx, 1); err != nil {
				return nil, err
			}
		} else if err := s.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		return func() error { return s.Release(context.Background(), 1) }, nil
	}
}

// An arena is one Redis with Java and Go on it.
type arena struct {
	java
	rdb redis.UniversalClient
	out *report
}

// A report is what make interop writes.
type report struct {
	mu        sync.Mutex
	Redisson  string         `json:"redisson"`
	Handovers int            `json:"handovers"`
	Crossings int            `json:"between_languages"`
	ByKind    map[string]row `json:"kinds"`
	Pass      bool           `json:"pass"`
}

type row struct {
	Takings   int     `json:"takings"`
	Handovers int     `json:"handovers"`
	Crossings int     `json:"between_languages"`
	Reads     int     `json:"reads_checked,omitempty"`
	Seconds   float64 `json:"seconds"`
}

// TestInterop lets the real Redisson and this package share every primitive,
// in both directions. `make interop` runs it.
func TestInterop(t *testing.T) {
	needInterop(t)
	server, err := labtest.Lab(t).RedisTCP()
	noError(t, err)
	t.Cleanup(server.Kill)
	a := arena{startJava(t, server), labtest.Dial(t, server), &report{Redisson: version(t), ByKind: map[string]row{}}}
	t.Cleanup(func() { a.out.write(t) })
	t.Run("all", func(t *testing.T) {
		for _, p := range primitives {
			t.Run(p.java, func(t *testing.T) {
				t.Parallel()
				t.Run("JavaHoldsGoWaits", func(t *testing.T) { a.javaFirst(t, p) })
				t.Run("GoHoldsJavaWaits", func(t *testing.T) { a.goFirst(t, p) })
				t.Run("HandOver", func(t *testing.T) { a.compete(t, p) })
				if p.locker != nil { // a semaphore has no ttl
					t.Run("BothRenew", func(t *testing.T) { a.renewal(t, p) })
				}
				if p.forces {
					t.Run("BothForce", func(t *testing.T) { a.force(t, p) })
				}
			})
		}
		t.Run("latch", func(t *testing.T) { t.Parallel(); a.latch(t) })
		t.Run("readers", func(t *testing.T) { t.Parallel(); a.readers(t) })
		t.Run("fences", func(t *testing.T) { t.Parallel(); a.fences(t) })
		t.Run("fairOrder", func(t *testing.T) { t.Parallel(); a.fairOrder(t) })
	})
}

// name is a key for p, with what p needs to exist before it can be taken.
func (a arena) name(t *testing.T, p primitive) string {
	t.Helper()
	name := labtest.Name(t)
	if p.java == "semaphore" || p.java == "permit" {
		a.thread(t).says(t, "true", "permits", p.java, name, 1)
	}
	return name
}

func (a arena) client() *redisson.Client { return redisson.New(a.rdb, redisson.Auto) }

// javaFirst: Go is refused while Java holds, and is woken by Java's unlock.
func (a arena) javaFirst(t *testing.T, p primitive) {
	name, th, c := a.name(t, p), a.thread(t), a.client()
	take := p.taking(c, name)
	var waited time.Duration
	for range 5 {
		th.says(t, "ok", "lock", p.java, name, 0)
		if _, err := take(t.Context(), name, lock.Options{}); !errors.Is(err, lock.ErrLocked) {
			t.Fatalf("Go takes what Java holds: %v", err)
		}
		got := make(chan error, 1)
		go func() {
			release, err := take(t.Context(), name, lock.Options{Wait: testTimeout})
			if err == nil {
				err = release()
			}
			got <- err
		}()
		time.Sleep(100 * time.Millisecond) // most likely it waits now
		start := time.Now()
		th.says(t, "ok", "unlock", p.java, name)
		noError(t, <-got)
		waited += time.Since(start)
	}
	// Without messages, the timers would take half a second each on average.
	if waited > 1500*time.Millisecond {
		t.Errorf("Go got the lock %s after Java's unlock, on average: not woken by it", waited/5)
	}
}

// goFirst: Java is refused while Go holds, and is woken by Go's release, long
// before any ttl that could end its waiting.
func (a arena) goFirst(t *testing.T, p primitive) {
	name, th := a.name(t, p), a.thread(t)
	take := p.taking(a.client(), name)
	for range 3 {
		release, err := take(t.Context(), name, lock.Options{TTL: longTTL})
		noError(t, err)
		th.says(t, "held", "lock", p.java, name, 0)
		got := th.later("lock", p.java, name, longTTL.Milliseconds())
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		noError(t, release())
		soon(t, "Java waits", got, "ok")
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("Java got the lock %s after Go's release: not woken by it", took)
		}
		th.says(t, "ok", "unlock", p.java, name)
	}
}

// renewal: either holder keeps its lock for longer than its ttl.
func (a arena) renewal(t *testing.T, p primitive) {
	name, th := a.name(t, p), a.thread(t)
	take := p.taking(a.client(), name)
	release, err := take(t.Context(), name, lock.Options{TTL: 600 * time.Millisecond})
	noError(t, err)
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
		th.says(t, "held", "lock", p.java, name, 0)
	}
	noError(t, release())
	if p.java == "permit" {
		return // Java has no watchdog for permits
	}
	th.says(t, "ok", "lock", p.java, name, 0)
	for end := time.Now().Add(watchdog + watchdog/2); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := take(t.Context(), name, lock.Options{}); !errors.Is(err, lock.ErrLocked) {
			t.Fatalf("Go takes what Java renews: %v", err)
		}
	}
	th.says(t, "ok", "unlock", p.java, name)
}

type forcer interface {
	ForceUnlock(ctx context.Context, key string) error
}

// force: either side can take the lock from the other, who then learns of it.
func (a arena) force(t *testing.T, p primitive) {
	c, name := a.client(), a.name(t, p)
	l := p.locker(c, name)
	th := a.thread(t)
	held := mustTryLock(t, l, name, longTTL)
	th.says(t, "true", "force", p.java, name)
	if err := held.Extend(t.Context(), longTTL); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Extend after Java's force: %v, want ErrLost", err)
	}
	if err := held.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release after Java's force: %v, want ErrLost", err)
	}
	th.says(t, "ok", "lock", p.java, name, 0)
	noError(t, l.(forcer).ForceUnlock(t.Context(), name))
	noError(t, mustTryLock(t, l, name, longTTL).Release(t.Context()))
	// Java's fair lock forgives the unlock of a lock that is gone.
	if answer, err := th.ask("unlock", p.java, name); err != nil || p.java != "fair" && !strings.Contains(answer, "IllegalMonitorState") {
		t.Errorf("Java's unlock after Go's force: %q, %v", answer, err)
	}
}

func (a arena) latch(t *testing.T) {
	name := labtest.Name(t)
	one, two := a.thread(t), a.thread(t)
	l := a.client().CountDownLatch(name)
	for _, setter := range []string{"Go", "Java"} {
		if setter == "Go" {
			if set, err := l.TrySetCount(t.Context(), 2); err != nil || !set {
				t.Fatalf("set: %t, %v", set, err)
			}
		} else {
			one.says(t, "true", "count", "latch", name, 2)
		}
		javaOpen := two.later("await", "latch", name, longTTL.Milliseconds())
		goOpen := make(chan string, 1)
		go func() { goOpen <- fmt.Sprint(l.Await(t.Context())) }()
		time.Sleep(50 * time.Millisecond)
		noError(t, l.CountDown(t.Context()))
		if n, err := l.Count(t.Context()); err != nil || n != 1 {
			t.Fatalf("%d missing, %v, want 1", n, err)
		}
		if setter == "Go" {
			one.says(t, "ok", "down", "latch", name)
		} else {
			noError(t, l.CountDown(t.Context()))
		}
		soon(t, "Java awaits", javaOpen, "ok")
		soon(t, "Go waits", goOpen, "<nil>")
	}
}

// readers: both languages read side by side, and keep the writers of both out.
func (a arena) readers(t *testing.T) {
	name, th, other, c := labtest.Name(t), a.thread(t), a.thread(t), a.client()
	th.says(t, "ok", "lock", "read", name, 0)
	reading := mustTryLock(t, c.ReadLock(), name, longTTL)
	wantLocked(t, c.WriteLock(), name)
	other.says(t, "held", "lock", "write", name, 0)
	th.says(t, "ok", "unlock", "read", name)
	other.says(t, "held", "lock", "write", name, 0) // Go still reads
	waiting := other.later("lock", "write", name, longTTL.Milliseconds())
	time.Sleep(50 * time.Millisecond)
	noError(t, reading.Release(t.Context()))
	soon(t, "Java waits to write", waiting, "ok")
	wantLocked(t, c.ReadLock(), name)
	other.says(t, "ok", "unlock", "write", name)

	writing := mustTryLock(t, c.WriteLock(), name, longTTL)
	joining := th.later("lock", "read", name, longTTL.Milliseconds())
	time.Sleep(50 * time.Millisecond)
	downgraded, err := c.WriteLock().Downgrade(t.Context(), writing, longTTL)
	noError(t, err)
	soon(t, "Java waits to read, beside the downgraded writer", joining, "ok")
	other.says(t, "held", "lock", "write", name, 0)
	noError(t, downgraded.Release(t.Context()))
	th.says(t, "ok", "unlock", "read", name)
	noError(t, mustTryLock(t, c.WriteLock(), name, longTTL).Release(t.Context()))
}

// fences: tokens rise from language to language.
func (a arena) fences(t *testing.T) {
	name, th, l := labtest.Name(t), a.thread(t), a.client().FencedLock()
	var last uint64
	for range 20 {
		held := mustTryLock(t, l, name, longTTL)
		if held.Fence() <= last {
			t.Fatalf("Go's fence %d after %d", held.Fence(), last)
		}
		last = held.Fence()
		noError(t, held.Release(t.Context()))
		th.says(t, "ok", "lock", "fenced", name, 0)
		last++ // Java counts on
		th.says(t, fmt.Sprint(last), "token", "fenced", name)
		th.says(t, "ok", "unlock", "fenced", name)
	}
}

// fairOrder: waiters of both languages are served in the order of their coming.
func (a arena) fairOrder(t *testing.T) {
	const each = 4
	name, th, c := labtest.Name(t), a.thread(t), a.client()
	th.says(t, "ok", "lock", "fair", name, 0)
	order := make(chan int, 2*each)
	var group sync.WaitGroup
	for i := range 2 * each {
		if i%2 == 0 {
			group.Go(func() {
				lease, err := c.FairLock().Lock(t.Context(), name, longTTL)
				order <- i
				if err != nil || lease.Release(t.Context()) != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
			})
		} else {
			waiter := a.thread(t)
			group.Go(func() {
				answer, err := waiter.ask("lock", "fair", name, longTTL.Milliseconds())
				order <- i
				if released, err2 := waiter.ask("unlock", "fair", name); answer != "ok" || released != "ok" {
					t.Errorf("waiter %d: %s, %v, %s, %v", i, answer, err, released, err2)
				}
			})
		}
		eventually(t, "it queues", func() bool {
			queue, err := c.FairLock().Queue(t.Context(), name)
			noError(t, err)
			return len(queue) == i+1
		})
	}
	time.Sleep(4 * time.Second) // longer than Go's testTimeout
	th.says(t, "ok", "unlock", "fair", name)
	group.Wait()
	for i := range 2 * each {
		if got := <-order; got != i {
			t.Errorf("waiter %d was served as number %d", got, i)
		}
	}
}

func (r *report) write(t *testing.T) {
	r.Pass = !t.Failed()
	for _, kind := range slices.Sorted(maps.Keys(r.ByKind)) {
		row := r.ByKind[kind]
		r.Handovers += row.Handovers
		r.Crossings += row.Crossings
		t.Logf("%-10s %6d takings %6d hand-overs %6d between Java and Go %5.1f s", kind, row.Takings, row.Handovers, row.Crossings, row.Seconds)
	}
	t.Logf("%-10s %6d hand-overs, %d between Java and Go, Redisson %s", "all", r.Handovers, r.Crossings, r.Redisson)
	if r.Handovers < 10_000 {
		t.Errorf("%d hand-overs, want 10,000", r.Handovers)
		r.Pass = false
	}
	path := os.Getenv("INTEROP_JSON")
	if path == "" {
		return
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, append(text, '\n'), 0o644))
	}
	if err != nil {
		t.Error(err)
	}
}

// version is the Redisson that the project's pom.xml names.
func version(t *testing.T) string {
	t.Helper()
	pom, err := os.ReadFile("testdata/interop/pom.xml")
	noError(t, err)
	_, rest, _ := strings.Cut(string(pom), "<artifactId>redisson</artifactId>")
	_, rest, _ = strings.Cut(rest, "<version>")
	version, _, found := strings.Cut(rest, "</version>")
	if !found {
		t.Fatal("pom.xml names no version of Redisson")
	}
	return version
}
