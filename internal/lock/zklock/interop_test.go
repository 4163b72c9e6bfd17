package zklock_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/locktest"
)

// sessionTimeout is that of Curator and of this package's lockers.
const sessionTimeout = 6 * time.Second

// An interopEnv is one ZooKeeper with a Java client.
type interopEnv struct {
	*labtest.Java
	server *lab.ZooKeeper
	conn   *zk.Conn
}

// TestInterop shares locks between the real Curator (InterProcessMutex) and this
// package, in both directions. `make interop` runs it.
func TestInterop(t *testing.T) {
	labtest.NeedInterop(t)
	server := labtest.ZooKeeper(t)
	e := interopEnv{startCurator(t, server), server, connect(t, server)}
	t.Run("JavaHoldsGoWaits", e.javaHoldsGoWaits)
	t.Run("GoHoldsJavaWaits", e.goHoldsJavaWaits)
	t.Run("QueueIsInOrder", e.queueIsInOrder)
	t.Run("KilledGoHolderIsFollowedByJava", e.killedGoHolder)
	t.Run("KilledJavaHolderIsFollowedByGo", e.killedJavaHolder)
	t.Run("Handover", e.handover)
}

func startCurator(t *testing.T, server *lab.ZooKeeper) *labtest.Java {
	t.Helper()
	return labtest.StartJava(t, "testdata/interop", server.Address, "port", fmt.Sprint(sessionTimeout.Milliseconds()))
}

// path is where Java has the lock of key.
func path(key string) string { return "/locks/" + key }

// javaHoldsGoWaits: Go is refused while Java holds the lock, and follows it.
func (e interopEnv) javaHoldsGoWaits(t *testing.T) {
	key, th, l := labtest.Name(t), e.Thread(t), open(t, e.server, sessionTimeout)
	for range 5 {
		th.Expect(t, "ok", "lock", path(key), 0)
		locktest.WantLocked(t, l, key)
		got := locktest.Wait(t.Context(), l, key, ttl)
		check.Eventually(t, "Go's node", func() bool { return len(nodes(t, e.conn, key)) == 2 })
		th.Expect(t, "ok", "unlock", path(key))
		check.NoError(t, check.Receive(t, "Go waits", got))
	}
}

// goHoldsJavaWaits: Java is refused while Go holds the lock, and follows it.
func (e interopEnv) goHoldsJavaWaits(t *testing.T) {
	key, th, l := labtest.Name(t), e.Thread(t), open(t, e.server, sessionTimeout)
	for range 5 {
		held := locktest.MustTryLock(t, l, key, ttl)
		th.Expect(t, "locked", "lock", path(key), 0)
		got := th.CallAsync("lock", path(key), 60_000)
		check.Eventually(t, "Java's node", func() bool { return len(nodes(t, e.conn, key)) == 2 })
		check.NoError(t, held.Release(t.Context()))
		labtest.WantReply(t, "Java waits", got, "ok")
		th.Expect(t, "ok", "unlock", path(key))
	}
}

// queueIsInOrder: waiters of both languages hold the lock in the order of their
// nodes, and Java lists Go's nodes in that order.
func (e interopEnv) queueIsInOrder(t *testing.T) {
	const waiters = 8
	key, th := labtest.Name(t), e.Thread(t)
	th.Expect(t, "ok", "lock", path(key), 0)
	order := make(chan int, waiters)
	var group sync.WaitGroup
	for i := range waiters {
		waiter, l := e.Thread(t), open(t, e.server, sessionTimeout)
		group.Go(func() {
			if i%2 == 0 {
				lease, err := l.Lock(t.Context(), key, ttl)
				order <- i
				if err != nil || lease.Release(t.Context()) != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
				return
			}
			reply, err := waiter.Call("lock", path(key), 60_000)
			order <- i
			if released, err2 := waiter.Call("unlock", path(key)); reply != "ok" || released != "ok" {
				t.Errorf("waiter %d: %s, %v, %s, %v", i, reply, err, released, err2)
			}
		})
		check.Eventually(t, "the waiter's node", func() bool { return len(nodes(t, e.conn, key)) == i+2 })
	}
	th.Expect(t, "ok", "unlock", path(key))
	group.Wait()
	for i := range waiters {
		if got := <-order; got != i {
			t.Errorf("waiter %d was number %d to hold the lock", got, i)
		}
	}
}

// killedGoHolder: Java waits for a Go process that is killed, until its session
// ends.
func (e interopEnv) killedGoHolder(t *testing.T) {
	key, th := labtest.Name(t), e.Thread(t)
	process, _ := startHolder(t, e.server.Address, key)
	th.Expect(t, "locked", "lock", path(key), 0)
	check.NoError(t, process.Kill())
	start := time.Now()
	th.Expect(t, "ok", "lock", path(key), 60_000)
	t.Logf("Java followed the killed Go process after %s", time.Since(start).Round(time.Millisecond))
	th.Expect(t, "ok", "unlock", path(key))
}

// killedJavaHolder: Go waits for a Java process that is killed, until its session
// ends.
func (e interopEnv) killedJavaHolder(t *testing.T) {
	key, l := labtest.Name(t), open(t, e.server, sessionTimeout)
	java := startCurator(t, e.server)
	java.Thread(t).Expect(t, "ok", "lock", path(key), 0)
	locktest.WantLocked(t, l, key)
	java.Kill()
	start := time.Now()
	check.NoError(t, check.Receive(t, "Go waits", locktest.Wait(t.Context(), l, key, ttl)))
	t.Logf("Go followed the killed Java process after %s", time.Since(start).Round(time.Millisecond))
}
