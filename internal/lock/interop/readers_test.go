package interop

import (
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

// readers: readers of both languages hold the lock together and exclude the
// writers of both.
func (e redissonEnv) readers(t *testing.T) {
	name, th, other, c := labtest.Name(t), e.thread(t), e.thread(t), e.client()
	th.expect(t, "ok", "lock", "read", name, 0)
	read := locktest.MustTryLock(t, c.ReadLock(), name, longTTL)
	locktest.WantLocked(t, c.WriteLock(), name)
	other.expect(t, "locked", "lock", "write", name, 0)
	th.expect(t, "ok", "unlock", "read", name)
	other.expect(t, "locked", "lock", "write", name, 0) // Go holds the read lock
	waiting := other.callAsync("lock", "write", name, longTTL.Milliseconds())
	time.Sleep(50 * time.Millisecond)
	check.NoError(t, read.Release(t.Context()))
	wantReply(t, "Java's write lock", waiting, "ok")
	locktest.WantLocked(t, c.ReadLock(), name)
	other.expect(t, "ok", "unlock", "write", name)

	write := locktest.MustTryLock(t, c.WriteLock(), name, longTTL)
	waiting = th.callAsync("lock", "read", name, longTTL.Milliseconds())
	time.Sleep(50 * time.Millisecond)
	downgraded, err := c.WriteLock().Downgrade(t.Context(), write, longTTL)
	check.NoError(t, err)
	wantReply(t, "Java's read lock beside the downgraded Go lease", waiting, "ok")
	other.expect(t, "locked", "lock", "write", name, 0)
	check.NoError(t, downgraded.Release(t.Context()))
	th.expect(t, "ok", "unlock", "read", name)
	check.NoError(t, locktest.MustTryLock(t, c.WriteLock(), name, longTTL).Release(t.Context()))
}

// readDuringHandover compares the two copies under the read lock, in both
// languages, until the writers are done.
func (e env) readDuringHandover(t *testing.T, name string) {
	t.Helper()
	data := e.data.(redisStore)
	th, l := e.thread(t), lock.New(redisson.New(data).ReadLock())
	for {
		th.expect(t, "ok", "compareCopies", "read", name)
		acquired, err := l.Acquire(t.Context(), name, lock.Options{Wait: longTTL})
		check.NoError(t, err)
		c, err := data.read(t.Context(), name)
		check.NoError(t, err)
		other, err := data.copy(t.Context(), name+":copy")
		check.NoError(t, err)
		check.NoError(t, acquired.Release(t.Context()))
		if c != other {
			t.Fatalf("a reader saw two copies: %s and %s", c, other)
		}
		if c.handovers >= minHandovers {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
