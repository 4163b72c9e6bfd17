package zklock

import (
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
)

// The lab's servers allow a minute. Whoever counted on more would call a lease
// its own that is another's.
func TestServerSettlesTheTimeout(t *testing.T) {
	t.Parallel()
	l, err := Open([]string{labtest.SharedZooKeeper(t).Address}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.TryLock(t.Context(), labtest.Name(t), time.Minute); err != nil {
		t.Fatal(err)
	}
	l.session.mu.Lock()
	defer l.session.mu.Unlock()
	if l.session.grace != 15*time.Second {
		t.Errorf("grace = %s, want a quarter of the server's minute", l.session.grace)
	}
}
